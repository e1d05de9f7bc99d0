// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code that `mxc build` made calls, and the tables it comes with. Part of
// mxrt_core: an artefact needs nothing else but libc and libm.
//
// People call the functions of the artefact's own header, which are wrappers of
// these. Everything is re-entrant: tables are constant, a call uses its
// arguments, its workspace and its stack. Only the text of the last error is
// kept, per thread.
//
// The layouts are ABI: compiler/Build writes them as constants.

#ifndef MXRT_AOT_H
#define MXRT_AOT_H

#include "mxrt/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------ models and such

/// One tensor of a model, or of another value that has parts.
typedef struct mxrt_aot_tensor {
  const char *name; // the path of its field: "fc1.w"
  int32_t dtype;    // mxrt_dtype
  int32_t rank;
  const int64_t *sizes;
} mxrt_aot_tensor;

/// The type of a parameter that has parts.
typedef struct mxrt_aot_type {
  const char *name; // the parameter's: names in files begin with it
  int64_t count;
  const mxrt_aot_tensor *tensors;
} mxrt_aot_type;

/// A value of such a type; `tensors` are the addresses of its tensors.
typedef struct mxrt_aot_value {
  const mxrt_aot_type *type;
  void *const *tensors;
  /// Where its memory came from; NULL for one that is part of the artefact.
  const mxrt_allocator *allocator;
  int64_t bytes;
} mxrt_aot_value;

/// A value whose elements are all 0.
MXRT_EXPORT int mxrt_aot_new(const mxrt_aot_type *type, mxrt_aot_value **out);
/// From a safetensors file with names as `save` writes them (`net.fc1.w`), or
/// without the first part. What is missing or has another shape is R0603, which
/// lists it all; tensors of other names are ignored.
MXRT_EXPORT int mxrt_aot_load(const mxrt_aot_type *type, const char *path,
                              mxrt_aot_value **out);
/// The same from the bytes of such a file.
MXRT_EXPORT int mxrt_aot_load_memory(const mxrt_aot_type *type,
                                     const void *bytes, size_t size,
                                     mxrt_aot_value **out);
/// The elements of the tensor `name`, dense in row-major order, and how many
/// bytes they have (`bytes` may be NULL). NULL if there is no such tensor.
MXRT_EXPORT void *mxrt_aot_data(const mxrt_aot_value *value, const char *name,
                                size_t *bytes);
/// NULL is fine; so is a value that is part of the artefact.
MXRT_EXPORT void mxrt_aot_free(mxrt_aot_value *value);

// ----------------------------------------------------------------------- graphs

/// compiler/Lowering/Programs.h
typedef mxrt_status (*mxrt_aot_entry)(const mxrt_context *context,
                                      void *const *buffers,
                                      const int64_t *sizes,
                                      void *const *arenas);

/// An argument of a graph, or one of its results.
typedef struct mxrt_aot_argument {
  const char *name;
  /// Tensors it has. An argument without parts has one, whose address is given.
  int32_t count;
  /// 1: a mxrt_aot_value is given.
  int32_t has_parts;
  /// Not given, but part of the artefact; else NULL.
  const mxrt_aot_value *embedded;
} mxrt_aot_argument;

/// An output that is not simply written where it belongs. Its room is `offset`
/// bytes into the workspace, or where it belongs if that is negative.
typedef struct mxrt_aot_move {
  int32_t output;
  /// The input that it is written over and which is copied there first, or -1.
  int32_t over;
  /// The input, of a `mut` argument, that it goes to at the end; or -1.
  int32_t goes_to;
  /// The first `factor_count` of `factors` are sizes (of the call) that `bytes`
  /// is multiplied with.
  int32_t factor_count;
  int32_t factors[4];
  int64_t offset;
  int64_t bytes;
} mxrt_aot_move;

/// Code for one CPU and one choice of the sizes that are fixed.
typedef struct mxrt_aot_variant {
  mxrt_aot_entry entry;
  /// Of each size of the call: its value here, or -1 if any is fine.
  const int64_t *fixed;
  const mxrt_aot_move *moves;
  int32_t move_count;
  /// The least level of CPU it runs on: mxrt_aot_cpu_level().
  int32_t level;
  /// Bytes of the workspace. If there are any, it starts with the arena.
  int64_t workspace;
} mxrt_aot_variant;

typedef struct mxrt_aot_graph {
  const char *name;
  /// Those given, then the results.
  const mxrt_aot_argument *arguments;
  int32_t argument_count;
  int32_t result_count;
  /// Buffers of the entry.
  int32_t input_count;
  int32_t output_count;
  /// Of each output: the input (of a `mut` argument) that it replaces, or -1;
  /// those with -1 are the results in order.
  const int32_t *replaces;
  /// Sizes of the call by name, and which of them are the sizes of the entry.
  const char *const *sizes;
  const int32_t *open;
  int32_t size_count;
  int32_t open_count;
  /// Best CPU first.
  const mxrt_aot_variant *variants;
  int64_t variant_count;
  const char *cpus; // "x86-64-v3, x86-64-v4", for messages
} mxrt_aot_graph;

/// Runs a graph: one address an argument that is given and one a result.
/// 0, or the code of an error (201 is R0201), whose text mxrt_aot_error() has.
MXRT_EXPORT int mxrt_aot_run(const mxrt_aot_graph *graph,
                             void *const *arguments, const int64_t *sizes,
                             void *workspace);

/// The text of the last error of this thread; "" if there was none.
MXRT_EXPORT const char *mxrt_aot_error(void);

/// What the CPU has: 2, 3, 4 for x86-64-v2 and so on, 5 for what Sapphire
/// Rapids has above these, 0 for the least CPU.
MXRT_EXPORT int32_t mxrt_aot_cpu_level(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_AOT_H
