// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AnnounceOutputs: reports complete outputs before the program ends, so that work on them starts
// early (mxrt_ready).
#include "Memory/Accesses.h"
#include "Memory/Donation.h"
#include "Memory/Passes.h"
#include "dialects/mxrt/Marks.h"

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_ANNOUNCEOUTPUTS
#include "Memory/Passes.h.inc"

namespace {

/// The last op of the program's own block that accesses each argument. A loop is one op.
llvm::DenseMap<Value, Operation *> lastAccesses(rt::ProgramOp program) {
  llvm::DenseMap<Value, Operation *> last;
  for (Operation &op : program.block())
    op.walk([&](Operation *inner) {
      Accesses accesses = accessesOf(inner);
      for (ArrayRef<Value> buffers :
           {ArrayRef<Value>(accesses.reads), ArrayRef<Value>(accesses.writes),
            ArrayRef<Value>(accesses.touched)})
        for (Value buffer : buffers)
          if (isa<BlockArgument>(buffer))
            last[buffer] = &op;
    });
  return last;
}

void announce(rt::ProgramOp program) {
  llvm::DenseMap<Value, Operation *> last = lastAccesses(program);
  std::vector<int64_t> over = outputsOver(program);
  Operation *end = program.block().getTerminator();
  OpBuilder b(program.getContext());
  // From the last output on: those that one op completes are reported in their order.
  for (auto [output, input] : llvm::reverse(llvm::zip_equal(program.outputArguments(), over))) {
    Operation *op = last.lookup(output);
    if (Operation *read = input >= 0 ? last.lookup(program.inputArguments()[input]) : nullptr;
        read && op && op->isBeforeInBlock(read))
      op = read;
    // Without an access it has no elements, or the same ones as its input: nobody waits for it.
    if (!op || op->getNextNode() == end)
      continue;
    b.setInsertionPointAfter(op);
    rt::ReadyOp::create(b, op->getLoc(), output);
  }
}

struct AnnounceOutputs : impl::AnnounceOutputsBase<AnnounceOutputs> {
  using Base::Base;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      if (program->hasAttr(rt::kAnnounces))
        announce(program);
  }
};

} // namespace
} // namespace mx::memory
