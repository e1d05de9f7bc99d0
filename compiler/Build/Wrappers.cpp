// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM IR of the C entry points: thin wrappers around the runtime.
#include "Build/Wrappers.h"
#include "llvm/IR/IRBuilder.h"

namespace mx::build {
namespace {

llvm::Type *numberType(ElementType element, llvm::LLVMContext &context) {
  switch (element) {
  case ElementType::F32:
    return llvm::Type::getFloatTy(context);
  case ElementType::F64:
    return llvm::Type::getDoubleTy(context);
  default:
    return llvm::IntegerType::get(context, static_cast<unsigned>(elementInfo(element).bytes) * 8);
  }
}

llvm::Function *define(llvm::Module &module, const std::string &name, llvm::Type *result,
                       llvm::ArrayRef<llvm::Type *> parameters) {
  auto *made = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                      llvm::GlobalValue::ExternalLinkage, name, module);
  llvm::BasicBlock::Create(module.getContext(), "", made);
  return made;
}

/// `name(…)`, which calls the runtime's `callee(first, …)`.
void addForward(llvm::Module &module, const std::string &name, const char *callee,
                llvm::Constant *first, llvm::Type *result,
                llvm::ArrayRef<llvm::Type *> parameters) {
  llvm::Function *made = define(module, name, result, parameters);
  llvm::IRBuilder<> b(&made->getEntryBlock());
  llvm::SmallVector<llvm::Type *> types;
  llvm::SmallVector<llvm::Value *> values;
  if (first) {
    types.push_back(first->getType());
    values.push_back(first);
  }
  for (llvm::Argument &argument : made->args()) {
    types.push_back(argument.getType());
    values.push_back(&argument);
  }
  llvm::FunctionCallee target =
      module.getOrInsertFunction(callee, llvm::FunctionType::get(result, types, false));
  llvm::CallInst *call = b.CreateCall(target, values);
  if (result->isVoidTy())
    b.CreateRetVoid();
  else
    b.CreateRet(call);
}

} // namespace

void addValueFunctions(const Interface &interface, llvm::ArrayRef<llvm::Constant *> types,
                       llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *status = llvm::Type::getInt32Ty(context), *nothing = llvm::Type::getVoidTy(context);
  llvm::Type *size = llvm::Type::getInt64Ty(context);
  for (size_t i = 0; i < interface.types.size(); ++i) {
    const ValueType &type = interface.types[i];
    if (type.embedded)
      continue;
    std::string name = interface.prefix + "_" + type.name;
    // The runtime takes the table first, but the C function takes the result first; so these two
    // are not plain forwards.
    auto loader = [&](const char *suffix, const char *callee, bool fromMemory) {
      llvm::SmallVector<llvm::Type *> parameters = {pointer, pointer};
      if (fromMemory)
        parameters.push_back(size);
      llvm::Function *made = define(module, name + suffix, status, parameters);
      llvm::IRBuilder<> b(&made->getEntryBlock());
      llvm::SmallVector<llvm::Type *> want = {pointer, pointer};
      llvm::SmallVector<llvm::Value *> values = {types[i], made->getArg(1)};
      if (fromMemory) {
        want.push_back(size);
        values.push_back(made->getArg(2));
      }
      want.push_back(pointer);
      values.push_back(made->getArg(0));
      b.CreateRet(b.CreateCall(
          module.getOrInsertFunction(callee, llvm::FunctionType::get(status, want, false)),
          values));
    };
    loader("_load", "mxrt_aot_load", false);
    loader("_load_memory", "mxrt_aot_load_memory", true);
    addForward(module, name + "_new", "mxrt_aot_new", types[i], status, {pointer});
    addForward(module, name + "_data", "mxrt_aot_data", nullptr, pointer,
               {pointer, pointer, pointer});
    addForward(module, name + "_free", "mxrt_aot_free", nullptr, nothing, {pointer});
  }
  addForward(module, interface.prefix + "_error", "mxrt_aot_error", nullptr, pointer, {});
}

void addGraphFunction(const Interface &interface, const Function &function, llvm::Constant *graph,
                      llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *word = llvm::Type::getInt64Ty(context), *status = llvm::Type::getInt32Ty(context);
  auto isByValue = [&](const Parameter &p) {
    return p.kind == Parameter::Argument && function.arguments[p.index].kind == Argument::Number &&
           !function.arguments[p.index].isMut;
  };
  llvm::SmallVector<llvm::Type *> types;
  size_t addresses = 0;
  for (const Parameter &p : function.parameters) {
    types.push_back(p.kind == Parameter::Size ? word
                    : isByValue(p) ? numberType(function.arguments[p.index].element, context)
                                   : pointer);
    addresses += p.kind == Parameter::Argument || p.kind == Parameter::Result;
  }
  llvm::Function *made = define(module, interface.prefix + "_" + function.name, status, types);
  llvm::IRBuilder<> b(&made->getEntryBlock());
  auto *arguments = b.CreateAlloca(llvm::ArrayType::get(pointer, std::max<size_t>(addresses, 1)));
  auto *sizes =
      b.CreateAlloca(llvm::ArrayType::get(word, std::max<size_t>(function.sizes.size(), 1)));
  llvm::Value *workspace = nullptr;
  unsigned next = 0;
  for (auto [i, p] : llvm::enumerate(function.parameters)) {
    llvm::Value *value = made->getArg(static_cast<unsigned>(i));
    if (p.kind == Parameter::Workspace) {
      workspace = value;
    } else if (p.kind == Parameter::Size) {
      b.CreateStore(value, b.CreateConstInBoundsGEP1_64(word, sizes, p.index));
    } else {
      if (isByValue(p)) {
        auto *room = b.CreateAlloca(value->getType());
        b.CreateStore(value, room);
        value = room;
      }
      b.CreateStore(value, b.CreateConstInBoundsGEP1_64(pointer, arguments, next++));
    }
  }
  llvm::FunctionCallee run = module.getOrInsertFunction(
      "mxrt_aot_run", llvm::FunctionType::get(status, {pointer, pointer, pointer, pointer}, false));
  b.CreateRet(b.CreateCall(run, {graph, arguments, sizes, workspace}));
}

} // namespace mx::build
