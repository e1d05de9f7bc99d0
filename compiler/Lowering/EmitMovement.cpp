// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements. Those that only read from other places are pointwise (Evaluate.cpp); here
// are the places of slices, and ops that write in several parts.
#include "Lowering/EmitKernel.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {

SmallVector<AxisPlan> planIndexing(KernelEmitter &e, TensorType x, ArrayAttr spec,
                                   ArrayRef<Value> at) {
  Value zero = e.number(0), one = e.number(1), minus = e.number(-1);
  SmallVector<AxisPlan> plans;
  size_t axis = 0;
  std::optional<SmallVector<SpecEntry>> entries = readSpec(spec);
  for (const SpecEntry &entry : *entries) {
    if (entry.kind == SpecEntry::New) {
      plans.push_back({Value(), Value(), one});
      continue;
    }
    Value size = e.size(x.getSizes()[axis]);
    std::string axisName = std::to_string(axis++);
    auto next = [&] {
      Value value = at.front();
      at = at.drop_front();
      return value;
    };
    // Places count from the end if negative, and lie in [-size, last].
    auto placeOf = [&](Value index, Value last) {
      Value outside =
          arith::OrIOp::create(e.b, e.compare(CmpIPredicate::slt, index, e.sub(zero, size)),
                               e.compare(CmpIPredicate::sgt, index, last));
      e.failIf(outside, Code::Index,
               {"index ", index, " is out of range for axis ", MessagePart(axisName), " of size ",
                size});
      Value negative = e.compare(CmpIPredicate::slt, index, zero);
      return e.choose(negative, e.add(index, size), index);
    };
    if (entry.kind == SpecEntry::Place) {
      plans.push_back({placeOf(next(), e.sub(size, one)), Value(), Value()});
      continue;
    }
    if (entry.kind == SpecEntry::Whole || (!entry.from && !entry.to && !entry.step)) {
      plans.push_back({zero, one, size});
      continue;
    }
    Value from = entry.from ? next() : Value(), to = entry.to ? next() : Value();
    if (!entry.step) {
      from = from ? placeOf(from, size) : zero;
      to = to ? placeOf(to, size) : size;
      Value distance = e.sub(to, from);
      Value empty = e.compare(CmpIPredicate::slt, distance, zero);
      plans.push_back({from, one, e.choose(empty, zero, distance)});
      continue;
    }
    Value step = next();
    e.failIf(e.compare(CmpIPredicate::eq, step, zero), Code::InvalidArgument,
             MessagePart("the step of a range is 0"));
    // Backwards a range begins at its last element, and ends before the first.
    Value back = e.compare(CmpIPredicate::slt, step, zero);
    Value last = e.choose(back, e.sub(size, one), size);
    from = from ? placeOf(from, last) : e.choose(back, e.sub(size, one), zero);
    to = to ? placeOf(to, last) : e.choose(back, minus, size);
    Value distance = e.choose(back, e.sub(from, to), e.sub(to, from));
    Value stride = e.choose(back, e.sub(zero, step), step);
    Value count = e.add(arith::DivUIOp::create(e.b, e.sub(distance, one), stride), one);
    Value empty = e.compare(CmpIPredicate::sle, distance, zero);
    plans.push_back({from, step, e.choose(empty, zero, count)});
  }
  return plans;
}

} // namespace mx::lowering
