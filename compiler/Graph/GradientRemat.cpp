// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: `@remat(every=k)`. A loop of n turns becomes one of n / k blocks of k
// turns each. The reverse pass keeps what each block begins with, and runs a block again before it
// goes back through it: n / k + k states instead of n, for one more run.
#include "Graph/Adjoints.h"

using namespace mlir;

namespace mx::graph {

/// The number of turns of a loop as a size, if it is known before anything runs.
static std::optional<ir::SizeAttr> knownTurns(ir::ForOp loop) {
  std::optional<int64_t> from = constantInt(loop.getFrom()), to = constantInt(loop.getTo());
  if (from && to)
    return ir::SizeAttr::get(loop.getContext(), *to > *from ? *to - *from : 0);
  if (auto size = loop.getTo().getDefiningOp<ir::SizeOp>(); size && from == 0)
    return size.getSize();
  return std::nullopt;
}

void Reverse::cutIntoBlocks() {
  SmallVector<ir::ForOp> loops;
  function->walk([&](ir::ForOp loop) {
    if (loop->hasAttr(ir::kRemat))
      loops.push_back(loop);
  });
  for (ir::ForOp loop : loops) {
    int64_t every = loop->getAttrOfType<IntegerAttr>(ir::kRemat).getInt();
    loop->removeAttr(ir::kRemat);
    Value from = loop.getFrom(), to = loop.getTo();
    if (!ir::isHostInt(from.getType()) || from.getType() != to.getType())
      continue; // refused later, with the loop itself
    b.setInsertionPoint(loop);
    b.setLoc(loop.getLoc());
    auto number = [&](int64_t value) {
      return make<ir::ConstantOp>(from.getType(),
                                  b.getIntegerAttr(typeOf(from).getElement(), value));
    };
    Value zero = number(0), blocks;
    if (std::optional<ir::SizeAttr> turns = knownTurns(loop);
        turns && typeOf(from).getElement().isInteger(64)) {
      ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
      ir::SizeAttr most = plus(*turns, sizeOf(every - 1));
      Dim count;
      {
        std::lock_guard guard(table.lock);
        count = table.dims.floorDiv(most.dim(), table.dims.constant(every));
      }
      if (count)
        blocks = make<ir::SizeOp>(from.getType(), ir::SizeAttr::get(b.getContext(), count));
    }
    if (!blocks) {
      Value turns = elementwise("maximum", {elementwise("sub", {to, from}), zero});
      blocks =
          elementwise("floordiv", {elementwise("add", {turns, number(every - 1)}), number(every)});
    }
    SmallVector<Type> types(loop.getResultTypes());
    auto outer = ir::ForOp::create(b, types, zero, blocks, loop.getCarried());
    Block *block = b.createBlock(&outer.getBody());
    Value at = block->addArgument(from.getType(), loop.getLoc());
    SmallVector<Value> carried;
    for (Type type : types)
      carried.push_back(block->addArgument(type, loop.getLoc()));
    Value begin = elementwise("mul", {at, number(every)});
    if (constantInt(from) != 0)
      begin = elementwise("add", {from, begin});
    Value end = elementwise("minimum", {elementwise("add", {begin, number(every)}), to});
    auto inner = ir::ForOp::create(b, types, begin, end, carried);
    inner->setAttr(ir::kTurns, b.getI64IntegerAttr(every));
    inner.getBody().takeBody(loop.getBody());
    ir::YieldOp::create(b, inner.getResults());
    loop.replaceAllUsesWith(outer.getResults());
    loop.erase();
  }
}

} // namespace mx::graph
