// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU levels and the list of target CPUs.
#include "Build/Artefact.h"
#include "Support/Suggest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace mx::build {
namespace {

constexpr llvm::StringLiteral kLevels = "x86-64-v", kBest = "sapphirerapids";
constexpr int kBestLevel = 5;

} // namespace

int Cpu::level() const {
  int level = 0;
  if (llvm::StringRef(name).starts_with(kLevels)) {
    llvm::StringRef(name).drop_front(kLevels.size()).getAsInteger(10, level);
    return level;
  }
  if (name == kBest)
    return kBestLevel;
  if (name != "native")
    return 0;
  // The highest level that this machine supports.
  if (auto best = target::TargetCpu::parse(kBest.str()); best && best->runsHere())
    return kBestLevel;
  for (const std::string &known : target::TargetCpu::names())
    if (llvm::StringRef(known).starts_with(kLevels))
      if (auto parsed = target::TargetCpu::parse(known); parsed && parsed->runsHere())
        llvm::StringRef(known).drop_front(kLevels.size()).getAsInteger(10, level);
  return level;
}

std::string defaultCpus() {
  std::string list;
  for (const std::string &name : target::TargetCpu::names())
    if (llvm::StringRef(name).starts_with(kLevels))
      list += (list.empty() ? "" : ",") + name;
  return list.empty() ? "generic" : list;
}

std::optional<std::vector<Cpu>> parseCpus(const std::string &list, Diagnostics &diags) {
  std::vector<Cpu> out;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(list).split(words, ',');
  std::vector<std::string> known = target::TargetCpu::names();
  for (llvm::StringRef word : words) {
    std::string name = word.trim().str();
    auto parsed = target::TargetCpu::parse(name);
    if (!parsed) {
      std::string near = nearest(name, known);
      diags.report(Code::E1005, Span(), "there is no code for the CPU `" + name + "`")
          .note("known are " + llvm::join(known, ", "))
          .help("write `--target-cpu " + (near.empty() ? "native" : near) + "`");
      return std::nullopt;
    }
    if (llvm::none_of(out, [&](const Cpu &cpu) { return cpu.name == name; }))
      out.push_back({name, parsed.take()});
  }
  // Code for the native CPU is preferred to code for its level.
  llvm::sort(out, [](const Cpu &a, const Cpu &b) {
    return std::pair(a.level(), a.name == "native") > std::pair(b.level(), b.name == "native");
  });
  return out;
}

} // namespace mx::build
