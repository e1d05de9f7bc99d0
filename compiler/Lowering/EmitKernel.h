// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emitters of kernels, by form. Each writes a group of outputs that share their loops.
#pragma once
#include "Lowering/Evaluate.h"

namespace mx::lowering {

using SizesRef = ArrayRef<ir::SizeAttr>;

struct Output {
  Value value;
  unsigned index; ///< of the kernel's result
};
struct OutputGroup {
  SmallVector<Output> outputs;            ///< of one shape, except of rows
  SmallVector<mlir::Operation *> sources; ///< the ops that are not pointwise they come from
  SmallVector<Value> values() const {
    SmallVector<Value> out;
    for (const Output &output : outputs)
      out.push_back(output.value);
    return out;
  }
};

/// An error unless all outputs have the shape of what their first source gives.
llvm::LogicalResult hasShapeOf(const OutputGroup &group);
/// An error if they come from more than one source.
llvm::LogicalResult isAlone(const OutputGroup &group);

/// Outputs of two such ops may be computed in the same loops.
bool mayShareLoops(mlir::Operation *x, mlir::Operation *y);

llvm::LogicalResult emitGroup(KernelEmitter &e, const OutputGroup &group);
llvm::LogicalResult emitPointwise(KernelEmitter &e, const OutputGroup &group);
/// A large transpose; false if the group is none.
bool emitCrossing(KernelEmitter &e, const OutputGroup &group);
llvm::LogicalResult emitReduce(KernelEmitter &e, const OutputGroup &group);
/// Reductions over the last axes, which may use each other's results.
llvm::LogicalResult emitRows(KernelEmitter &e, const OutputGroup &group);
llvm::LogicalResult emitMatmul(KernelEmitter &e, const OutputGroup &group);
llvm::LogicalResult emitConv(KernelEmitter &e, const OutputGroup &group);
/// mx.concat and mx.update.
llvm::LogicalResult emitMovement(KernelEmitter &e, const OutputGroup &group);
/// mx.scatter_add, and ops on the rows of a table.
llvm::LogicalResult emitScatter(KernelEmitter &e, const OutputGroup &group);
llvm::LogicalResult emitRandom(KernelEmitter &e, const OutputGroup &group);
llvm::LogicalResult emitRoutine(KernelEmitter &e, const OutputGroup &group);

/// Fills an output with x, unless it is written over it.
void copyFirst(KernelEmitter &e, Evaluator &evaluator, Value x, const Output &output);

} // namespace mx::lowering
