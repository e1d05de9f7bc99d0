// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations of runtime functions from abi.def.
#include "Lowering/RuntimeFunctions.h"
#include "mlir/IR/Builders.h"
#include <vector>

using namespace mlir;

namespace mx::lowering {
namespace {

/// The type names of abi.def.
enum AbiType : uint8_t { VOID, I32, U32, I64, U64, F32, F64, PTR, STATUS };

struct AbiRow {
  llvm::StringLiteral name;
  AbiType result;
  std::vector<AbiType> parameters;
};

const std::vector<AbiRow> &abiTable() {
  static const std::vector<AbiRow> table = {
#define MXRT_PARAMETERS(...)                                                                       \
  { __VA_ARGS__ }
#define MXRT_FUNCTION(library, name, result, parameters)                                           \
  {#name, result, MXRT_PARAMETERS parameters},
#include "mxrt/abi.def"
#undef MXRT_PARAMETERS
  };
  return table;
}

Type toLlvm(MLIRContext *context, AbiType type) {
  switch (type) {
  case VOID:
    return LLVM::LLVMVoidType::get(context);
  case I32:
  case U32:
    return IntegerType::get(context, 32);
  case I64:
  case U64:
    return IntegerType::get(context, 64);
  case F32:
    return Float32Type::get(context);
  case F64:
    return Float64Type::get(context);
  case PTR:
  case STATUS:
    return LLVM::LLVMPointerType::get(context);
  }
  return {};
}

} // namespace

LLVM::LLVMFunctionType runtimeFunctionType(MLIRContext *context, StringRef name) {
  for (const AbiRow &row : abiTable()) {
    if (row.name != name)
      continue;
    SmallVector<Type> parameters;
    for (AbiType type : row.parameters)
      parameters.push_back(toLlvm(context, type));
    return LLVM::LLVMFunctionType::get(toLlvm(context, row.result), parameters);
  }
  return {};
}

LLVM::LLVMFuncOp RuntimeFunctions::get(StringRef name) {
  LLVM::LLVMFuncOp &function = declared[name];
  if (function)
    return function;
  // Another lowering may have declared it in this module already.
  function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    function = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                                        runtimeFunctionType(module.getContext(), name));
  }
  return function;
}

LLVM::LLVMFuncOp mathFunction(ModuleOp module, StringRef name, Type type, size_t arguments) {
  std::string symbol = name.str() + (type.isF32() ? "f" : "");
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol))
    return known;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      b, module.getLoc(), symbol,
      LLVM::LLVMFunctionType::get(type, SmallVector<Type>(arguments, type)));
  auto none = LLVM::ModRefInfo::NoModRef;
  function.setMemoryEffectsAttr(
      LLVM::MemoryEffectsAttr::get(b.getContext(), none, none, none, none, none, none));
  function.setNoUnwind(true);
  function.setWillReturn(true);
  // LLVM folds some arguments in other ways, which round differently: the result of an op would
  // then depend on whether its operands are constants.
  function.setPassthroughAttr(b.getStrArrayAttr({"nobuiltin"}));
  return function;
}

} // namespace mx::lowering
