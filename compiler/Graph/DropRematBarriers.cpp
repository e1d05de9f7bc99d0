// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DropRematBarriers: drops rematerialisation barriers. Loops that recompute values
// (`mx.recomputed`) carried their inputs, so that common subexpression elimination could not merge
// the recomputation; they now read them from outside.
#include "Graph/Passes.h"
#include "Graph/SimplifyRegions.h"
#include "dialects/mx/Marks.h"

namespace mx::graph {

#define GEN_PASS_DEF_DROPREMATBARRIERS
#include "Graph/Passes.h.inc"

namespace {

struct DropRematBarriers : impl::DropRematBarriersBase<DropRematBarriers> {
  using Base::Base;

  void runOnOperation() override {
    llvm::SmallVector<ir::ForOp> loops;
    getOperation().walk([&](ir::ForOp loop) {
      if (loop->hasAttr(ir::kRecomputed))
        loops.push_back(loop);
    });
    for (ir::ForOp loop : loops)
      releaseUnchanged(loop);
  }
};

} // namespace
} // namespace mx::graph
