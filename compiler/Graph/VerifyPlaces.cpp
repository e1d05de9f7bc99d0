// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VerifyPlaces: checks that every op has a source location.
#include "Graph/Passes.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_VERIFYPLACES
#include "Graph/Passes.h.inc"

namespace {

bool hasPlace(Location loc) {
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    return place.getLine() > 0;
  if (auto named = dyn_cast<NameLoc>(loc))
    return hasPlace(named.getChildLoc());
  if (auto called = dyn_cast<CallSiteLoc>(loc))
    return hasPlace(called.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    return llvm::any_of(fused.getLocations(), hasPlace);
  if (auto opaque = dyn_cast<OpaqueLoc>(loc))
    return hasPlace(opaque.getFallbackLocation());
  return false;
}

struct VerifyPlaces : impl::VerifyPlacesBase<VerifyPlaces> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isa<ModuleOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
          op->hasTrait<OpTrait::IsTerminator>() || hasPlace(op->getLoc()))
        return;
      op->emitOpError() << "has no place in the source";
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace mx::graph
