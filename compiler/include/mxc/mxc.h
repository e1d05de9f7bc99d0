/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * mx inside of another program: the C interface of libmxc. mxc.hpp is the same
 * for C++. docs/guides/embedding.md is a guide with examples.
 *
 * A session compiles and runs mx. It reads programs (mxc_load_file), finds
 * their functions, graphs and types (mxc_module_function) and calls them with
 * tensors over memory of the host (mxc_call).
 *
 * Errors. A function that can fail returns an error, NULL if all is well. The
 * caller owns it and gives it back with mxc_error_release. Its text is what
 * the command `mxc` would print, with the location in the source. The library
 * never ends the process, prints nothing and touches no signal.
 *
 * Threads. Any function may be called from any thread at any time, except that
 * mxc_session_destroy must be the last call that names its session, module or
 * function. Calls of graphs run at the same time. Loading, calls of plain
 * functions and the compilation for new sizes are serialised within a session;
 * sessions share nothing but the cache on disk.
 *
 * Ownership. Values and errors are reference-counted: the receiver of one,
 * through `out` or as a result, releases it. Modules, functions and texts are
 * owned by the session, value or error that returned them.
 */
#ifndef MXC_MXC_H
#define MXC_MXC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MXC_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mxc_session mxc_session;
typedef struct mxc_module mxc_module;
typedef struct mxc_function mxc_function;
typedef struct mxc_value mxc_value;
typedef struct mxc_error mxc_error;

/* "0.1.0" */
MXC_API const char *mxc_version(void);

/* -- errors ---------------------------------------------------------------- */

/* "E0303" of the checker, "R0101" of a run. */
MXC_API const char *mxc_error_code(const mxc_error *error);
/* The whole text, with lines of the source. */
MXC_API const char *mxc_error_text(const mxc_error *error);
/* NULL is fine. */
MXC_API void mxc_error_release(mxc_error *error);

/* -- sessions -------------------------------------------------------------- */

/* A name and a value for `option(name, default)` of programs. */
typedef struct mxc_setting {
  const char *name;
  const char *value;
} mxc_setting;

/* Fill with mxc_options_init, then change what you like. Everything is copied. */
typedef struct mxc_options {
  uint32_t struct_size;
  /* Threads that may compute at the same time, the caller's included. 0: all
   * processors. */
  int32_t threads;
  /* Max bytes of tensors and arenas at any time. 0: no limit. */
  int64_t memory_limit;
  /* Graphs rematerialise values to keep the arena below; 0: no limit. */
  int64_t arena_limit;
  /* Where compiled code is kept. NULL: $MX_CACHE_DIR, or ~/.cache/mx. */
  const char *cache_folder;
  /* The standard library. NULL: $MX_STDLIB, or where it was installed. */
  const char *stdlib_folder;
  /* Where `log` writes. NULL: a program that logs fails. */
  const char *log_folder;
  /* Seed of the default random generator. */
  int64_t seed;
  const mxc_setting *settings;
  size_t setting_count;
  /* Non-zero: graphs run op by op. */
  int32_t eager;
  /* Non-zero: an op that makes a NaN is an error; graphs run op by op. */
  int32_t check_nan;
  /* Output of programs, a line at a time with its newline; NULL: discarded.
   * Called on the thread that runs the program; it must not call the
   * session. */
  void (*print)(void *user, const char *text, size_t size);
  /* Warnings and notes, as text. The same rules. */
  void (*notice)(void *user, const char *text, size_t size);
  void *user;
  /* Non-zero: autotuning. A few tilings of each GEMM and convolution of a graph
   * are timed when it is compiled, and the fastest is stored with the code. */
  int32_t tune;
} mxc_options;

/* Of the caller's size, whatever the library's is: all zeros are the defaults. */
static inline void mxc_options_init(mxc_options *options) {
  memset(options, 0, sizeof *options);
  options->struct_size = (uint32_t)sizeof *options;
}
/* `options` may be NULL. */
MXC_API mxc_error *mxc_session_create(const mxc_options *options, mxc_session **out);
/* Waits for running calls, then frees code and memory. Remaining values keep
 * their own memory; those that were never waited for are errors. */
MXC_API void mxc_session_destroy(mxc_session *session);

/* Ends all that runs with R0004, and whatever is started until
 * mxc_session_resume. Also from a signal handler of the host. */
MXC_API void mxc_session_cancel(mxc_session *session);
MXC_API void mxc_session_resume(mxc_session *session);

typedef struct mxc_memory {
  int64_t live_bytes;  /* of tensors and arenas */
  int64_t peak_bytes;  /* max of live_bytes */
  int64_t held_bytes;  /* live and cached for reuse */
  int64_t limit_bytes; /* 0: none */
} mxc_memory;
MXC_API mxc_error *mxc_session_memory(mxc_session *session, mxc_memory *out);

/* -- programs -------------------------------------------------------------- */

/* Checks a program and runs its top level. */
MXC_API mxc_error *mxc_load_file(mxc_session *session, const char *path, mxc_module **out);
/* `name` is what messages call it; imports are looked for in the library. */
MXC_API mxc_error *mxc_load_source(mxc_session *session, const char *name, const char *text,
                                   size_t size, mxc_module **out);

/* A function or graph by name, or a model: "Net", "Net[784, 10]". E0801 with
 * the nearest name if there is none. */
MXC_API mxc_error *mxc_module_function(mxc_module *module, const char *name, mxc_function **out);
/* The functions that the program defines, in its order. */
MXC_API size_t mxc_module_function_count(const mxc_module *module);
MXC_API const char *mxc_module_function_name(const mxc_module *module, size_t index);
/* A variable of the program's top level, as it is now. */
MXC_API mxc_error *mxc_module_value(mxc_module *module, const char *name, mxc_value **out);

MXC_API const char *mxc_function_name(const mxc_function *function);
/* "graph fn predict(net: Net, x: f32[dyn N <= 1024, 784]) -> i32[N]" */
MXC_API const char *mxc_function_signature(const mxc_function *function);
MXC_API int32_t mxc_function_is_graph(const mxc_function *function);

enum {
  MXC_PARAM_MUT = 1,     /* it is changed: pass it with MXC_MUT */
  MXC_PARAM_STATIC = 2,  /* known when compiled: each value has code of its own */
  MXC_PARAM_OPTIONAL = 4 /* it may be left out */
};
typedef struct mxc_param {
  const char *name;
  const char *type; /* "f32[N, 784]" */
  uint32_t flags;
} mxc_param;
MXC_API size_t mxc_function_param_count(const mxc_function *function);
MXC_API mxc_param mxc_function_param(const mxc_function *function, size_t index);
/* "i32[N]"; "" if it gives nothing. */
MXC_API const char *mxc_function_result(const mxc_function *function);

/* -- calls ----------------------------------------------------------------- */

enum {
  MXC_MUT = 1 /* of an argument: changed by the call */
};
typedef struct mxc_argument {
  mxc_value *value;
  const char *name; /* of the parameter; NULL: by position */
  uint32_t flags;
} mxc_argument;

enum {
  /* Returns as soon as the call is issued. Its results can be passed on at
   * once; reading their elements waits, and gives the error if the
   * call failed. Borrowed memory must stay as it is until then. */
  MXC_ASYNC = 1
};

/* Calls a function. `value` of an MXC_MUT argument is taken over and replaced
 * by its new value, in place if it has no other reference. `*result` is NULL
 * if the function gives nothing; `result` may be NULL. On an error found
 * before the call nothing has changed; if the call itself fails, its MXC_MUT
 * arguments are lost: reading one gives the error again. */
MXC_API mxc_error *mxc_call(mxc_function *function, mxc_argument *arguments, size_t count,
                            uint32_t flags, mxc_value **result);

/* Memory of the host for one tensor of a result. */
typedef struct mxc_room {
  void *data;   /* aligned as the element type */
  size_t bytes; /* exactly those of the tensor, row by row */
} mxc_room;

/* Calls a graph without MXC_MUT arguments on this thread and writes its result
 * into memory of the host: one room for each tensor of it, in order. No value
 * is made. From the second call with the same types and sizes on nothing is
 * allocated and no lock is taken, if the graph's own memory is small (64 KiB)
 * and no other thread calls it at the time. Rooms and arguments must not
 * overlap; on an error the rooms hold anything. R0002 for rooms that do not
 * fit. */
MXC_API mxc_error *mxc_call_into(mxc_function *function, mxc_argument *arguments, size_t count,
                                 const mxc_room *rooms, size_t room_count);

/* -- values ---------------------------------------------------------------- */

typedef enum mxc_kind {
  MXC_TENSOR = 0,
  MXC_BOOL_NUMBER = 1,
  MXC_INT_NUMBER = 2,
  MXC_FLOAT_NUMBER = 3,
  MXC_TEXT = 4,
  MXC_TUPLE = 5,
  MXC_ARRAY = 6,
  MXC_STRUCT = 7 /* a model or struct */
} mxc_kind;

/* The numbers are those of mxrt_dtype. */
typedef enum mxc_dtype {
  MXC_BOOL = 0, /* one byte, 0 or 1 */
  MXC_I8 = 1,
  MXC_U8 = 2,
  MXC_I32 = 3,
  MXC_I64 = 4,
  MXC_F16 = 5,
  MXC_BF16 = 6,
  MXC_F32 = 7,
  MXC_F64 = 8
} mxc_dtype;

#define MXC_MAX_RANK 16

enum {
  MXC_WRITABLE = 1 /* a call that changes the tensor writes the memory, if no other value shares it */
};
/* A tensor over memory of the host, which stays valid and unchanged until
 * release(user) is called: once, when the last reference is gone, on whichever
 * thread that is. `release` may be NULL. `strides` count elements; NULL: dense.
 * On an error release is not called. */
MXC_API mxc_error *mxc_tensor_borrow(mxc_dtype type, int32_t rank, const int64_t *shape,
                                     const int64_t *strides, void *data, uint32_t flags,
                                     void (*release)(void *user), void *user, mxc_value **out);
/* A tensor with a copy of the elements. */
MXC_API mxc_error *mxc_tensor_copy(mxc_dtype type, int32_t rank, const int64_t *shape,
                                   const void *data, mxc_value **out);

/* Numbers for parameters that are scalars, sizes or static. NULL if there is
 * no memory. */
MXC_API mxc_value *mxc_bool(int32_t value);
MXC_API mxc_value *mxc_int(int64_t value);
MXC_API mxc_value *mxc_float(double value);
MXC_API mxc_value *mxc_text(const char *text, size_t size);

MXC_API mxc_value *mxc_value_retain(mxc_value *value);
/* NULL is fine. */
MXC_API void mxc_value_release(mxc_value *value);

MXC_API mxc_kind mxc_value_kind(const mxc_value *value);
/* "f32[32, 10]", "Net", "i64"; valid as long as the value. */
MXC_API const char *mxc_value_type(mxc_value *value);

/* Of tensors; none of them waits. */
MXC_API mxc_dtype mxc_tensor_dtype(const mxc_value *value);
MXC_API int32_t mxc_tensor_rank(const mxc_value *value);
MXC_API const int64_t *mxc_tensor_shape(const mxc_value *value);
MXC_API int64_t mxc_tensor_elements(const mxc_value *value);

/* Waits until the value is there, with all its parts. The error is that of the
 * call that should have made it. */
MXC_API mxc_error *mxc_value_wait(mxc_value *value);
/* Waits; then the elements in row-major order, valid as long as the value. */
MXC_API mxc_error *mxc_tensor_data(mxc_value *value, const void **out);
/* A number, or the one element of a tensor; waits. */
MXC_API mxc_error *mxc_value_as_float(mxc_value *value, double *out);
MXC_API mxc_error *mxc_value_as_int(mxc_value *value, int64_t *out);
/* "" for other kinds. */
MXC_API const char *mxc_value_as_text(const mxc_value *value, size_t *size);

/* Parts of tuples, arrays, structs and models. */
MXC_API size_t mxc_value_count(const mxc_value *value);
MXC_API mxc_error *mxc_value_item(mxc_value *value, size_t index, mxc_value **out);
/* By path: "fc1.w", "blocks.3.w". E0209 for an unknown part. */
MXC_API mxc_error *mxc_value_field(mxc_value *value, const char *path, mxc_value **out);
/* The name of a part; "" in tuples and arrays. */
MXC_API const char *mxc_value_field_name(const mxc_value *value, size_t index);

/* -- DLPack ---------------------------------------------------------------- */

/* Waits; then a new DLManagedTensor (versioned 0) or DLManagedTensorVersioned
 * (1) that keeps the elements alive. Its consumer calls its deleter. R0005 for
 * an unversioned one of memory that must not be written. */
MXC_API mxc_error *mxc_tensor_to_dlpack(mxc_value *value, int32_t versioned, void **out);
/* A tensor of the session over such a struct, which it owns from now on; on an
 * error it is still the caller's. */
MXC_API mxc_error *mxc_tensor_from_dlpack(mxc_session *session, void *managed, int32_t versioned,
                                          mxc_value **out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MXC_MXC_H */
