// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Target/CodeWriter.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"
#include "llvm/Support/raw_ostream.h"

namespace mx::target {

namespace {

/// Passes on their way to `to`, without those that cost more than they give. Loops are emitted with
/// the addresses they are to have; looking for others took a third of all code generation. LLVM has
/// an option for that, but one of the whole process, which is not ours.
class Sieve : public llvm::legacy::PassManagerBase {
public:
  explicit Sieve(llvm::legacy::PassManagerBase &to) : to(to) {}
  void add(llvm::Pass *pass) override {
    llvm::StringRef name = pass->getPassName();
    if (name != "Loop Strength Reduction" && name != "Canonicalize Freeze Instructions in Loops")
      return to.add(pass);
    delete pass; // both are for the same purpose
  }

private:
  llvm::legacy::PassManagerBase &to;
};

} // namespace

/// LLVM keeps the stream that it was first given, so the bytes of all modules go through one.
struct CodeWriter::Passes {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream{bytes};
  llvm::legacy::PassManager manager;
  bool choosesFast = false; ///< instructions; the machine is told so when passes are put together
};

CodeWriter::CodeWriter(std::unique_ptr<llvm::TargetMachine> machine) : owned(std::move(machine)) {}
CodeWriter::~CodeWriter() = default;

Result<std::unique_ptr<CodeWriter>> CodeWriter::make(const TargetCpu &cpu) {
  auto machine = cpu.makeMachine();
  if (!machine)
    return machine.fault();
  return std::unique_ptr<CodeWriter>(new CodeWriter(machine.take()));
}

std::unique_ptr<CodeWriter::Passes> CodeWriter::prepare(llvm::CodeGenFileType type) {
  auto made = std::make_unique<Passes>();
  Sieve sieve(made->manager);
  if (owned->addPassesToEmitFile(sieve, made->stream, /*DwoOut=*/nullptr, type,
                                 /*DisableVerify=*/true))
    return nullptr;
  made->choosesFast = owned->Options.EnableFastISel;
  return made;
}

void CodeWriter::forget() {
  plain = nullptr;
  full = nullptr;
}

bool CodeWriter::write(llvm::Module &module, llvm::CodeGenFileType type, bool isPlain,
                       std::string &bytes) {
  // The machine makes other pieces of code as well, and remembers how it chose instructions.
  llvm::scope_exit restore([this, level = owned->getOptLevel()] {
    owned->setOptLevel(level);
    owned->setFastISel(false);
  });
  if (isPlain)
    owned->setOptLevel(llvm::CodeGenOptLevel::None);
  std::unique_ptr<Passes> once;
  bool isKept = type == llvm::CodeGenFileType::ObjectFile;
  std::unique_ptr<Passes> &passes = !isKept ? once : isPlain ? plain : full;
  if (!passes && !(passes = prepare(type)))
    return false;
  owned->setFastISel(passes->choosesFast);
  passes->manager.run(module);
  bytes.assign(passes->bytes.data(), passes->bytes.size());
  passes->bytes.clear();
  return true;
}

} // namespace mx::target
