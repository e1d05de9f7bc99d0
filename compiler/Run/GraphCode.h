// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph as host code calls it: what its arguments and results are made of, and its code for some
// sizes. Plain data without a compiler: mxc makes it in memory (Build/Callables.h), an executable
// has it as constants (Build/Executable.cpp), so the layouts are those of C.
#pragma once
#include "mxrt/aot.h"
#include <cstdint>

namespace mx::run {

/// What a value is made of.
struct Part {
  enum Kind : int32_t { Number, Tensor, Tuple, Struct, Array, Other } kind; ///< no graph takes Other
  int32_t dtype;             ///< of a Number
  const char *name;          ///< of a Struct
  const char *const *fields; ///< of a Struct
  const Part *parts;         ///< of an Array: one, for all
  int64_t count;             ///< of parts
};

/// A size: a number, or a formula over the sizes of the call in postfix form.
struct Size {
  enum Step : int64_t { Constant, OfCall, Add, Multiply, FloorDivide };
  int64_t value;        ///< without steps
  const int64_t *steps; ///< two words each: which, and its number
  int64_t count;        ///< of steps
};

struct Output {
  int32_t dtype, rank;
  const Size *sizes;
  int64_t over; ///< the input whose memory it is, or -1
};

/// One variant.
struct Code {
  mxrt_aot_entry entry;
  const char *name; ///< of the graph, for traces
  const Output *outputs;
  int64_t outputCount, inputCount;
  const Size *open; ///< sizes that the entry is given
  int64_t openCount;
  const int64_t *arenas; ///< their bytes
  int64_t arenaCount;
  mxrt_device device; ///< a graph runs on one: Segment cuts those that have more
  int64_t guarded;    ///< the arena needs guards around it (mxrt/guard.h)
  const char *needs;  ///< notes for when there is no memory for it, in lines
  /// Of code that was made ahead: the values of the sizes, -1 where any is fine, and the least CPU
  /// (mxrt_aot_cpu_level()).
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
  const char *eager; ///< the function of the host that does the same op by op; or null
  const char *file;  ///< where it is declared
  int64_t line, column;
  const Code *codes; ///< made ahead, best CPU first
  int64_t codeCount;
};

} // namespace mx::run
