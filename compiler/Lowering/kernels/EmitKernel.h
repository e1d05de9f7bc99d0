// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel emitters that all frames share, by form. Each emits a group of outputs that share
// their loops.
#pragma once
#include "Lowering/kernels/Evaluate.h"

namespace mx::lowering {

using SizesRef = ArrayRef<ir::SizeAttr>;

struct Output {
  Value value;
  unsigned index; ///< of the kernel's result
};
struct OutputGroup {
  SmallVector<Output> outputs;            ///< of one shape, except for row kernels
  SmallVector<mlir::Operation *> sources; ///< the ops they come from that are not pointwise
  SmallVector<Value> values() const {
    SmallVector<Value> out;
    for (const Output &output : outputs)
      out.push_back(output.value);
    return out;
  }
};

/// Emits the frame's kernel. Errors are reported on its ops.
llvm::LogicalResult emitKernel(KernelEmitter &e);

/// Fails unless all outputs have the shape of their first source's result.
llvm::LogicalResult hasShapeOf(const OutputGroup &group);
/// Fails if they come from more than one source.
llvm::LogicalResult isAlone(const OutputGroup &group);

/// Loads what an index of the outputs needs, then stores them there.
llvm::LogicalResult emitPointwise(KernelEmitter &e, const OutputGroup &group);
/// Emits a large transpose in tiles; false if the group is not one.
bool emitTiledTranspose(KernelEmitter &e, const OutputGroup &group);
llvm::LogicalResult emitReduce(KernelEmitter &e, const OutputGroup &group);
/// Row kernels: reductions over the last axes, which may use each other's results.
llvm::LogicalResult emitRows(KernelEmitter &e, const OutputGroup &group);
/// mx.concat and mx.update.
llvm::LogicalResult emitMovement(KernelEmitter &e, const OutputGroup &group);
/// mx.scatter_add, and ops on the rows of a table.
llvm::LogicalResult emitScatter(KernelEmitter &e, const OutputGroup &group);

/// Fills an output with x, unless the output is updated in place.
void copyFirst(KernelEmitter &e, Evaluator &evaluator, Value x, const Output &output);

} // namespace mx::lowering
