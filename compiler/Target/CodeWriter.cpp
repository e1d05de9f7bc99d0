// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Target/CodeWriter.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace mx::target {

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
  if (owned->addPassesToEmitFile(made->manager, made->stream, /*DwoOut=*/nullptr, type,
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
