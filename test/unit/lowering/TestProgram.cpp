// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestProgram.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;

namespace mx::test {

/// The graph's text as a program, its kernels by the names they are given in the test.
static rt::ProgramOp lowerText(ModuleOp module, std::map<std::string, std::string> &kernelNames) {
  auto graphs = module.getOps<ir::GraphOp>();
  if (graphs.empty() || failed(lowering::lowerToMxrt(*graphs.begin(), module)))
    return {};
  (*graphs.begin()).erase();
  if (failed(verify(module)))
    return {};
  for (auto kernel : module.getOps<rt::KernelOp>())
    if (auto name = kernel.kernel()->getAttrOfType<StringAttr>("test"))
      kernelNames[kernel.getSymName().str()] = name.str();
  return *module.getOps<rt::ProgramOp>().begin();
}

std::unique_ptr<TestProgram> TestProgram::make(const std::string &text,
                                               const std::map<std::string, Kernel> &kernels) {
  using namespace llvm::orc;
  DialectRegistry registry;
  registry.insert<ir::MxDialect, rt::MxrtDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config, "graph.mx");
  std::map<std::string, std::string> kernelNames;
  auto made = std::make_unique<TestProgram>();
  rt::ProgramOp program = module ? lowerText(*module, kernelNames) : rt::ProgramOp();
  OwningOpRef<ModuleOp> code = program ? lowering::lowerProgram(program, made->info) : nullptr;
  if (!code || failed(verify(*code))) {
    ADD_FAILURE() << "the graph was not lowered";
    return nullptr;
  }
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*code, *llvmContext);

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = LLJITBuilder().create();
  if (!llvmModule || !jit) {
    ADD_FAILURE() << "there is no code: " << llvm::toString(jit.takeError());
    return nullptr;
  }
  made->jit = std::move(*jit);
  SymbolMap symbols;
  auto define = [&](llvm::StringRef name, void *address) {
    symbols[made->jit->mangleAndIntern(name)] = {ExecutorAddr::fromPtr(address),
                                                 llvm::JITSymbolFlags::Exported};
  };
  for (const std::string &name : made->info.kernels)
    define(name, reinterpret_cast<void *>(kernels.at(kernelNames.at(name))));
  define("mxrt_poll", reinterpret_cast<void *>(&mxrt_poll));
  define("mxrt_status_text", reinterpret_cast<void *>(&mxrt_status_text));
  define("memcpy", reinterpret_cast<void *>(&memcpy));
  define("floor", reinterpret_cast<void *>(static_cast<double (*)(double)>(&std::floor)));
  define("fmod", reinterpret_cast<void *>(static_cast<double (*)(double, double)>(&std::fmod)));
  llvm::cantFail(made->jit->getMainJITDylib().define(absoluteSymbols(symbols)));
  llvm::cantFail(made->jit->addIRModule({std::move(llvmModule), std::move(llvmContext)}));
  auto entry = made->jit->lookup(made->info.entry);
  if (!entry) {
    ADD_FAILURE() << llvm::toString(entry.takeError());
    return nullptr;
  }
  made->function = entry->toPtr<Function>();
  mxrt_context_init(&made->context);
  return made;
}

mxrt_status TestProgram::operator()(std::vector<void *> buffers, std::vector<int64_t> sizes) {
  EXPECT_EQ(buffers.size(), info.inputs.size() + info.outputs.size());
  EXPECT_EQ(sizes.size(), info.sizes.size());
  std::vector<void *> arenas;
  for (auto &[device, bytes] : info.arenas) {
    arenas.push_back(std::aligned_alloc(64, std::max<int64_t>(bytes, 64)));
    std::memset(arenas.back(), 0xee, bytes);
  }
  mxrt_status status = function(&context, buffers.data(), sizes.data(), arenas.data());
  for (void *arena : arenas)
    std::free(arena);
  return status;
}

} // namespace mx::test
