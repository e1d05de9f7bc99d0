// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: exchanges of values between workers. What is differentiated is the sum of
// the results of all workers, and the gradient of a worker is that with respect to its own values.
// Exchanges are linear, and the adjoint is the transpose: of a sum the sum, of a gather the scatter
// and the other way round, of a mean the mean, which is never compressed. All workers run the same
// program, so all run the same adjoints in the same order.
#include "Graph/Adjoints.h"
#include "dialects/mx/Exchange.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace mx::graph {

/// `mx.dist.<action>` of one value, with the key that `like` has, extended.
Value Reverse::exchange(StringRef action, ir::NativeOp like, Value weight, Value value, Type type,
                        StringRef extension) {
  std::string key = "value";
  if (auto text = like.getArgs()[like.getArgs().size() - 2].getDefiningOp<ir::TextOp>())
    key = text.getValue().str();
  Value name = make<ir::TextOp>(ir::StrType::get(b.getContext()),
                                b.getStringAttr(key + extension.str()));
  SmallVector<Value> operands{like.getArgs()[0]};
  if (weight)
    operands.push_back(weight);
  operands.append({name, value});
  Type tuple = ir::AggregateType::tuple(b.getContext(), {type});
  auto out = ir::NativeOp::create(b, TypeRange(tuple), ("mx.dist." + action).str(), operands);
  return make<ir::GetOp>(type, out->getResult(0), b.getI64IntegerAttr(0));
}

/// The adjoint of a mean whose weights only the run knows: with W the sum of all weights, each
/// worker gets w / W of the sum. A worker of weight 0 has no part in the mean, whatever is in it.
Adjoint Reverse::weighted(const Adjoint &sums, Value weight, Value total) {
  Adjoint out;
  for (const Adjoint &part : sums.parts)
    out.parts.push_back(weighted(part, weight, total));
  if (!sums.value)
    return out;
  auto scalar = [&](Value number) {
    ir::TensorType type = typeOf(number).withElement(typeOf(sums.value).getElement());
    return typeOf(number) == type ? number : make<ir::CastOp>(type, number);
  };
  Value share = elementwise("div", {elementwise("mul", {sums.value, scalar(weight)}), scalar(total)});
  Value none = elementwise("eq", {weight, number(weight, 0)}, b.getI1Type());
  out.value = elementwise("select", {none, number(share, 0), share});
  return out;
}

bool Reverse::exchangeRule(Operation *op, const Adjoint &g) {
  StringRef action = ir::linearExchange(op);
  auto native = dyn_cast<ir::NativeOp>(op);
  if (action.empty() || native.getArgs().size() != (ir::isWeighted(action) ? 4 : 3))
    return false;
  Value x = native.getArgs().back();
  auto results = cast<ir::AggregateType>(native->getResult(0).getType());
  if (!isActive(x) || g.parts.empty() || g.parts[0].isZero())
    return true;
  Value incoming = whole(g.parts[0], results.getParts()[0]);
  Type type = adjointType(x.getType());
  auto back = [&](StringRef as, Value weight) {
    return apart(exchange(as, native, weight, incoming, type, ".grad"), x.getType());
  };
  if (!ir::isWeighted(action)) {
    contribute(x, back(action == "gather" ? "scatter" : action == "scatter" ? "gather" : "sum", {}));
    return true;
  }
  Value weight = native.getArgs()[1];
  Attribute known;
  if (matchPattern(weight, m_Constant(&known))) { // the same at all workers
    contribute(x, back("mean", weight));
    return true;
  }
  Value own = onDevice(weight);
  Value total = exchange("sum", native, {}, own, own.getType(), ".weight");
  contribute(x, weighted(back("sum", {}), own, total));
  return true;
}

/// Forward mode: the same exchange, of tangents.
bool Reverse::exchangeTangents(Operation *op) {
  StringRef action = ir::linearExchange(op);
  auto native = dyn_cast<ir::NativeOp>(op);
  if (action.empty() || native.getArgs().size() != (ir::isWeighted(action) ? 4 : 3))
    return false;
  Value x = native.getArgs().back();
  Type of = cast<ir::AggregateType>(native->getResult(0).getType()).getParts()[0];
  Value tangent = whole(isActive(x) ? adjoints.lookup(x) : Adjoint(), x.getType());
  bool isMean = ir::isWeighted(action);
  Value weight = isMean ? native.getArgs()[1] : Value();
  Value out =
      exchange(isMean ? "mean" : action, native, weight, tangent, adjointType(of), ".tangent");
  adjoints[native->getResult(0)].parts = {apart(out, of)};
  return true;
}

} // namespace mx::graph
