// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fault injection into finished memory plans.
#include "Memory/PlanMistakes.h"
#include "Memory/Liveness.h"

using namespace mlir;

namespace mx::memory {
namespace {

rt::SliceOp sliceOf(Value buffer) { return buffer.getDefiningOp<rt::SliceOp>(); }

bool fit(rt::SliceOp a, rt::SliceOp b) {
  return a && b && a != b && a.getBytes() == b.getBytes() && a.getOffset() != b.getOffset() &&
         a.getType().getDevice() == b.getType().getDevice();
}

/// Lets a buffer reuse memory that is still read later.
void earlyReuse(rt::ProgramOp program) {
  Liveness liveness(program);
  ArrayRef<Value> buffers = liveness.buffers();
  auto inOneCall = [](Value a, Value b) {
    return llvm::any_of(
        a.getUsers(), [&](Operation *user) { return llvm::is_contained(user->getOperands(), b); });
  };
  for (unsigned i = 0; i < buffers.size(); ++i)
    for (unsigned k = i + 1; k < buffers.size(); ++k)
      if (fit(sliceOf(buffers[i]), sliceOf(buffers[k])) && !inOneCall(buffers[i], buffers[k]) &&
          intersect(liveness.segments(i), liveness.segments(k)))
        return sliceOf(buffers[k]).setOffset(sliceOf(buffers[i]).getOffset());
}

/// Lets a call overwrite an operand that other ops read later.
void earlyInPlace(rt::ProgramOp program) {
  Liveness liveness(program);
  for (Operation *op : liveness.ops()) {
    auto call = dyn_cast<rt::CallOp>(op);
    if (!call)
      continue;
    int64_t after = 2 * liveness.number(op) + 1;
    for (Value read : call.getReads())
      for (Value written : call.getWrites())
        if (std::optional<unsigned> index = liveness.indexOf(read);
            index && fit(sliceOf(read), sliceOf(written)) &&
            intersect(liveness.segments(*index), Segment{after, after}))
          return sliceOf(written).setOffset(sliceOf(read).getOffset());
  }
}

} // namespace

bool knowsMistake(StringRef name) { return name == "early-reuse" || name == "early-in-place"; }

void makeMistake(ModuleOp plan, StringRef name) {
  for (auto program : plan.getOps<rt::ProgramOp>()) {
    if (name == "early-reuse")
      earlyReuse(program);
    else if (name == "early-in-place")
      earlyInPlace(program);
  }
}

} // namespace mx::memory
