// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Amp: `@amp`, mixed precision. Weights, sums and all else stay f32; only what a product reads is
// rounded to 16 bits, and what it gives. Differentiate comes later, so the products of a reverse
// pass are of 16 bits too, and gradients of f32 weights are f32.
#include "Graph/Passes.h"
#include "dialects/mx/Marks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <map>

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_AMP
#include "Graph/Passes.h.inc"

namespace {

bool isWideProduct(Operation *op) {
  auto product = dyn_cast<ir::MatmulOp>(op);
  return product && product.getType().getElement().isF32();
}

/// The names of functions that an op or function holds, and how to replace them. `mx.eager` is a
/// text, since it names what runs instead, not what is called.
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
  explicit Narrower(ModuleOp module) : symbols(module) { findProducts(module); }

  /// Products of a function become those of `element`, and so do those of what it calls.
  void narrow(FunctionOpInterface function, Type element) {
    llvm::DenseMap<Value, Value> narrowed;
    auto replace = [&](StringAttr name) { return narrowedFunction(name, element); };
    eachName(function, replace);
    function->walk([&](Operation *op) {
      if (op == function.getOperation())
        return;
      if (isWideProduct(op))
        narrowProduct(cast<ir::MatmulOp>(op), element, narrowed);
      else
        eachName(op, replace);
    });
  }

private:
  SymbolTable symbols;
  llvm::DenseSet<StringAttr> multiply; ///< functions that reach a product
  std::map<std::pair<void *, void *>, StringAttr> made;

  /// Most functions have nothing to narrow, and need no copy.
  void findProducts(ModuleOp module) {
    llvm::DenseMap<StringAttr, SmallVector<StringAttr>> callers;
    SmallVector<StringAttr> work;
    for (auto function : module.getOps<FunctionOpInterface>()) {
      StringAttr name = function.getNameAttr();
      bool multiplies = false;
      function->walk([&](Operation *op) {
        multiplies |= isWideProduct(op);
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

  /// The copy of a function for products of `element`. One that says itself how it computes stays.
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

  /// The value in 16 bits, right after the value itself: once, however many products read it.
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

  static void narrowProduct(ir::MatmulOp product, Type element,
                            llvm::DenseMap<Value, Value> &narrowed) {
    Location at = product.getLoc();
    ir::TensorType wide = product.getType();
    Value x = cast16(product.getX(), element, at, narrowed);
    Value y = cast16(product.getY(), element, at, narrowed);
    OpBuilder b(product);
    Value made = ir::MatmulOp::create(b, at, wide.withElement(element), x, y);
    Value back = ir::CastOp::create(b, at, wide, made);
    product.replaceAllUsesWith(back);
    product.erase();
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
