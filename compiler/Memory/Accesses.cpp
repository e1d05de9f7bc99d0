// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer reads and writes of each mxrt op.
#include "Memory/Accesses.h"

using namespace mlir;

namespace mx::memory {

Accesses accessesOf(Operation *op) {
  Accesses out;
  if (auto call = dyn_cast<rt::CallOp>(op)) {
    llvm::append_range(out.reads, call.getReads());
    llvm::append_range(out.writes, call.getWrites());
  } else if (auto copy = dyn_cast<rt::CopyOp>(op)) {
    out.reads.push_back(copy.getFrom());
    out.writes.push_back(copy.getTo());
  } else if (auto load = dyn_cast<rt::LoadOp>(op)) {
    out.reads.push_back(load.getBuffer());
  } else if (auto store = dyn_cast<rt::StoreOp>(op)) {
    out.writes.push_back(store.getBuffer());
  } else {
    for (Value operand : op->getOperands())
      if (isa<rt::BufferType>(operand.getType()))
        out.touched.push_back(operand);
  }
  return out;
}

} // namespace mx::memory
