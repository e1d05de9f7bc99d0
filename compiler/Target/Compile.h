// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the LLVM dialect to an object file.
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

/// The passes every kernel goes through. As fast as LLVM's O3 on what the compiler emits, at a
/// third of its compile time. One round of instcombine is enough; that it leaves something for a
/// second one is no fault. The last sroa puts lanes of sums into registers, once loops over them are
/// vectors. Code generation leaves passes out as well (CodeWriter.cpp).
inline constexpr std::string_view kMiniPipeline =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate,licm),simplifycfg,"
    "loop-vectorize,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,sroa)";

struct CompileOptions {
  /// Shown in faults and in the text of the code.
  std::string name = "mx";
  /// LLVM passes to run, in the form of `opt -passes=`; empty runs none. It is part of what
  /// changes code, so it belongs into cache keys.
  std::string pipeline = std::string(kMiniPipeline);
  /// Code that runs once a call of a graph and calls others: what it costs to make counts for more
  /// than what it costs to run, so instructions are chosen without looking for better ones.
  bool isPlain = false;
  /// Line tables, so that gdb and perf show lines of the program.
  bool lineTables = true;
  /// What to make besides or instead of the object.
  bool wantObject = true;
  bool wantIrBefore = false; ///< LLVM IR as translated, attributes set
  bool wantIrAfter = false;  ///< LLVM IR after the passes (`--emit=llvm`)
  bool wantAssembly = false; ///< `--emit=asm`
  /// Asked between passes, from any thread; true ends the compilation with a fault. May be empty.
  std::function<bool()> isStopped;
};

struct Compiled {
  std::string object; ///< bytes of a relocatable object, or empty
  std::string irBefore, irAfter, assembly;
  /// Where the time went.
  struct {
    double translateMs = 0, optimizeMs = 0, generateMs = 0;
  } times;
};

/// A context whose modules are to be compiled needs these; call it before the context is made.
void registerTranslations(mlir::DialectRegistry &registry);

/// The module as LLVM IR, in a context that may hold others: for who links several before they are
/// compiled. Thread rule: that of both contexts.
Result<std::unique_ptr<llvm::Module>> translateInto(llvm::LLVMContext &context,
                                                    mlir::ModuleOp module,
                                                    const CompileOptions &options = {});
/// Says in each function that is defined here what CPU its code is for. Functions that say so
/// already keep it, so one module can have code for several.
void markForCpu(llvm::Module &module, const TargetCpu &cpu);

/// Compiles one module. It uses an LLVM context of its own, so calls may run in parallel as long
/// as their modules are in different MLIR contexts (see CompileQueue for the others). The module's
/// locations are reduced to what line tables need. Functions are taken not to throw and none they
/// call may.
Result<Compiled> compileToObject(mlir::ModuleOp module, const TargetCpu &cpu,
                                 const CompileOptions &options = {});
/// The same for a module already in LLVM IR; nobody else may use its LLVM context meanwhile.
Result<Compiled> compileToObject(std::unique_ptr<llvm::Module> module, const TargetCpu &cpu,
                                 const CompileOptions &options = {});

} // namespace mx::target
