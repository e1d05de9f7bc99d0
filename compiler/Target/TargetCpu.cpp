// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU detection, and LLVM target machines.
#include "Target/TargetCpu.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <map>

namespace mx::target {

namespace {

/// LLVM registers its targets in a global list of the process, so this is the only thing here that
/// is done once for all sessions.
struct NativeTarget {
  NativeTarget() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  }
};

/// The triple of this process. getDefaultTargetTriple() is LLVM's default compilation target, which
/// need not be this process.
llvm::Triple hostTriple() { return llvm::Triple(llvm::sys::getProcessTriple()); }

std::map<std::string, bool> hostFeatures() {
  std::map<std::string, bool> sorted;
  for (const auto &entry : llvm::sys::getHostCPUFeatures())
    sorted.emplace(entry.getKey().str(), entry.getValue());
  return sorted;
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const llvm::Triple &triple, const std::string &cpu,
                                                 const std::string &features) {
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target->createMCSubtargetInfo(triple, cpu, features));
}

} // namespace

void initializeNativeTarget() { static const NativeTarget once; }

std::vector<std::string> TargetCpu::names() {
  std::vector<std::string> all = {"native", "generic"};
  if (hostTriple().getArch() == llvm::Triple::x86_64)
    all.insert(all.end(), {"x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids"});
  return all;
}

Result<TargetCpu> TargetCpu::parse(std::string_view name) {
  initializeNativeTarget();
  const std::vector<std::string> known = names();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    std::string list;
    for (const std::string &each : known)
      list += (list.empty() ? "" : ", ") + each;
    return Fault{"'" + std::string(name) +
                 "' is not a CPU that this compiler generates code for on " +
                 hostTriple().getArchName().str() + "; there are " + list};
  }

  llvm::Triple triple = hostTriple();
  TargetCpu result;
  result.tripleText = triple.str();
  if (name == "native") {
    result.cpuName = llvm::sys::getHostCPUName().str();
    // Absent features are listed too: the CPU's name may imply what a virtual machine hides.
    for (const auto &[feature, present] : hostFeatures())
      result.featureText +=
          (result.featureText.empty() ? "" : ",") + ((present ? "+" : "-") + feature);
  } else if (name == "generic") {
    result.cpuName = triple.getArch() == llvm::Triple::x86_64 ? "x86-64" : "generic";
  } else {
    result.cpuName = std::string(name);
  }

  auto info = subtarget(triple, result.cpuName, result.featureText);
  if (!info)
    return Fault{"LLVM has no code generator for " + result.tripleText};
  if (triple.getArch() == llvm::Triple::x86_64) {
    result.widestVector = info->checkFeatures("+avx512f") ? 512
                          : info->checkFeatures("+avx")   ? 256
                                                          : 128;
    result.tiles = info->checkFeatures("+avx512f,+amx-tile,+amx-bf16");
    result.dots = info->checkFeatures("+avx512f,+avx512bf16");
    result.fma = info->checkFeatures("+fma");
  }
  return result;
}

TargetInfo TargetCpu::info() const {
  TargetInfo out;
  if (widestVector)
    out.vectorBits = widestVector;
  out.hasFma = fma;
  out.bf16.kind = tiles ? Bf16Unit::Amx : dots ? Bf16Unit::Avx512Bf16 : Bf16Unit::None;
  return out;
}

std::string TargetCpu::text() const {
  return "triple=" + tripleText + " cpu=" + cpuName + " features=" + featureText +
         " vectors=" + std::to_string(widestVector);
}

bool TargetCpu::runsHere() const {
  llvm::Triple triple(tripleText);
  if (triple.getArch() != hostTriple().getArch())
    return false;
  auto info = subtarget(triple, cpuName, featureText);
  if (!info)
    return false;
  // Features that the host does not list are tuning hints, which run everywhere.
  const std::map<std::string, bool> host = hostFeatures();
  for (const llvm::SubtargetFeatureKV &feature : info->getAllProcessorFeatures()) {
    if (!info->getFeatureBits().test(feature.Value))
      continue;
    auto found = host.find(feature.Key);
    if (found != host.end() && !found->second)
      return false;
  }
  return true;
}

Result<std::unique_ptr<llvm::TargetMachine>> TargetCpu::makeMachine() const {
  initializeNativeTarget();
  llvm::Triple triple(tripleText);
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return Fault{"LLVM has no code generator for " + tripleText + ": " + error};
  llvm::TargetOptions options;
  // Only marked ops: the lowering decides which multiply-adds may be contracted.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // The code model is explicit because the default for JITs is the slow large one; objects are
  // loaded near each other, and far calls go through stubs.
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, cpuName, featureText, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return Fault{"LLVM cannot generate code for " + tripleText};
  return machine;
}

} // namespace mx::target
