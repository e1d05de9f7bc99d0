// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slow paths for rare arguments as functions with vector variants.
#include "Lowering/kernels/RareCases.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace mx::lowering {
namespace {

constexpr llvm::StringLiteral kVariants = "vector-function-abi-variant", kPrefix = "mx.rare.";

/// A function of the module with internal linkage, without a body yet.
LLVM::LLVMFuncOp declare(KernelEmitter &e, StringRef name, Type type, size_t arguments) {
  OpBuilder b = OpBuilder::atBlockEnd(e.module.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      b, e.module.getLoc(), name,
      LLVM::LLVMFunctionType::get(type, SmallVector<Type>(arguments, type)),
      LLVM::Linkage::Internal);
  auto none = LLVM::ModRefInfo::NoModRef;
  function.setMemoryEffectsAttr(
      LLVM::MemoryEffectsAttr::get(b.getContext(), none, none, none, none, none, none));
  function.setNoUnwind(true);
  function.setWillReturn(true);
  return function;
}

/// Calls `body` with the builder in the function, which returns the value of `body`.
void define(KernelEmitter &e, LLVM::LLVMFuncOp function,
            llvm::function_ref<Value(ArrayRef<Value>)> body) {
  OpBuilder::InsertionGuard guard(e.b);
  Block *entry = function.addEntryBlock(e.b);
  e.b.setInsertionPointToStart(entry);
  SmallVector<Value> arguments(entry->getArguments());
  Value result = body(arguments);
  LLVM::ReturnOp::create(e.b, result);
}

Value callOf(KernelEmitter &e, LLVM::LLVMFuncOp function, ArrayRef<Value> x) {
  return LLVM::CallOp::create(e.b, function, x).getResult();
}

/// `then` if the condition holds, which is unlikely.
Value seldom(KernelEmitter &e, Value condition, Value otherwise, llvm::function_ref<Value()> then) {
  auto choice = scf::IfOp::create(
      e.b, condition, [&](OpBuilder &, Location) { scf::YieldOp::create(e.b, then()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(e.b, otherwise); });
  return choice.getResult(0);
}

using Compute = llvm::function_ref<Value(Real &, ArrayRef<Value>)>;

/// The functions of one kind of rare arguments.
struct Maker {
  KernelEmitter &e;
  const std::string &name;
  Type element;
  size_t arguments;
  Compute isRare, slow;
  Rarely how;

  LLVM::LLVMFuncOp slowOf(Type type, const std::string &symbol) {
    auto function = declare(e, symbol, type, arguments);
    function.setNoInline(true);
    define(e, function, [&](ArrayRef<Value> x) {
      Real r(e.b, type);
      return slow(r, x);
    });
    return function;
  }

  /// Replaces the rare lanes of `usual` one by one.
  Value eachLane(LLVM::LLVMFuncOp slowly, int64_t lanes, Value usual, Value isRareLane,
                 ArrayRef<Value> of) {
    auto word = [&](int64_t n) -> Value {
      return arith::ConstantOp::create(e.b, e.b.getI64IntegerAttr(n));
    };
    auto body = [&](OpBuilder &, Location, Value i, ValueRange before) {
      auto at = [&](Value v) -> Value { return LLVM::ExtractElementOp::create(e.b, v, i); };
      SmallVector<Value> one;
      for (Value v : of)
        one.push_back(at(v));
      Value value =
          seldom(e, at(isRareLane), at(before[0]), [&] { return callOf(e, slowly, one); });
      Value after = LLVM::InsertElementOp::create(e.b, before[0], value, i);
      scf::YieldOp::create(e.b, after);
    };
    return scf::ForOp::create(e.b, word(0), word(lanes), word(1), usual, body).getResult(0);
  }

  LLVM::LLVMFuncOp make() {
    auto slowly = slowOf(element, name + ".slow");
    auto scalar = declare(e, name, element, arguments + 1);
    scalar.setAlwaysInline(true);
    define(e, scalar, [&](ArrayRef<Value> x) {
      Real r(e.b, element);
      ArrayRef<Value> of = x.drop_front();
      return seldom(e, isRare(r, of), x[0], [&] { return callOf(e, slowly, of); });
    });
    std::string variants;
    for (unsigned bits : {64, 32, 16}) { // of the elements that loops are over
      int64_t lanes = e.target.vectorBits / bits;
      std::string variant = name + ".v" + std::to_string(lanes);
      auto type = VectorType::get({lanes}, element);
      LLVM::LLVMFuncOp together;
      if (how == Rarely::Vectors)
        together = slowOf(type, variant + ".slow");
      auto vectors = declare(e, variant, type, arguments + 1);
      vectors.setAlwaysInline(true);
      define(e, vectors, [&](ArrayRef<Value> x) {
        Real r(e.b, type);
        ArrayRef<Value> of = x.drop_front();
        Value lane = isRare(r, of);
        Value any = LLVM::vector_reduce_or::create(e.b, e.b.getI1Type(), lane);
        return seldom(e, any, x[0], [&] {
          return together ? r.choose(lane, callOf(e, together, of), x[0])
                          : eachLane(slowly, lanes, x[0], lane, of);
        });
      });
      variants += (variants.empty() ? "" : ",") + ("_ZGV_LLVM_N" + std::to_string(lanes)) +
                  std::string(arguments + 1, 'v') + "_" + name + "(" + variant + ")";
    }
    scalar.setPassthroughAttr(e.b.getArrayAttr(e.b.getStrArrayAttr({kVariants, variants})));
    return scalar;
  }
};

} // namespace

Value unlessRare(KernelEmitter &e, StringRef name, Value usual, ArrayRef<Value> arguments,
                 Compute isRare, Compute slow, Rarely how) {
  SmallVector<Value> all{usual};
  all.append(arguments.begin(), arguments.end());
  // Kernels are linked into one module, where a name used in an attribute must not change.
  std::string own =
      (llvm::Twine(kPrefix) + name + "." + llvm::utohexstr(llvm::xxh3_64bits(e.function.getName())))
          .str();
  auto scalar = e.module.lookupSymbol<LLVM::LLVMFuncOp>(own);
  if (!scalar)
    scalar = Maker{e, own, usual.getType(), arguments.size(), isRare, slow, how}.make();
  return callOf(e, scalar, all);
}

bool isRareCall(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  return call && call.getCallee() && call.getCallee()->starts_with(kPrefix);
}

} // namespace mx::lowering
