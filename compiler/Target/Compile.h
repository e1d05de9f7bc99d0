// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the LLVM dialect to an object file.
#pragma once
#include "Target/Fault.h"
#include "Target/TargetCpu.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mx::target {

/// The LLVM passes that run on every kernel. As fast as LLVM's O3 on the code that the compiler
/// emits, at a third of its compile time. One round of instcombine is enough; it may leave
/// something for a second one. The last sroa promotes lanes of sums to registers, after loops over
/// them are vectorised. Code generation skips passes as well (CodeWriter.cpp).
inline constexpr std::string_view kMiniPipeline =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate,licm),simplifycfg,"
    "loop-vectorize,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,sroa),"
    "always-inline,globaldce";

struct CompileOptions {
  /// Shown in faults and in the text of the code.
  std::string name = "mx";
  /// LLVM passes to run, in the form of `opt -passes=`; empty runs none. It changes code, so it
  /// belongs into cache keys.
  std::string pipeline = std::string(kMiniPipeline);
  /// Code that runs once per call of a graph and calls others: compile time counts for more than
  /// run time, so code is generated at -O0.
  bool isPlain = false;
  /// Line tables, so that gdb and perf show lines of the program.
  bool lineTables = true;
  /// Outputs besides or instead of the object.
  bool wantObject = true;
  bool wantIrBefore = false; ///< LLVM IR as translated, attributes set
  bool wantIrAfter = false;  ///< LLVM IR after the passes (`--emit=llvm`)
  bool wantAssembly = false; ///< `--emit=asm`
  /// Polled between passes, from any thread; true cancels the compilation with a fault. May be
  /// empty.
  std::function<bool()> isStopped;
};

struct Compiled {
  std::string object; ///< bytes of a relocatable object, or empty
  std::string irBefore, irAfter, assembly;
  /// Time of each step.
  struct {
    double translateMs = 0, optimizeMs = 0, generateMs = 0;
  } times;
};

/// Registers the translations that a context needs to compile its modules; call it before the
/// context is created.
void registerTranslations(mlir::DialectRegistry &registry);

/// Translates the module to LLVM IR, in a context that may hold others: for callers that link
/// several before they are compiled. Thread rule: that of both contexts.
Result<std::unique_ptr<llvm::Module>> translateInto(llvm::LLVMContext &context,
                                                    mlir::ModuleOp module,
                                                    const CompileOptions &options = {});
/// Sets the target CPU on each function that is defined here. Functions that have one already keep
/// it, so one module can have code for several (multiversioning).
void markForCpu(llvm::Module &module, const TargetCpu &cpu);

/// Compiles one module. Uses an LLVM context of its own, so calls may run in parallel as long as
/// their modules are in different MLIR contexts (see CompileQueue for the others). The module's
/// locations are reduced to what line tables need. Functions and their callees must not throw.
Result<Compiled> compileToObject(mlir::ModuleOp module, const TargetCpu &cpu,
                                 const CompileOptions &options = {});
/// The same for a module already in LLVM IR; nothing else may use its LLVM context meanwhile.
Result<Compiled> compileToObject(std::unique_ptr<llvm::Module> module, const TargetCpu &cpu,
                                 const CompileOptions &options = {});

} // namespace mx::target
