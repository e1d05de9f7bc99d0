// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ReportPlan: the pass that prints the memory report.
#include "Memory/Passes.h"
#include "Memory/Report.h"

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_REPORTPLAN
#include "Memory/Passes.h.inc"

namespace {

struct ReportPlan : impl::ReportPlanBase<ReportPlan> {
  using Base::Base;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      llvm::outs() << showPlan(describePlan(program, program.getSymName().str()));
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mx::memory
