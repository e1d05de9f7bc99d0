// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// InlineCalls: inliner. A graph is compiled as a whole, so all its calls are inlined. The same
// holds for code that is differentiated.
#include "Graph/InlineCalls.h"
#include "Graph/Passes.h"
#include "Graph/Sizes.h"
#include "dialects/mx/Exchange.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include <deque>

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_INLINECALLS
#include "Graph/Passes.h.inc"

namespace {

/// Whether the value of a read is only a condition: a graph branches on the device, without
/// waiting.
bool onlyDecides(ir::ReadOp read) {
  return llvm::all_of(read->getUsers(), [](Operation *user) {
    return isa<ir::IfOp, ir::AssertOp>(user) ||
           (isa<ir::YieldOp>(user) && isa<ir::WhileOp>(user->getParentOp()) &&
            user->getParentRegion()->getRegionNumber() == 0);
  });
}
bool needsHost(Operation *op) {
  return isa<ir::TryOp, ir::ErrorPartOp, ir::CellOp, ir::LoadOp, ir::StoreOp, ir::GlobalLoadOp,
             ir::GlobalStoreOp, ir::NativeOp>(op);
}

class Inliner {
public:
  Inliner(FunctionOpInterface into, SymbolTable &symbols, int64_t limit, bool keepRules = false)
      : into(into), isGraph(isa<ir::GraphOp>(*into)), symbols(symbols), names(into), limit(limit),
        keepRules(keepRules) {}

  LogicalResult run() {
    frames.push_back({into, nullptr});
    SmallVector<Operation *> whole;
    for (Operation &op : into.getFunctionBody().front())
      whole.push_back(&op);
    collect(whole, &frames.back());
    while (!work.empty()) {
      auto [call, frame] = work.pop_back_val();
      if (failed(expand(call, frame)))
        return failure();
    }
    // Closures without uses left are erased.
    into->walk([](ir::ClosureOp closure) {
      if (closure.use_empty())
        closure.erase();
    });
    if (!isGraph)
      into->walk(readConditions);
    return success();
  }

private:
  /// A function whose body is being inlined, and its caller (to detect recursion).
  struct Frame {
    Operation *function;
    const Frame *caller;
  };
  struct Call {
    FlatSymbolRefAttr name;
    SmallVector<Value> arguments;
    ArrayAttr sizes;
  };

  FunctionOpInterface into;
  bool isGraph;
  SymbolTable &symbols;
  NamesInUse names;
  int64_t limit, size = 0;
  bool keepRules;
  std::deque<Frame> frames;                                ///< stable addresses
  SmallVector<std::pair<Operation *, const Frame *>> work; ///< a stack of pending calls

  void collect(ArrayRef<Operation *> ops, const Frame *frame) {
    size_t before = work.size();
    for (Operation *op : ops)
      op->walk([&](Operation *inner) {
        ++size;
        bool stays = !isGraph && inner->hasAttr(ir::kExchanges);
        if (isa<ir::CallOp, ir::CallValueOp>(inner) && !stays)
          work.push_back({inner, frame});
      });
    // In program order: a closure must be known before it is called.
    std::reverse(work.begin() + before, work.end());
  }

  FailureOr<Call> read(Operation *op) {
    if (auto call = dyn_cast<ir::CallOp>(op))
      return Call{call.getCalleeAttr(), call.getArgs(), call.getSizes()};
    auto call = cast<ir::CallValueOp>(op);
    auto closure = call.getCallee().getDefiningOp<ir::ClosureOp>();
    if (!closure)
      return op->emitError() << "which function is called here is not known in the " << whole();
    SmallVector<Value> arguments(closure.getCaptured());
    llvm::append_range(arguments, call.getArgs());
    return Call{closure.getCalleeAttr(), arguments, closure.getSizes()};
  }

  FailureOr<FunctionOpInterface> find(Operation *op, const Call &call, const Frame *frame) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(symbols.lookup(call.name.getAttr()));
    if (!callee || callee.isExternal())
      return op->emitError() << call.name << " has no body that the " << whole()
                             << " could contain";
    for (const Frame *f = frame; f; f = f->caller)
      if (f->function == callee)
        return op->emitError() << call.name << " calls itself, which a " << whole()
                               << " cannot contain";
    if (call.sizes.size() != sizesOf(callee).size() ||
        call.arguments.size() != callee.getNumArguments())
      return op->emitError() << "does not give " << call.name << " the sizes or values it takes";
    Operation *host = nullptr;
    callee->walk([&](Operation *inner) {
      host = needsHost(inner) ? inner : host;
      return host ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!host || !isGraph)
      return callee;
    InFlightDiagnostic error = op->emitError()
                               << call.name << " cannot be part of a graph: it contains `"
                               << host->getName() << "`, which only the host does";
    error.attachNote(host->getLoc()) << "it is here";
    return error;
  }

  /// Casts the value to `type`. Sizes that were assumed to be equal may be written in two ways.
  static FailureOr<Value> asType(OpBuilder &b, Operation *call, Value value, Type type) {
    if (value.getType() == type)
      return value;
    if (!isa<ir::TensorType>(type) || !isa<ir::TensorType>(value.getType()))
      return call->emitError() << "a " << value.getType() << " where " << type << " is expected";
    return ir::ReshapeOp::create(b, call->getLoc(), type, value).getResult();
  }

  LogicalResult expand(Operation *op, const Frame *frame) {
    FailureOr<Call> call = read(op);
    if (failed(call))
      return failure();
    FailureOr<FunctionOpInterface> callee = find(op, *call, frame);
    if (failed(callee))
      return failure();
    bool hasRule = (*callee)->hasAttr(ir::kVjp) || (*callee)->hasAttr(ir::kRemat);
    if (keepRules && isa<ir::CallOp>(op) && hasRule && !op->hasAttr(ir::kRecomputed))
      return success();
    SizeMap by;
    for (auto [name, value] : llvm::zip_equal(sizesOf(*callee), call->sizes))
      by[cast<StringAttr>(name)] = cast<ir::SizeAttr>(value);
    Block &body = callee->getFunctionBody().front();
    names.take({callee->getOperation()}, by);

    OpBuilder b(op);
    IRMapping mapping;
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](ir::SizeAttr size) -> std::optional<Attribute> {
      ir::SizeAttr replaced = size.substitute(by);
      return replaced ? replaced : size; // replaceSizes reports the invalid size
    });
    for (auto [parameter, argument] : llvm::zip_equal(body.getArguments(), call->arguments)) {
      FailureOr<Value> value = asType(b, op, argument, replacer.replace(parameter.getType()));
      if (failed(value))
        return failure();
      mapping.map(parameter, *value);
    }
    SmallVector<Operation *> copies;
    for (Operation &inner : body.without_terminator())
      copies.push_back(b.clone(inner, mapping));
    if (failed(replaceSizes(copies, by)))
      return failure();
    for (Operation *copy : copies)
      copy->walk([&](Operation *inner) { locate(inner, op->getLoc()); });

    SmallVector<Value> results;
    for (auto [value, result] :
         llvm::zip_equal(body.getTerminator()->getOperands(), op->getResults())) {
      FailureOr<Value> typed = asType(b, op, mapping.lookup(value), result.getType());
      if (failed(typed))
        return failure();
      results.push_back(*typed);
    }
    frames.push_back({callee->getOperation(), frame});
    collect(copies, &frames.back());
    if (size > limit)
      return op->emitError() << "the " << whole() << " grows beyond " << limit << " ops here";
    op->replaceAllUsesWith(results);
    op->erase();
    if (!isGraph)
      return success();
    for (Operation *copy : copies)
      if (auto read = dyn_cast<ir::ReadOp>(copy))
        dropRead(read);
      else
        copy->walk(dropRead);
    return success();
  }

  const char *whole() const { return isGraph ? "graph" : "gradient"; }

  /// Makes the host wait for conditions. The body of a graph branches on the device instead.
  static void readConditions(Operation *op) {
    bool decides = isa<ir::IfOp, ir::AssertOp>(op) ||
                   (isa<ir::YieldOp>(op) && isa<ir::WhileOp>(op->getParentOp()) &&
                    op->getParentRegion()->getRegionNumber() == 0);
    auto type = decides ? dyn_cast<ir::TensorType>(op->getOperand(0).getType()) : ir::TensorType();
    if (!type || type.isHost())
      return;
    OpBuilder b(op);
    op->setOperand(0, ir::ReadOp::create(b, op->getLoc(), ir::TensorType::host(type.getElement()),
                                         op->getOperand(0)));
  }
  static void dropRead(ir::ReadOp read) {
    if (!onlyDecides(read))
      return;
    read.replaceAllUsesWith(read.getX());
    read.erase();
  }
  static void locate(Operation *op, Location caller) {
    op->setLoc(CallSiteLoc::get(op->getLoc(), caller));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(CallSiteLoc::get(argument.getLoc(), caller));
  }
};

struct InlineCalls : impl::InlineCallsBase<InlineCalls> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto graph : getOperation().getOps<ir::GraphOp>())
      if (!graph.isExternal() && failed(Inliner(graph, symbols, limit).run()))
        return signalPassFailure();
  }
};

} // namespace

LogicalResult inlineCalls(FunctionOpInterface into, SymbolTable &symbols, int64_t limit,
                          bool keepRules) {
  return Inliner(into, symbols, limit, keepRules).run();
}

} // namespace mx::graph
