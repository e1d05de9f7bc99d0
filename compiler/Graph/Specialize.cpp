// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Specialize: shape specialisation. Replaces size names by constants, so that all later passes have
// static shapes.
#include "Graph/Passes.h"
#include "Graph/Sizes.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_SPECIALIZE
#include "Graph/Passes.h.inc"

FailureOr<ir::GraphOp> specialize(ir::GraphOp graph,
                                  ArrayRef<std::pair<StringAttr, int64_t>> values, StringRef name) {
  MLIRContext *context = graph.getContext();
  auto dynamic = graph->getAttrOfType<DictionaryAttr>(ir::kDyn);
  SizeMap numbers;
  SmallVector<Attribute> open;
  for (Attribute attribute : graph.getSizes()) {
    auto size = cast<StringAttr>(attribute);
    if (dynamic && dynamic.contains(size)) {
      open.push_back(size);
      continue;
    }
    auto given = llvm::find_if(values, [&](auto &value) { return value.first == size; });
    if (given == values.end())
      return graph.emitError() << "the size " << size << " has no value";
    if (given->second < 0)
      return graph.emitError() << "R0201 the size " << size << " cannot be " << given->second;
    numbers[size] = ir::SizeAttr::get(context, given->second);
  }
  OpBuilder builder(context);
  builder.setInsertionPointAfter(graph);
  auto special = cast<ir::GraphOp>(builder.clone(*graph));
  special.setSymName(name);
  special.setSizesAttr(ArrayAttr::get(context, open));
  if (failed(replaceSizes({special.getOperation()}, numbers)) || failed(foldSizes(special))) {
    special.erase();
    return failure();
  }
  return special;
}

namespace {

struct Specialize : impl::SpecializeBase<Specialize> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<std::pair<StringAttr, int64_t>> values;
    for (const std::string &text : sizes) {
      auto [name, number] = StringRef(text).split('=');
      int64_t value = 0;
      if (name.empty() || number.getAsInteger(10, value)) {
        getOperation().emitError() << "`" << text << "` is not of the form N=128";
        return signalPassFailure();
      }
      values.push_back({StringAttr::get(&getContext(), name), value});
    }
    for (auto op : llvm::make_early_inc_range(getOperation().getOps<ir::GraphOp>())) {
      if (!graph.empty() && op.getSymName() != graph)
        continue;
      std::string name = (op.getSymName() + suffix).str();
      if (failed(specialize(op, values, name)))
        return signalPassFailure();
      if (suffix.empty())
        op.erase();
    }
  }
};

} // namespace
} // namespace mx::graph
