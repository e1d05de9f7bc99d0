// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VerifyLocations: checks that every op has a source location.
#include "Graph/Passes.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_VERIFYLOCATIONS
#include "Graph/Passes.h.inc"

namespace {

bool hasLocation(Location loc) {
  if (auto location = dyn_cast<FileLineColLoc>(loc))
    return location.getLine() > 0;
  if (auto named = dyn_cast<NameLoc>(loc))
    return hasLocation(named.getChildLoc());
  if (auto called = dyn_cast<CallSiteLoc>(loc))
    return hasLocation(called.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    return llvm::any_of(fused.getLocations(), hasLocation);
  if (auto opaque = dyn_cast<OpaqueLoc>(loc))
    return hasLocation(opaque.getFallbackLocation());
  return false;
}

struct VerifyLocations : impl::VerifyLocationsBase<VerifyLocations> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isa<ModuleOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
          op->hasTrait<OpTrait::IsTerminator>() || hasLocation(op->getLoc()))
        return;
      op->emitOpError() << "has no location in the source";
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace mx::graph
