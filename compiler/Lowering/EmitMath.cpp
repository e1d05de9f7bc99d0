// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the C library by name. They are pure here: nobody reads errno.
#include "Lowering/EmitMath.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// A call of `name` for f64, `namef` for f32.
Value callLibrary(KernelEmitter &e, StringRef name, ArrayRef<Value> x) {
  Type type = x[0].getType();
  std::string symbol = name.str() + (type.isF32() ? "f" : "");
  auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!function) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(e.module.getBody());
    function = LLVM::LLVMFuncOp::create(
        e.b, symbol, LLVM::LLVMFunctionType::get(type, SmallVector<Type>(x.size(), type)));
    auto none = LLVM::ModRefInfo::NoModRef;
    function.setMemoryEffectsAttr(
        LLVM::MemoryEffectsAttr::get(e.b.getContext(), none, none, none, none, none, none));
    function.setNoUnwind(true);
    function.setWillReturn(true);
  }
  return LLVM::CallOp::create(e.b, function, x).getResult();
}

} // namespace

Value emitMath(KernelEmitter &e, Operation *op, ArrayRef<Value> x) {
  auto name = llvm::TypeSwitch<Operation *, StringRef>(op)
                  .Case([](ExpOp) { return "exp"; })
                  .Case([](LogOp) { return "log"; })
                  .Case([](Log1pOp) { return "log1p"; })
                  .Case([](Expm1Op) { return "expm1"; })
                  .Case([](SinOp) { return "sin"; })
                  .Case([](CosOp) { return "cos"; })
                  .Case([](TanOp) { return "tan"; })
                  .Case([](TanhOp) { return "tanh"; })
                  .Case([](ErfOp) { return "erf"; })
                  .Case([](Atan2Op) { return "atan2"; })
                  .Case([](PowOp) { return "pow"; })
                  .Default(StringRef());
  return name.empty() ? Value() : callLibrary(e, name, x);
}

} // namespace mx::lowering
