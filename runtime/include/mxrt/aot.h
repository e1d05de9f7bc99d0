// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtime support of ahead-of-time code made by `mxc build`, and the tables it comes with. Part
// of mxrt_core: an artefact needs nothing else but libc and libm.
//
// Users call the functions of the artefact's own header, which wrap these. Everything is
// re-entrant: tables are constant; a call uses its arguments, its workspace and its stack. Only
// the text of the last error is kept, per thread.
//
// The layouts are ABI: compiler/Build writes them as constants.

#ifndef MXRT_AOT_H
#define MXRT_AOT_H

#include "mxrt/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------- models and aggregates

/// One tensor of a model, or of another aggregate value.
typedef struct mxrt_aot_tensor {
  const char *name; // path of its field: "fc1.w"
  int32_t dtype;    // mxrt_dtype
  int32_t rank;
  const int64_t *sizes;
} mxrt_aot_tensor;

/// The type of an aggregate parameter.
typedef struct mxrt_aot_type {
  const char *name; // the parameter's name: the prefix of names in files
  int64_t count;
  const mxrt_aot_tensor *tensors;
} mxrt_aot_type;

/// A value of such a type; `tensors` holds the addresses of its tensors.
typedef struct mxrt_aot_value {
  const mxrt_aot_type *type;
  void *const *tensors;
  /// Allocator of its memory; NULL for a value that is part of the artefact.
  const mxrt_allocator *allocator;
  int64_t bytes;
} mxrt_aot_value;

/// Creates a value whose elements are all 0.
MXRT_EXPORT int mxrt_aot_new(const mxrt_aot_type *type, mxrt_aot_value **out);
/// Loads a value from a safetensors file with names as `save` writes them (`net.fc1.w`), or
/// without the first component. Missing tensors and shape mismatches are R0603, which lists all
/// of them; tensors of other names are ignored.
MXRT_EXPORT int mxrt_aot_load(const mxrt_aot_type *type, const char *path,
                              mxrt_aot_value **out);
/// Loads a value from the bytes of such a file.
MXRT_EXPORT int mxrt_aot_load_memory(const mxrt_aot_type *type,
                                     const void *bytes, size_t size,
                                     mxrt_aot_value **out);
/// The elements of the tensor `name`, dense in row-major order, and their size in bytes
/// (`bytes` may be NULL). NULL for an unknown name.
MXRT_EXPORT void *mxrt_aot_data(const mxrt_aot_value *value, const char *name,
                                size_t *bytes);
/// NULL is allowed, and so is a value that is part of the artefact.
MXRT_EXPORT void mxrt_aot_free(mxrt_aot_value *value);

// ----------------------------------------------------------------------- graphs

/// compiler/Lowering/Programs.h
typedef mxrt_status (*mxrt_aot_entry)(const mxrt_context *context,
                                      void *const *buffers,
                                      const int64_t *sizes,
                                      void *const *arenas);

/// An argument or a result of a graph.
typedef struct mxrt_aot_argument {
  const char *name;
  /// Number of its tensors. A plain tensor argument has one, whose address is passed.
  int32_t count;
  /// 1: a mxrt_aot_value is passed.
  int32_t has_parts;
  /// Not passed, but part of the artefact; else NULL.
  const mxrt_aot_value *embedded;
} mxrt_aot_argument;

/// An output that is not written directly to its destination. It is computed at `offset` bytes
/// in the workspace, or at its destination if `offset` is negative.
typedef struct mxrt_aot_move {
  int32_t output;
  /// The input that it overwrites in place, after a copy of the input to that memory; or -1.
  int32_t over;
  /// The input, of a `mut` argument, that it is copied to at the end; or -1.
  int32_t goes_to;
  /// The first `factor_count` of `factors` are indices of sizes of the call; `bytes` is
  /// multiplied by these sizes.
  int32_t factor_count;
  int32_t factors[4];
  int64_t offset;
  int64_t bytes;
} mxrt_aot_move;

/// A compiled variant: code for one CPU level and one choice of the fixed sizes.
typedef struct mxrt_aot_variant {
  mxrt_aot_entry entry;
  /// For each size of the call: its fixed value in this variant, or -1 for any value.
  const int64_t *fixed;
  const mxrt_aot_move *moves;
  int32_t move_count;
  /// The minimum CPU level it requires: mxrt_aot_cpu_level().
  int32_t level;
  /// Bytes of the workspace. If not 0, it starts with the arena.
  int64_t workspace;
} mxrt_aot_variant;

typedef struct mxrt_aot_graph {
  const char *name;
  /// The passed arguments, then the results.
  const mxrt_aot_argument *arguments;
  int32_t argument_count;
  int32_t result_count;
  /// Buffers of the entry function.
  int32_t input_count;
  int32_t output_count;
  /// For each output: the input (of a `mut` argument) that it replaces, or -1; those with -1 are
  /// the results in order.
  const int32_t *replaces;
  /// Names of the sizes of the call, and the indices of those passed to the entry function.
  const char *const *sizes;
  const int32_t *open;
  int32_t size_count;
  int32_t open_count;
  /// Highest CPU level first.
  const mxrt_aot_variant *variants;
  int64_t variant_count;
  const char *cpus; // "x86-64-v3, x86-64-v4", for messages
} mxrt_aot_graph;

/// Runs a graph: one address per passed argument and one per result. Returns 0, or the code of
/// an error (201 is R0201), whose text mxrt_aot_error() returns.
MXRT_EXPORT int mxrt_aot_run(const mxrt_aot_graph *graph,
                             void *const *arguments, const int64_t *sizes,
                             void *workspace);

/// The text of this thread's last error; "" if there was none.
MXRT_EXPORT const char *mxrt_aot_error(void);

/// Level of the CPU: 2, 3, 4 for x86-64-v2 and so on, 5 for the additions of Sapphire Rapids, 0
/// for the baseline CPU.
MXRT_EXPORT int32_t mxrt_aot_cpu_level(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_AOT_H
