// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DropResults: interprocedural dead-result elimination. Graphs do not compute results that their
// caller does not use (S20).
#include "Graph/Passes.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_DROPRESULTS
#include "Graph/Passes.h.inc"

namespace {

/// The used parts of a call's result tuple; nothing if the tuple is used as a whole.
std::optional<SmallVector<int64_t>> usedParts(Value tuple, size_t count) {
  std::vector<bool> used(count, false);
  for (Operation *user : tuple.getUsers()) {
    auto get = dyn_cast<ir::GetOp>(user);
    if (!get)
      return std::nullopt;
    used[static_cast<size_t>(get.getPart())] = used[get.getPart()] || !get->use_empty();
  }
  SmallVector<int64_t> out;
  for (size_t i = 0; i < count; ++i)
    if (used[i])
      out.push_back(static_cast<int64_t>(i));
  return out;
}

class Dropper {
public:
  explicit Dropper(ModuleOp module) : symbols(module) {}

  void visit(ir::CallOp call) {
    auto graph = symbols.lookup<ir::GraphOp>(call.getCallee());
    if (!graph || graph.isExternal() || graph->hasAttr(ir::kEager) || call->getNumResults() == 0)
      return;
    Value tuple = call->getResults().back();
    auto type = dyn_cast<ir::AggregateType>(tuple.getType());
    if (!type || !type.getName().empty())
      return;
    auto parts = usedParts(tuple, type.getParts().size());
    if (!parts || parts->empty() || parts->size() == type.getParts().size())
      return;
    OpBuilder b(call);
    SmallVector<Type> results(call->getResultTypes());
    SmallVector<Type> kept;
    for (int64_t part : *parts)
      kept.push_back(type.getParts()[static_cast<size_t>(part)]);
    results.back() = tupleOf(type, kept);
    auto made = ir::CallOp::create(b, call.getLoc(), results, variant(graph, *parts).getSymName(),
                                   call.getArgs(), call.getSizes());
    for (Operation *user : llvm::make_early_inc_range(tuple.getUsers())) {
      auto get = cast<ir::GetOp>(user);
      if (!get->use_empty()) {
        Value value = made->getResults().back();
        if (kept.size() > 1) {
          b.setInsertionPoint(get);
          auto index = llvm::find(*parts, static_cast<int64_t>(get.getPart())) - parts->begin();
          value =
              ir::GetOp::create(b, get.getLoc(), get.getType(), value, b.getI64IntegerAttr(index));
        }
        get.replaceAllUsesWith(value);
      }
      get.erase();
    }
    for (auto [old, now] : llvm::zip(call->getResults().drop_back(), made->getResults()))
      old.replaceAllUsesWith(now);
    call.erase();
  }

private:
  SymbolTable symbols;

  static Type tupleOf(ir::AggregateType like, ArrayRef<Type> parts) {
    if (parts.size() == 1)
      return parts[0];
    return ir::AggregateType::tuple(like.getContext(), parts);
  }

  /// A clone of the graph that returns only these parts of its tuple.
  ir::GraphOp variant(ir::GraphOp graph, ArrayRef<int64_t> parts) {
    std::string name = graph.getSymName().str() + ".only";
    for (int64_t part : parts)
      name += "." + std::to_string(part);
    if (auto made = symbols.lookup<ir::GraphOp>(name))
      return made;
    ir::GraphOp copy = graph.clone();
    copy.setSymName(name);
    symbols.insert(copy, std::next(graph->getIterator()));
    Operation *end = copy.getFunctionBody().front().getTerminator();
    Value tuple = end->getOperands().back();
    auto type = cast<ir::AggregateType>(tuple.getType());
    OpBuilder b(end);
    SmallVector<Value> values;
    for (int64_t part : parts)
      values.push_back(ir::GetOp::create(b, tuple.getLoc(),
                                         type.getParts()[static_cast<size_t>(part)], tuple,
                                         b.getI64IntegerAttr(part)));
    Type made = tupleOf(type, llvm::to_vector(ValueRange(values).getTypes()));
    end->setOperand(end->getNumOperands() - 1,
                    values.size() == 1 ? values[0]
                                       : ir::MakeOp::create(b, tuple.getLoc(), made, values));
    auto function = copy.getFunctionType();
    SmallVector<Type> results(function.getResults());
    results.back() = made;
    copy.setFunctionType(b.getFunctionType(function.getInputs(), results));
    return copy;
  }
};

struct DropResults : impl::DropResultsBase<DropResults> {
  using Base::Base;

  void runOnOperation() override {
    Dropper dropper(getOperation());
    SmallVector<ir::CallOp> calls;
    getOperation().walk([&](ir::CallOp call) { calls.push_back(call); });
    for (ir::CallOp call : calls)
      dropper.visit(call);
  }
};

} // namespace
} // namespace mx::graph
