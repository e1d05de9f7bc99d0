// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much a program, or one call in it, computes and moves.
#pragma once
#include "dialects/mxrt/Bounds.h"
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Operations in the time in which a byte is moved: what makes one cost of both.
inline constexpr double kOperationsPerByte = 8;

/// At the bounds of open sizes. A loop counts with its number of turns if that is known, and else
/// once.
struct Work {
  int64_t operations = 0; ///< of elements; a product counts two for each pair
  int64_t bytes = 0;      ///< read and written by kernels and copies
  bool isExact = true;    ///< no loop of unknown length, no branch
};

Work workOf(rt::ProgramOp program);
/// Only of what is computed again (`recompute`).
Work workAgain(rt::ProgramOp program);

/// Of single ops of a program; remembers kernels.
class OpWork {
public:
  explicit OpWork(rt::ProgramOp program) : bounds(program.bounds()) {}
  double operations(rt::CallOp call);
  /// Read and written by a call or a copy; of other ops 0.
  double bytes(mlir::Operation *op);

private:
  rt::SizeBounds bounds;
  llvm::DenseMap<mlir::Attribute, double> known; ///< operations of a kernel
  double elements(mlir::Type type) const;
};

} // namespace mx::memory
