// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Substitution, constant folding and checks of symbolic sizes.
#include "Graph/Sizes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace mx::graph {

ArrayAttr sizesOf(FunctionOpInterface function) {
  if (auto graph = dyn_cast<ir::GraphOp>(*function))
    return graph.getSizes();
  if (auto host = dyn_cast<ir::FuncOp>(*function))
    return host.getSizes();
  return ArrayAttr::get(function.getContext(), {});
}

LogicalResult replaceSizes(ArrayRef<Operation *> ops, const SizeMap &by) {
  if (by.empty())
    return success();
  ir::SizeAttr lost;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ir::SizeAttr size) -> std::optional<Attribute> {
    ir::SizeAttr replaced = size.substitute(by);
    if (!replaced)
      lost = size;
    return replaced ? replaced : size;
  });
  for (Operation *op : ops) {
    // Source locations hold no sizes.
    replacer.recursivelyReplaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    if (lost)
      return op->emitError() << "R0103 the size " << lost << " is too large or divides by 0 here";
    op->walk([&](ir::BindSizeOp bind) {
      auto found = by.find(bind.getNameAttr());
      if (found != by.end() && !found->second.constant())
        bind.setName(found->second.getText());
    });
  }
  return success();
}

NamesInUse::NamesInUse(FunctionOpInterface function) {
  for (Attribute name : sizesOf(function))
    used.insert(cast<StringAttr>(name));
  function->walk([&](ir::BindSizeOp bind) { used.insert(bind.getNameAttr()); });
}
void NamesInUse::take(ArrayRef<Operation *> ops, SizeMap &renamed) {
  for (Operation *op : ops)
    op->walk([&](ir::BindSizeOp bind) {
      StringAttr name = bind.getNameAttr();
      if (used.insert(name).second)
        return;
      StringAttr fresh;
      for (unsigned i = 1; !fresh || !used.insert(fresh).second; ++i)
        fresh = StringAttr::get(name.getContext(), name.getValue() + "." + Twine(i));
      ir::SizeTable &table = name.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
      std::lock_guard guard(table.lock);
      renamed[name] = ir::SizeAttr::get(name.getContext(), table.named(fresh.getValue()));
    });
}

LogicalResult foldSizes(FunctionOpInterface function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet owned(context);
  ir::IfOp::getCanonicalizationPatterns(owned, context);
  FrozenRewritePatternSet patterns(std::move(owned));
  GreedyRewriteConfig config;
  // Constant CSE would lose source locations here; the CSE pass merges constants later.
  config.enableConstantCSE(false).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  for (;;) {
    (void)applyPatternsGreedily(function, patterns, config);
    SizeMap known;
    function->walk([&](ir::BindSizeOp bind) {
      if (auto size = bind.getValue().getDefiningOp<ir::SizeOp>())
        known[bind.getNameAttr()] = size.getSize();
      else if (std::optional<int64_t> value = constantInt(bind.getValue()))
        known[bind.getNameAttr()] = ir::SizeAttr::get(context, *value);
      else
        return;
      bind.erase();
    });
    if (known.empty())
      return success();
    // A substituted size may contain another name that is replaced in the same round. A chain of
    // names is no longer than their number.
    for (size_t round = 0; round < known.size(); ++round)
      for (auto &[name, size] : known)
        if (ir::SizeAttr deeper = size.substitute(known))
          size = deeper;
    if (failed(replaceSizes({function.getOperation()}, known)))
      return failure();
  }
}

LogicalResult checkSizes(FunctionOpInterface function) {
  auto problemOf = [](ir::TensorType type, std::string &out) {
    int64_t bytes = std::max<int64_t>(1, type.getElement().getIntOrFloatBitWidth() / 8);
    bool isOpen = false, isEmpty = false, isLarge = false;
    for (auto [axis, size] : llvm::enumerate(type.getSizes())) {
      std::optional<int64_t> number = size.constant();
      isOpen |= !number;
      if (!number)
        continue;
      if (*number < 0) {
        out = "R0201 @: size " + std::to_string(*number) + " of dimension " + std::to_string(axis) +
              " is negative";
        return true;
      }
      isEmpty |= *number == 0;
      isLarge |= llvm::MulOverflow(bytes, *number, bytes);
    }
    if (isOpen || isEmpty || !isLarge)
      return false;
    std::string shape;
    for (ir::SizeAttr size : type.getSizes())
      shape += (shape.empty() ? "" : ", ") + std::to_string(*size.constant());
    ElementType element = ir::elementFromMlir(type.getElement());
    out = "R0103 @: " + std::string(elementInfo(element).name) + "[" + shape +
          "] needs more than 2^63 bytes (" + std::to_string(elementInfo(element).bytes) +
          " bytes an element)";
    return true;
  };
  std::string problem;
  WalkResult result = function->walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<ir::TensorType>(type);
      if (!tensor || tensor.isHost() || !problemOf(tensor, problem))
        continue;
      StringRef name = op->getName().stripDialect();
      problem.replace(problem.find('@'), 1, name.str());
      op->emitError() << problem;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

std::optional<int64_t> constantInt(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  if (!number || number.getValue().getBitWidth() > 64)
    return std::nullopt;
  return number.getType().isUnsignedInteger() ? number.getValue().getZExtValue()
                                              : number.getValue().getSExtValue();
}

} // namespace mx::graph
