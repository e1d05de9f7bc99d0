// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VerifyLocations: checks that every op has a source location.
#include "Graph/Passes.h"
#include "dialects/mx/Locations.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_VERIFYLOCATIONS
#include "Graph/Passes.h.inc"

namespace {

struct VerifyLocations : impl::VerifyLocationsBase<VerifyLocations> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isa<ModuleOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
          op->hasTrait<OpTrait::IsTerminator>() || ir::sourceLocation(op->getLoc()))
        return;
      op->emitOpError() << "has no location in the source";
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace mx::graph
