// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Amp: `@amp`, automatic mixed precision. Weights, sums and everything else stay f32; only
// the operands and results of matmuls and convolutions are rounded to 16 bits. Differentiate runs
// later, so the matmuls of the reverse pass use 16 bits too, and gradients of f32 weights are f32.
#include "Graph/Passes.h"
#include "dialects/mx/Marks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <map>

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_AMP
#include "Graph/Passes.h.inc"

namespace {

bool isWideMatmul(Operation *op) {
  return isa<ir::MatmulOp, ir::ConvOp>(op) &&
         cast<ir::TensorType>(op->getResult(0).getType()).getElement().isF32();
}

/// Replaces the function symbols that an op or function refers to. `mx.eager` is a string
/// attribute, because it names a function that runs instead, not a callee.
void eachName(Operation *op, llvm::function_ref<StringAttr(StringAttr)> replace) {
  for (NamedAttribute held : llvm::to_vector(op->getAttrs())) {
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(held.getValue()))
      op->setAttr(held.getName(), FlatSymbolRefAttr::get(replace(symbol.getAttr())));
    else if (held.getName() == ir::kEager)
      op->setAttr(held.getName(), replace(cast<StringAttr>(held.getValue())));
  }
}

class Narrower {
public:
  explicit Narrower(ModuleOp module) : symbols(module) { findMatmuls(module); }

  /// Narrows the matmuls of a function and of its callees to `element`.
  void narrow(FunctionOpInterface function, Type element) {
    llvm::DenseMap<Value, Value> narrowed;
    auto replace = [&](StringAttr name) { return narrowedFunction(name, element); };
    eachName(function, replace);
    function->walk([&](Operation *op) {
      if (op == function.getOperation())
        return;
      if (isWideMatmul(op))
        narrowMatmul(op, element, narrowed);
      else
        eachName(op, replace);
    });
  }

private:
  SymbolTable symbols;
  llvm::DenseSet<StringAttr> multiply; ///< functions that reach a matmul or convolution
  std::map<std::pair<void *, void *>, StringAttr> made;

  /// Finds the functions to narrow. Most functions have nothing to narrow and need no clone.
  void findMatmuls(ModuleOp module) {
    llvm::DenseMap<StringAttr, SmallVector<StringAttr>> callers;
    SmallVector<StringAttr> work;
    for (auto function : module.getOps<FunctionOpInterface>()) {
      StringAttr name = function.getNameAttr();
      bool multiplies = false;
      function->walk([&](Operation *op) {
        multiplies |= isWideMatmul(op);
        eachName(op, [&](StringAttr named) {
          callers[named].push_back(name);
          return named;
        });
      });
      if (multiplies)
        work.push_back(name);
    }
    while (!work.empty())
      if (StringAttr name = work.pop_back_val(); multiply.insert(name).second)
        llvm::append_range(work, callers.lookup(name));
  }

  /// The clone of a function with matmuls in `element`. A function with its own `@amp` stays as it
  /// is.
  StringAttr narrowedFunction(StringAttr name, Type element) {
    auto function = symbols.lookup<FunctionOpInterface>(name);
    if (!function || function.isExternal() || function->hasAttr(ir::kAmp) ||
        !multiply.contains(name))
      return name;
    StringAttr &copy = made[{const_cast<void *>(name.getAsOpaquePointer()),
                             const_cast<void *>(element.getAsOpaquePointer())}];
    if (copy)
      return copy;
    auto cloned = cast<FunctionOpInterface>(function->clone());
    std::string text;
    llvm::raw_string_ostream(text) << name.getValue() << "." << element;
    SymbolTable::setSymbolName(cloned, text);
    copy = symbols.insert(cloned, std::next(function->getIterator()));
    StringAttr out = copy; // the map grows below
    narrow(cloned, element);
    return out;
  }

  /// The value cast to 16 bits, right after its definition: one cast for all matmuls that read it.
  static Value cast16(Value value, Type element, Location at,
                      llvm::DenseMap<Value, Value> &narrowed) {
    Value &known = narrowed[value];
    if (known)
      return known;
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(value);
    auto type = cast<ir::TensorType>(value.getType());
    known = ir::CastOp::create(b, at, type.withElement(element), value);
    return known;
  }

  static void narrowMatmul(Operation *matmul, Type element,
                           llvm::DenseMap<Value, Value> &narrowed) {
    Value result = matmul->getResult(0);
    auto wide = cast<ir::TensorType>(result.getType());
    for (OpOperand &operand : matmul->getOpOperands())
      operand.set(cast16(operand.get(), element, matmul->getLoc(), narrowed));
    result.setType(wide.withElement(element));
    OpBuilder b(matmul->getContext());
    b.setInsertionPointAfter(matmul);
    Value back = ir::CastOp::create(b, matmul->getLoc(), wide, result);
    result.replaceAllUsesExcept(back, back.getDefiningOp());
  }
};

struct Amp : impl::AmpBase<Amp> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<FunctionOpInterface> marked;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (function->hasAttr(ir::kAmp) && !function.isExternal())
        marked.push_back(function);
    if (marked.empty())
      return;
    Narrower narrower(getOperation());
    for (FunctionOpInterface function : marked) {
      Type element = function->getAttrOfType<TypeAttr>(ir::kAmp).getValue();
      if (element.isF16() || element.isBF16())
        narrower.narrow(function, element);
    }
    for (FunctionOpInterface function : marked)
      function->removeAttr(ir::kAmp);
  }
};

} // namespace
} // namespace mx::graph
