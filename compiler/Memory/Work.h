// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cost model: operations and bytes moved by a program or by one call in it.
#pragma once
#include "dialects/mxrt/Bounds.h"
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Dynamic sizes count at their bounds. A loop counts with its trip count if that is known, and
/// otherwise once.
struct Work {
  int64_t operations = 0; ///< per element; a matmul counts two per multiply-add
  int64_t bytes = 0;      ///< read and written by kernels and copies
  bool isExact = true;    ///< no loop of unknown trip count, no branch
};

Work workOf(rt::ProgramOp program);
/// Only the rematerialised work (`recompute`).
Work recomputedWork(rt::ProgramOp program);

/// Cost of single ops of a program; caches kernels.
class OpWork {
public:
  explicit OpWork(rt::ProgramOp program) : bounds(program.bounds()) {}
  double operations(rt::CallOp call);
  /// Bytes read and written by a call or a copy; 0 for other ops.
  double bytes(mlir::Operation *op);

private:
  rt::SizeBounds bounds;
  llvm::DenseMap<mlir::Attribute, double> known; ///< operations of a kernel
  double elements(llvm::ArrayRef<ir::SizeAttr> sizes) const;
};

} // namespace mx::memory
