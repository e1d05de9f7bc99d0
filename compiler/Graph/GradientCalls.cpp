// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: calls of functions with a user-defined gradient rule, `@vjp`.
#include "Graph/Adjoints.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace mx::graph {

/// The `@vjp` rule of the called function, or null.
FunctionOpInterface Reverse::ruleOf(Operation *op) {
  auto call = dyn_cast<ir::CallOp>(op);
  auto callee =
      call ? symbols.lookup<FunctionOpInterface>(call.getCallee()) : FunctionOpInterface();
  auto name = callee ? callee->getAttrOfType<FlatSymbolRefAttr>(ir::kVjp) : FlatSymbolRefAttr();
  return name ? symbols.lookup<FunctionOpInterface>(name.getAttr()) : FunctionOpInterface();
}

LogicalResult Reverse::handWritten(ir::CallOp op) {
  FunctionOpInterface rule = ruleOf(op);
  if (!rule || op.getNumResults() != 1 || rule.getNumResults() != 1)
    return withoutRule(op);
  SmallVector<Value> args(op.getArgs());
  args.push_back(whole(adjoints.lookup(op.getResult(0)), op.getResult(0).getType()));
  // The result types use the size names of the rule; substitutes the sizes of the call.
  SizeMap by;
  for (auto [name, value] : llvm::zip_equal(sizesOf(rule), op.getSizes()))
    by[cast<StringAttr>(name)] = cast<ir::SizeAttr>(value);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ir::SizeAttr size) -> std::optional<Attribute> {
    ir::SizeAttr replaced = size.substitute(by);
    return replaced ? replaced : size;
  });
  Type type = replacer.replace(rule.getResultTypes()[0]);
  auto call = ir::CallOp::create(b, TypeRange(type), rule.getName(), args, op.getSizes());
  auto parts = dyn_cast<ir::AggregateType>(type);
  int64_t next = 0;
  for (Value argument : op.getArgs()) {
    auto wanted = dyn_cast_or_null<ir::TensorType>(adjointType(argument.getType()));
    if (!wanted)
      continue;
    Value part = call.getResult(0);
    if (parts)
      part = make<ir::GetOp>(parts.getParts()[static_cast<size_t>(next)], part,
                             b.getI64IntegerAttr(next));
    ++next;
    if (isActive(argument))
      contribute(argument, shaped(part, wanted));
  }
  return success();
}

} // namespace mx::graph
