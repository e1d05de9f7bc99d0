// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translation to LLVM IR, LLVM passes and code generation of one module.
#include "Target/Compile.h"
#include "Target/CodeWriter.h"
#include "Target/CompileSteps.h"
#include "Target/DebugScopes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <chrono>

namespace mx::target {

namespace {

class Stopwatch {
public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// Collects LLVM's diagnostics. Without a handler that returns "handled", LLVM prints errors and
/// then calls exit.
class Collector : public llvm::DiagnosticHandler {
public:
  explicit Collector(std::string &errors) : errors(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      if (!errors.empty())
        errors += "; ";
      llvm::raw_string_ostream stream(errors);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

private:
  std::string &errors;
};

/// Compiles one module from LLVM IR to bytes.
class Generator {
public:
  Generator(llvm::Module &module, CodeWriter &writer, const TargetCpu &cpu,
            const CompileOptions &options)
      : module(module), writer(writer), machine(writer.machine()), cpu(cpu), options(options) {
    previous = module.getContext().getDiagnosticHandler();
    module.getContext().setDiagnosticHandler(std::make_unique<Collector>(errors));
  }
  /// The handler refers to this object, and a context passed in by the caller outlives it.
  ~Generator() { module.getContext().setDiagnosticHandler(std::move(previous)); }

  Result<Compiled> run() {
    if (std::optional<Fault> fault = prepare())
      return *fault;
    if (options.wantIrBefore)
      compiled.irBefore = text();
    Stopwatch watch;
    if (std::optional<Fault> fault = optimize())
      return *fault;
    compiled.times.optimizeMs = watch.ms();
    if (options.isStopped && options.isStopped())
      return fault("compiling", "somebody stopped it");
    if (options.wantIrAfter)
      compiled.irAfter = text();
    if (std::optional<Fault> fault = emit())
      return *fault;
    return std::move(compiled);
  }

private:
  llvm::Module &module;
  CodeWriter &writer;
  llvm::TargetMachine &machine;
  const TargetCpu &cpu;
  const CompileOptions &options;
  std::unique_ptr<llvm::DiagnosticHandler> previous;
  std::string errors;
  Compiled compiled;

  Fault fault(std::string_view doing, const std::string &what) const {
    return Fault{std::string(doing) + " '" + options.name + "': " + what};
  }
  std::optional<Fault> reported(std::string_view doing) const {
    if (errors.empty())
      return std::nullopt;
    return fault(doing, errors);
  }

  std::string text() const {
    std::string result;
    llvm::raw_string_ostream(result) << module;
    return result;
  }

  /// Sets the target of the code, and rejects what would make LLVM abort later.
  std::optional<Fault> prepare() {
    const llvm::Triple &triple = machine.getTargetTriple();
    if (!module.getTargetTriple().empty() && module.getTargetTriple().getArch() != triple.getArch())
      return fault("compiling",
                   "it is for " + module.getTargetTriple().str() + ", not for " + triple.str());
    module.setTargetTriple(triple);
    module.setDataLayout(machine.createDataLayout());
    markForCpu(module, cpu);
    // Failures are status values. So no unwind tables are needed, which would have to be registered
    // for each object in a list that every throw of the process walks.
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        function.setDoesNotThrow();
    std::string broken;
    llvm::raw_string_ostream stream(broken);
    if (llvm::verifyModule(module, &stream))
      return fault("compiling", "the LLVM IR is not valid: " + broken);
    return reported("compiling");
  }

  std::optional<Fault> optimize() {
    if (options.pipeline.empty())
      return std::nullopt;
    // The order of these matters: later ones are destroyed first and refer to earlier ones.
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassInstrumentationCallbacks callbacks;
    if (options.isStopped)
      callbacks.registerShouldRunOptionalPassCallback(
          [this](llvm::StringRef, llvm::Any) { return !options.isStopped(); });
    llvm::PassBuilder builder(&machine, {}, std::nullopt,
                              options.isStopped ? &callbacks : nullptr);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    llvm::ModulePassManager passes;
    if (llvm::Error error = builder.parsePassPipeline(passes, options.pipeline))
      return fault("optimizing", llvm::toString(std::move(error)));
    passes.run(module, modules);
    return reported("optimizing");
  }

  std::optional<Fault> emit() {
    Stopwatch watch;
    // Code generation changes the module, so a second run needs a copy.
    if (options.wantAssembly) {
      std::unique_ptr<llvm::Module> copy;
      if (options.wantObject)
        copy = llvm::CloneModule(module);
      if (auto fault =
              write(copy ? *copy : module, llvm::CodeGenFileType::AssemblyFile, compiled.assembly))
        return fault;
    }
    if (options.wantObject)
      if (auto fault = write(module, llvm::CodeGenFileType::ObjectFile, compiled.object))
        return fault;
    compiled.times.generateMs = watch.ms();
    return std::nullopt;
  }

  std::optional<Fault> write(llvm::Module &from, llvm::CodeGenFileType type, std::string &to) {
    if (!writer.write(from, type, options.isPlain, to))
      return fault("generating code for",
                   "LLVM cannot write this kind of file for " + machine.getTargetTriple().str());
    std::optional<Fault> found = reported("generating code for");
    if (found)
      writer.forget();
    return found;
  }
};

} // namespace

void registerTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

void markForCpu(llvm::Module &module, const TargetCpu &cpu) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration() || function.hasFnAttribute("target-cpu"))
      continue;
    function.addFnAttr("target-cpu", cpu.cpu());
    if (!cpu.features().empty())
      function.addFnAttr("target-features", cpu.features());
    // Without it LLVM limits vectors to 256 bits on CPUs that have 512.
    if (cpu.vectorBits() && !function.hasFnAttribute("prefer-vector-width"))
      function.addFnAttr("prefer-vector-width", std::to_string(cpu.vectorBits()));
  }
}

Result<std::unique_ptr<llvm::Module>> translateInto(llvm::LLVMContext &context,
                                                    mlir::ModuleOp module,
                                                    const CompileOptions &options) {
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      if (!errors.empty())
        errors += "; ";
      errors += diagnostic.str();
    }
    return mlir::success();
  });
  if (options.lineTables)
    addDebugScopes(module);
  context.setDiagnosticHandler(std::make_unique<Collector>(errors));
  // Verification is left to the next step: here it would print.
  std::unique_ptr<llvm::Module> made = mlir::translateModuleToLLVMIR(
      module, context, options.name, /*disableVerification=*/true);
  context.setDiagnosticHandler(nullptr);
  if (!made || !errors.empty())
    return Fault{"translating '" + options.name +
                 "' to LLVM IR: " + (errors.empty() ? "it failed without a reason" : errors)};
  return made;
}

Result<Translated> translate(mlir::ModuleOp module, const CompileOptions &options) {
  Stopwatch watch;
  Translated result;
  result.context = std::make_unique<llvm::LLVMContext>();
  auto made = translateInto(*result.context, module, options);
  if (!made)
    return made.fault();
  result.module = made.take();
  result.ms = watch.ms();
  return result;
}

Result<Compiled> generate(Translated translated, CodeWriter &writer, const TargetCpu &cpu,
                          const CompileOptions &options) {
  Result<Compiled> result = Generator(*translated.module, writer, cpu, options).run();
  if (result)
    result->times.translateMs = translated.ms;
  return result;
}

Result<Compiled> compileToObject(std::unique_ptr<llvm::Module> module, const TargetCpu &cpu,
                                 const CompileOptions &options) {
  auto writer = CodeWriter::make(cpu);
  if (!writer)
    return writer.fault();
  return Generator(*module, *writer.value(), cpu, options).run();
}

Result<Compiled> compileToObject(mlir::ModuleOp module, const TargetCpu &cpu,
                                 const CompileOptions &options) {
  Result<Translated> translated = translate(module, options);
  if (!translated)
    return translated.fault();
  auto writer = CodeWriter::make(cpu);
  if (!writer)
    return writer.fault();
  return generate(translated.take(), *writer.value(), cpu, options);
}

} // namespace mx::target
