// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calling interface of a compiled graph: the structure of its arguments and results, and its code
// for some sizes. Plain data without a compiler, with the C layout: mxc builds it in memory
// (Build/Callables.h), and an executable has it as constants (Build/Executable.cpp).
#pragma once
#include "mxrt/aot.h"
#include <cstdint>

namespace mx::run {

/// Structure of a value (a tree of tensors and numbers).
struct Part {
  enum Kind : int32_t { Number, Tensor, Tuple, Struct, Array, Other } kind; ///< no graph takes Other
  int32_t dtype;             ///< of a Number
  const char *name;          ///< of a Struct
  const char *const *fields; ///< of a Struct
  const Part *parts;         ///< of an Array: one element type
  int64_t count;             ///< of parts
};

/// A size: a number, or a formula over the sizes of the call in postfix form.
struct Size {
  enum Step : int64_t { Constant, OfCall, Add, Multiply, FloorDivide };
  int64_t value;        ///< without steps
  const int64_t *steps; ///< two words each: the kind and its number
  int64_t count;        ///< of steps
};

struct Output {
  int32_t dtype, rank;
  const Size *sizes;
  int64_t over; ///< the input whose memory it reuses, or -1
};

/// One compiled variant.
struct Code {
  mxrt_aot_entry entry;
  const char *name; ///< of the graph, for traces
  const Output *outputs;
  int64_t outputCount, inputCount;
  const Size *open; ///< dynamic sizes, passed to the entry
  int64_t openCount;
  const int64_t *arenas; ///< their bytes
  int64_t arenaCount;
  mxrt_device device; ///< a graph runs on one device: Segment splits those that use more
  int64_t announces;  ///< reports results before the call ends (mxrt_ready)
  int64_t guarded;    ///< the arena needs guards around it (mxrt/guard.h)
  const char *needs;  ///< note lines for out-of-memory errors
  /// Of code compiled ahead of time: the values of the sizes, -1 where any is fine, and the minimal
  /// CPU level (mxrt_aot_cpu_level()).
  const int64_t *fixed;
  int64_t level;
};

struct Graph {
  const char *name;
  const Part *arguments, *results; ///< the results of `mut` arguments come first
  const int32_t *isMut;            ///< of each argument
  int64_t argumentCount, resultCount;
  const char *const *sizes;
  const int64_t *bounds; ///< of each size: its bound if it is `dyn`, else -1
  int64_t sizeCount;
  const char *eager; ///< the host function that runs the graph op by op; or null
  const char *file;  ///< where it is declared
  int64_t line, column;
  const Code *codes; ///< compiled ahead of time, best CPU first
  int64_t codeCount;
};

} // namespace mx::run
