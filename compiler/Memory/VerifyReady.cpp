// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VerifyReady: proves that every output is reported complete when it is, and neither before nor
// twice. A consumer of an output that was reported too early would read half of it, or change it
// under the program; one that is not reported starts late.
//
// Follows the program from its first op to its last. An op with a body is one op: it may run its
// body any number of times.
#include "Memory/Accesses.h"
#include "Memory/Donation.h"
#include "Memory/Passes.h"
#include "dialects/mxrt/Marks.h"

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_VERIFYREADY
#include "Memory/Passes.h.inc"

namespace {

class ReadyChecker {
public:
  explicit ReadyChecker(rt::ProgramOp program) : program(program) {
    // An output in the memory of an input: an access of one is an access of both.
    for (auto [output, input] : llvm::enumerate(outputsOver(program))) {
      outputs[program.outputArguments()[output]].push_back(static_cast<unsigned>(output));
      if (input >= 0)
        outputs[program.inputArguments()[input]].push_back(static_cast<unsigned>(output));
    }
    ready.resize(program.outputArguments().size());
    lastUse.resize(ready.size());
  }

  LogicalResult run() {
    bool isAsked = program->hasAttr(rt::kAnnounces);
    for (Operation &op : program.block()) {
      if (auto report = dyn_cast<rt::ReadyOp>(op)) {
        if (!isAsked)
          return report.emitOpError() << "is in a program that nobody asked to report";
        if (failed(take(report)))
          return failure();
        continue;
      }
      WalkResult result = op.walk([&](Operation *inner) { return check(inner, &op); });
      if (result.wasInterrupted())
        return failure();
    }
    return isAsked ? findMissing() : success();
  }

private:
  rt::ProgramOp program;
  llvm::DenseMap<Value, SmallVector<unsigned, 1>> outputs; ///< by argument
  SmallVector<Operation *> ready;                          ///< the report of each output
  SmallVector<Operation *> lastUse;                        ///< an op of the program's own block

  LogicalResult take(rt::ReadyOp report) {
    auto argument = cast<BlockArgument>(report.getBuffer());
    unsigned output = argument.getArgNumber() - static_cast<unsigned>(program.getInputs());
    Operation *&known = ready[output];
    if (known) {
      InFlightDiagnostic error = report.emitOpError() << "reports output " << output << " again";
      error.attachNote(known->getLoc()) << "reported here";
      return error;
    }
    known = report;
    return success();
  }

  WalkResult check(Operation *op, Operation *whole) {
    if (auto report = dyn_cast<rt::ReadyOp>(op)) {
      (void)(report.emitOpError() << "may run any number of times");
      return WalkResult::interrupt();
    }
    Accesses accesses = accessesOf(op);
    for (ArrayRef<Value> buffers : {ArrayRef<Value>(accesses.reads), ArrayRef<Value>(accesses.writes),
                                    ArrayRef<Value>(accesses.touched)})
      for (Value buffer : buffers)
        if (auto found = outputs.find(buffer); found != outputs.end())
          for (unsigned output : found->second) {
            if (ready[output]) {
              InFlightDiagnostic error = op->emitOpError() << "accesses output " << output
                                                           << ", which was reported complete";
              error.attachNote(ready[output]->getLoc()) << "reported here";
              return WalkResult::interrupt();
            }
            // Its own accesses complete it, not those of the input before.
            if (buffer == Value(program.outputArguments()[output]) || lastUse[output])
              lastUse[output] = whole;
          }
    return WalkResult::advance();
  }

  /// An output of the last op is complete when the program ends.
  LogicalResult findMissing() {
    Operation *end = program.block().getTerminator();
    for (auto [output, use] : llvm::enumerate(lastUse)) {
      if (!use || ready[output])
        continue;
      Operation *next = use->getNextNode();
      while (next != end && isa<rt::ReadyOp>(next))
        next = next->getNextNode();
      if (next != end)
        return use->emitOpError() << "completes output " << output << ", and nothing reports it";
    }
    return success();
  }
};

struct VerifyReady : impl::VerifyReadyBase<VerifyReady> {
  using Base::Base;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      if (failed(ReadyChecker(program).run()))
        signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mx::memory
