// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `--mx-emit-bytecode`.
#include "Bytecode/Bytecode.h"
#include "dialects/mx/Mx.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace mx::bytecode {
namespace {

struct EmitBytecodePass : PassWrapper<EmitBytecodePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitBytecodePass)

  EmitBytecodePass() = default;
  EmitBytecodePass(const EmitBytecodePass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "mx-emit-bytecode"; }
  StringRef getDescription() const override {
    return "Print the bytecode of the module's host functions to stdout";
  }

  void runOnOperation() override {
    BytecodeOptions options;
    options.entry = entry;
    options.locations = locations;
    std::optional<std::vector<uint8_t>> bytes = emitBytecode(getOperation(), options);
    if (!bytes)
      return signalPassFailure();
    std::string message;
    std::optional<std::string> text = showBytecode(*bytes, message);
    if (!text) {
      getOperation().emitError() << message;
      return signalPassFailure();
    }
    llvm::outs() << *text;
    llvm::outs().flush();
  }

  Option<std::string> entry{*this, "entry", llvm::cl::desc("The function that runs first")};
  Option<bool> locations{*this, "locations", llvm::cl::desc("Show the locations of instructions"),
                      llvm::cl::init(false)};
};

} // namespace

void registerBytecodePasses() { PassRegistration<EmitBytecodePass>(); }

} // namespace mx::bytecode
