// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation with reused LLVM pass managers.
#include "Target/CodeWriter.h"
#include "Support/CodeMarks.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"
#include "llvm/Support/raw_ostream.h"

namespace mx::target {

namespace {

/// Forwards passes to `to`, without those that cost more than they gain. Loops are emitted with
/// their final addressing; loop strength reduction took a third of all code generation. LLVM has an
/// option to disable it, but a global one of the process, which is not ours to set. After that,
/// only constants are left for LICM to hoist, and some kernels load them at each use.
class Sieve : public llvm::legacy::PassManagerBase {
public:
  Sieve(llvm::legacy::PassManagerBase &to, bool loadsConstants)
      : to(to), loadsConstants(loadsConstants) {}
  void add(llvm::Pass *pass) override {
    llvm::StringRef name = pass->getPassName();
    bool searchesAddresses =
        name == "Loop Strength Reduction" || name == "Canonicalize Freeze Instructions in Loops";
    bool movesConstants = loadsConstants && pass->getPassID() == &llvm::EarlyMachineLICMID;
    if (!searchesAddresses && !movesConstants)
      return to.add(pass);
    delete pass;
  }

private:
  llvm::legacy::PassManagerBase &to;
  bool loadsConstants;
};

} // namespace

/// LLVM keeps the stream of the first module, so the bytes of all modules go through one.
struct CodeWriter::Passes {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream{bytes};
  llvm::legacy::PassManager manager;
  bool choosesFast = false; ///< fast instruction selection; set when passes are built
};

CodeWriter::CodeWriter(std::unique_ptr<llvm::TargetMachine> machine) : owned(std::move(machine)) {}
CodeWriter::~CodeWriter() = default;

Result<std::unique_ptr<CodeWriter>> CodeWriter::make(const TargetCpu &cpu) {
  auto machine = cpu.makeMachine();
  if (!machine)
    return machine.fault();
  return std::unique_ptr<CodeWriter>(new CodeWriter(machine.take()));
}

std::unique_ptr<CodeWriter::Passes> CodeWriter::prepare(llvm::CodeGenFileType type, Way way) {
  auto made = std::make_unique<Passes>();
  Sieve sieve(made->manager, way == LoadsConstants);
  if (owned->addPassesToEmitFile(sieve, made->stream, /*DwoOut=*/nullptr, type,
                                 /*DisableVerify=*/true))
    return nullptr;
  made->choosesFast = owned->Options.EnableFastISel;
  return made;
}

void CodeWriter::forget() {
  for (std::unique_ptr<Passes> &each : kept)
    each = nullptr;
}

CodeWriter::Way CodeWriter::wayOf(const llvm::Module &module, bool isPlain) {
  if (isPlain)
    return Plain;
  bool isMarked = llvm::any_of(module, [](const llvm::Function &function) {
    return function.hasFnAttribute(kLoadsConstants);
  });
  return isMarked ? LoadsConstants : Full;
}

bool CodeWriter::write(llvm::Module &module, llvm::CodeGenFileType type, bool isPlain,
                       std::string &bytes) {
  // The machine compiles other code as well, and its instruction selection mode is sticky.
  llvm::scope_exit restore([this, level = owned->getOptLevel()] {
    owned->setOptLevel(level);
    owned->setFastISel(false);
  });
  if (isPlain)
    owned->setOptLevel(llvm::CodeGenOptLevel::None);
  std::unique_ptr<Passes> once;
  Way way = wayOf(module, isPlain);
  std::unique_ptr<Passes> &passes = type == llvm::CodeGenFileType::ObjectFile ? kept[way] : once;
  if (!passes && !(passes = prepare(type, way)))
    return false;
  owned->setFastISel(passes->choosesFast);
  passes->manager.run(module);
  bytes.assign(passes->bytes.data(), passes->bytes.size());
  passes->bytes.clear();
  return true;
}

} // namespace mx::target
