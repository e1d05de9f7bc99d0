// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiate: automatic differentiation (autodiff), source to source on the IR. `mx.grad`
// becomes a call of derived code. Also holds the activity analysis. The gradient rules are in
// Gradient*.cpp, forward mode is in Forward.cpp, and shared helpers are in Adjoints.cpp.
#include "Graph/Adjoints.h"
#include "Graph/GradientRoutines.h"
#include "Graph/InlineCalls.h"
#include "Graph/Passes.h"
#include "Graph/UnrollArrayLoops.h"
#include "dialects/mx/Marks.h"
#include "dialects/mx/Exchange.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "Graph/Passes.h.inc"

// --------------------------------------------------------------------------------------- activity

bool Reverse::markActive(Value value) {
  return adjointType(value.getType()) && active.insert(value).second;
}

/// Ops whose derivative is 0 wherever it exists.
static bool isFlat(Operation *op) {
  return isa<ir::StopOp, ir::SignOp, ir::FloorOp, ir::CeilOp, ir::RoundOp, ir::FloorDivOp>(op);
}

/// Activity analysis: marks the values that depend on active values, in program order. Iterates
/// loop bodies to a fixpoint.
void Reverse::findActive(Block &block) {
  for (Operation &op : block) {
    if (auto branch = dyn_cast<ir::IfOp>(op)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
        findActive(region->front());
        for (auto [result, value] :
             llvm::zip_equal(branch.getResults(), region->front().getTerminator()->getOperands()))
          if (isActive(value))
            markActive(result);
      }
      continue;
    }
    if (isa<ir::ForOp, ir::WhileOp>(op)) {
      auto loop = dyn_cast<ir::ForOp>(op);
      Block &body = loop ? loop.getBody().front() : cast<ir::WhileOp>(op).getBody().front();
      auto carried = loop ? loop.getCarried() : cast<ir::WhileOp>(op).getCarried();
      unsigned first = loop ? 1 : 0;
      for (auto [i, value] : llvm::enumerate(carried))
        if (isActive(value))
          markActive(body.getArgument(first + static_cast<unsigned>(i)));
      for (bool changed = true; changed;) {
        findActive(body);
        changed = false;
        for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
          if (isActive(value))
            changed |= markActive(body.getArgument(first + static_cast<unsigned>(i)));
      }
      for (auto [i, result] : llvm::enumerate(op.getResults()))
        if (isActive(body.getArgument(first + static_cast<unsigned>(i))))
          markActive(result);
      continue;
    }
    if (!isFlat(&op) && llvm::any_of(op.getOperands(), [&](Value v) { return isActive(v); }))
      for (Value result : op.getResults())
        markActive(result);
  }
}

/// Rejects active values that flow through mutable variables, closures or `try`: they have no
/// adjoint there, and the gradient would be silently wrong.
LogicalResult Reverse::refuseHidden() {
  llvm::DenseSet<StringAttr> loaded;
  function->walk([&](ir::GlobalLoadOp load) { loaded.insert(load.getNameAttr()); });
  WalkResult result = function->walk([&](Operation *op) {
    bool uses = llvm::any_of(op->getOperands(), [&](Value v) { return isActive(v); });
    bool hides = isa<ir::CellOp, ir::StoreOp, ir::ClosureOp>(op);
    if (auto store = dyn_cast<ir::GlobalStoreOp>(op))
      hides = loaded.contains(store.getNameAttr());
    if (auto attempt = dyn_cast<ir::TryOp>(op)) {
      hides = true;
      uses = false;
      attempt->walk([&](Operation *inner) {
        uses |= llvm::any_of(inner->getOperands(), [&](Value v) { return isActive(v); });
      });
    }
    if (!uses || !hides)
      return WalkResult::advance();
    (void)withoutRule(op);
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

// ---------------------------------------------------------------------------------------- reverse

LogicalResult Reverse::withoutRule(Operation *op) {
  if (ir::exchanges(op))
    return op->emitError() << "what a KVStore does here has no gradient: only kv.sum, mean, "
                              "average, gather and scatter have one";
  StringRef name = op->getName().stripDialect();
  return op->emitError() << "`" << name << "` has no gradient";
}

LogicalResult Reverse::reverse(Operation *op) {
  // An op whose results have no adjoint is skipped: the differentiated result does not depend on
  // it, or it does not depend on the arguments.
  bool any = llvm::any_of(op->getResults(), [&](Value result) {
    auto found = adjoints.find(result);
    return found != adjoints.end() && !found->second.isZero();
  });
  if (!any)
    return success();
  b.setLoc(op->getLoc());
  if (auto branch = dyn_cast<ir::IfOp>(op))
    return reverseIf(branch);
  if (isa<ir::ForOp, ir::WhileOp>(op))
    return reverseLoop(op);
  if (auto call = dyn_cast<ir::CallOp>(op))
    return ruleOf(call) ? handWritten(call) : rematerialise(call);
  if (op->getNumResults() != 1)
    return withoutRule(op);
  Adjoint g = adjoints.lookup(op->getResult(0));
  if (g.value && op->getName().stripDialect() == wrongRule)
    g.value = elementwise("mul", {g.value, number(g.value, 1.5)});
  bool handled = false;
  if (g.value && isa<ir::TensorType>(op->getResult(0).getType())) {
    if (op->hasTrait<ir::Elementwise>()) {
      elementwiseRule(op, g.value, handled);
    } else if (auto routine = dyn_cast<ir::RoutineOp>(op)) {
      RoutineRules(*this, routine, g.value).run();
      handled = true;
    } else {
      tensorRule(op, g.value, handled);
    }
  }
  handled = handled || exchangeRule(op, g);
  if (!handled && failed(aggregateRule(op, g, handled)))
    return failure();
  if (failedAt)
    return op->emitError() << "the length of an array must be known for a gradient";
  return handled ? success() : withoutRule(op);
}

LogicalResult Reverse::reverse(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops))
    if (failed(reverse(op)))
      return failure();
  return success();
}

/// Emits one warning for all parts that the value does not depend on. Names only the first few.
static void warnUnused(Location location, ArrayRef<std::string> paths) {
  constexpr size_t maxNamed = 3;
  if (paths.empty())
    return;
  InFlightDiagnostic warning = emitWarning(location) << "the value does not depend on ";
  for (size_t i = 0; i < std::min(paths.size(), maxNamed); ++i)
    warning << (i == 0 ? "`" : i + 1 == paths.size() ? " and `" : ", `") << paths[i] << "`";
  if (paths.size() > maxNamed)
    warning << " and " << paths.size() - maxNamed << " more";
}

LogicalResult Reverse::run(ArrayRef<int64_t> wrt, TypeRange wanted) {
  Block &body = function.getFunctionBody().front();
  cutIntoBlocks();
  hoistParts();
  for (int64_t i : wrt)
    markActive(body.getArgument(static_cast<unsigned>(i)));
  findActive(body);
  if (failed(refuseHidden()))
    return failure();
  Operation *end = body.getTerminator();
  Value result = end->getOperand(0);
  if (!ir::isScalarTensor(result.getType()) || !adjointType(result.getType()))
    return end->emitError() << "the differentiated result is not a float scalar";
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  b.setInsertionPoint(end);
  b.setLoc(end->getLoc());
  auto type = cast<ir::TensorType>(adjointType(result.getType()));
  if (isActive(result))
    adjoints[result] = Adjoint{make<ir::FullOp>(type, number(result, 1)), {}};
  if (failed(reverse(ops)))
    return failure();

  b.setLoc(end->getLoc());
  SmallVector<Value> results(end->getOperands());
  for (auto [i, as] : llvm::zip_equal(wrt, wanted)) {
    Value argument = body.getArgument(static_cast<unsigned>(i));
    Type gradient = gradientType(argument.getType(), as);
    auto name = function.getArgAttrOfType<StringAttr>(static_cast<unsigned>(i), ir::kName);
    SmallVector<std::string> unused;
    Value found = gradient ? asGradient(adjoints.lookup(argument), argument.getType(), gradient,
                                        name ? name.getValue().str() : "argument", unused)
                           : Value();
    warnUnused(argument.getLoc(), unused);
    if (!found)
      return end->emitError() << "there is no gradient " << as << " of " << argument.getType();
    results.push_back(found);
  }
  end->setOperands(results);
  SmallVector<Type> types(ValueRange(results).getTypes());
  function.setType(FunctionType::get(b.getContext(), function.getArgumentTypes(), types));
  return success();
}

// ------------------------------------------------------------------------------------------- pass

namespace {

/// Loops over sub-models are not unrolled to more ops than this.
constexpr int64_t kMaxUnrolled = 20000;

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto functions = llvm::to_vector(getOperation().getOps<FunctionOpInterface>());
    for (FunctionOpInterface function : functions)
      if (failed(settle(function, symbols)))
        return signalPassFailure();
    eraseBodies(symbols);
    getOperation().walk([](ir::StopOp stop) {
      stop.replaceAllUsesWith(stop.getX());
      stop.erase();
    });
    takeExtremes(getOperation());
  }

private:
  llvm::DenseSet<Operation *> seen;
  llvm::SetVector<Operation *> bodies;

  /// Erases function bodies that existed only to be differentiated and that have no users left. One
  /// walk collects all symbol uses: one walk per body would make programs with many gradients slow
  /// to compile.
  void eraseBodies(SymbolTable &symbols) {
    if (bodies.empty())
      return;
    llvm::DenseMap<StringAttr, llvm::SmallPtrSet<Operation *, 2>> users;
    for (Operation &item : *getOperation().getBody())
      if (auto uses = SymbolTable::getSymbolUses(&item))
        for (const SymbolTable::SymbolUse &use : *uses)
          users[use.getSymbolRef().getRootReference()].insert(&item);
    llvm::SmallPtrSet<Operation *, 8> erased;
    for (Operation *body : bodies) {
      bool isUsed = llvm::any_of(users.lookup(SymbolTable::getSymbolName(body)),
                                 [&](Operation *user) { return !erased.contains(user); });
      if (isUsed)
        continue;
      erased.insert(body);
      symbols.erase(body);
    }
  }

  /// Derives the gradients in a function, after those in its callees.
  LogicalResult settle(FunctionOpInterface function, SymbolTable &symbols) {
    if (!function || function.isExternal() || !seen.insert(function.getOperation()).second)
      return success();
    SmallVector<StringAttr> called;
    SmallVector<ir::GradOp> grads;
    function->walk([&](Operation *op) {
      if (auto call = dyn_cast<ir::CallOp>(op))
        called.push_back(call.getCalleeAttr().getAttr());
      else if (auto closure = dyn_cast<ir::ClosureOp>(op))
        called.push_back(closure.getCalleeAttr().getAttr());
      else if (auto grad = dyn_cast<ir::GradOp>(op))
        grads.push_back(grad);
    });
    for (ir::GradOp grad : grads)
      called.push_back(grad.getCalleeAttr().getAttr());
    for (StringAttr name : called)
      if (failed(settle(symbols.lookup<FunctionOpInterface>(name), symbols)))
        return failure();
    for (ir::GradOp grad : grads)
      if (failed(derive(grad, symbols)))
        return failure();
    return success();
  }

  LogicalResult derive(ir::GradOp grad, SymbolTable &symbols) {
    auto body = symbols.lookup<FunctionOpInterface>(grad.getCallee());
    ArrayRef<int64_t> wrt = grad.getWrt();
    // Forward mode takes one tangent per argument and returns one.
    bool isForward = grad->hasAttr(ir::kForward);
    size_t more = isForward ? 1 : wrt.size(), tangents = isForward ? wrt.size() : 0;
    if (!body || body.isExternal() || body.getNumArguments() + tangents != grad.getArgs().size() ||
        body.getNumResults() + more != grad.getNumResults() || body.getNumResults() == 0 ||
        llvm::any_of(wrt, [&](int64_t i) {
          return i < 0 || i >= static_cast<int64_t>(body.getNumArguments());
        }))
      return grad.emitError() << grad.getCallee() << " does not fit the gradient that is asked for";
    bodies.insert(body.getOperation());
    Operation *copy = body->clone();
    SymbolTable::setSymbolName(copy, (grad.getCallee() + (isForward ? "$jvp" : "$grad")).str());
    symbols.insert(copy, std::next(body->getIterator()));
    auto derived = cast<FunctionOpInterface>(copy);
    seen.insert(copy);
    if (failed(inlineCalls(derived, symbols, limit, /*keepRules=*/!isForward)) ||
        failed(unrollWhereKnown(derived, kMaxUnrolled)))
      return failure();
    TypeRange wanted(grad.getResultTypes());
    Reverse pass(derived, symbols, limit, wrongRule);
    if (failed(isForward ? pass.runForward(wrt) : pass.run(wrt, wanted.take_back(wrt.size()))))
      return failure();
    OpBuilder b(grad);
    auto call = ir::CallOp::create(b, grad.getLoc(), grad.getResultTypes(),
                                   SymbolTable::getSymbolName(copy).getValue(), grad.getArgs(),
                                   grad.getSizes());
    grad.replaceAllUsesWith(call.getResults());
    grad.erase();
    return success();
  }
};

} // namespace
} // namespace mx::graph
