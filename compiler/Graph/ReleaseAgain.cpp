// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ReleaseAgain: drops rematerialisation barriers. Loops that recompute values (`mx.again`) carried
// their inputs, so that CSE could not merge the recomputation; they now read them from outside.
#include "Graph/Passes.h"
#include "Graph/SimplifyRegions.h"
#include "dialects/mx/Marks.h"

namespace mx::graph {

#define GEN_PASS_DEF_RELEASEAGAIN
#include "Graph/Passes.h.inc"

namespace {

struct ReleaseAgain : impl::ReleaseAgainBase<ReleaseAgain> {
  using Base::Base;

  void runOnOperation() override {
    llvm::SmallVector<ir::ForOp> loops;
    getOperation().walk([&](ir::ForOp loop) {
      if (loop->hasAttr(ir::kAgain))
        loops.push_back(loop);
    });
    for (ir::ForOp loop : loops)
      releaseUnchanged(loop);
  }
};

} // namespace
} // namespace mx::graph
