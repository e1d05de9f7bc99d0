// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cost model: operations and bytes moved by a call, counted from its kernels.
#include "Memory/Work.h"
#include "Memory/Accesses.h"
#include "Memory/Recompute.h"
#include "dialects/mx/Kernels.h"
#include "dialects/mxrt/Marks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace mx::memory {

double OpWork::elements(ArrayRef<ir::SizeAttr> sizes) const {
  double count = 1;
  for (ir::SizeAttr size : sizes)
    count *= double(rt::largest(size, bounds).value_or(0));
  return count;
}

double OpWork::operations(rt::CallOp call) {
  auto [found, isNew] = known.try_emplace(call.getKernelAttr(), 0.0);
  if (!isNew)
    return found->second;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(call, call.getKernelAttr());
  if (!kernel || !kernel.kernel())
    return 0;
  double sum = 0;
  for (Operation &op : kernel.kernel().getBody().front().without_terminator())
    if (ir::OpCost cost = ir::costOf(&op); cost.each > 0)
      sum += double(cost.each) * elements(cost.space);
  known[call.getKernelAttr()] = sum;
  return sum;
}

double OpWork::bytes(Operation *op) {
  if (!isa<rt::CallOp, rt::CopyOp>(op))
    return 0;
  double sum = 0;
  Accesses accesses = accessesOf(op);
  for (ArrayRef<Value> buffers :
       {ArrayRef<Value>(accesses.reads), ArrayRef<Value>(accesses.writes)})
    for (Value buffer : buffers) {
      auto tensor = cast<rt::BufferType>(buffer.getType()).getTensor();
      sum += double(rt::largestBytes(tensor, bounds).value_or(0));
    }
  return sum;
}

namespace {

class Counter {
public:
  Counter(rt::ProgramOp program, bool onlyRecomputed)
      : program(program), each(program), onlyRecomputed(onlyRecomputed) {}

  Work run() {
    count(program.block(), 1);
    return work;
  }

private:
  rt::ProgramOp program;
  OpWork each;
  bool onlyRecomputed;
  Work work;

  static void add(int64_t &to, double amount) {
    // Saturates instead of overflowing.
    double sum = double(to) + amount;
    to = sum < 9e18 ? static_cast<int64_t>(sum) : INT64_MAX;
  }

  void count(Block &block, double times) {
    for (Operation &op : block) {
      if (!onlyRecomputed || op.hasAttr(rt::kRecomputed)) {
        if (auto call = dyn_cast<rt::CallOp>(op))
          add(work.operations, times * each.operations(call));
        add(work.bytes, times * each.bytes(&op));
      }
      if (op.getNumRegions() == 0)
        continue;
      double iterations = iterationsOf(&op);
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          count(inner, times * iterations);
    }
  }

  double iterationsOf(Operation *op) {
    auto loop = dyn_cast<scf::ForOp>(op);
    APInt from, to, step;
    if (loop && matchPattern(loop.getLowerBound(), m_ConstantInt(&from)) &&
        matchPattern(loop.getUpperBound(), m_ConstantInt(&to)) &&
        matchPattern(loop.getStep(), m_ConstantInt(&step)) && step.isStrictlyPositive())
      return std::max(0.0, std::ceil(double(to.getSExtValue() - from.getSExtValue()) /
                                     double(step.getSExtValue())));
    work.isExact = false;
    return 1;
  }
};

} // namespace

Work workOf(rt::ProgramOp program) { return Counter(program, false).run(); }
Work recomputedWork(rt::ProgramOp program) { return Counter(program, true).run(); }

} // namespace mx::memory
