// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU that code is compiled for.
#pragma once
#include "Support/TargetInfo.h"
#include "Target/Fault.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mx::target {

/// Plain data, cheap to copy, immutable; any thread may use it.
class TargetCpu {
public:
  /// `native` is the CPU this process runs on with exactly the features it has. `generic` is the
  /// baseline CPU of the architecture. On x86-64 there are also `x86-64-v2`, `-v3` and `-v4`, and
  /// `sapphirerapids`, the first with AMX tiles.
  /// Other architectures than this machine's are rejected: their code generators are not linked.
  static Result<TargetCpu> parse(std::string_view name);
  /// Names that parse() accepts on this machine.
  static std::vector<std::string> names();

  const std::string &triple() const { return tripleText; }
  /// LLVM's name of the CPU: `znver3`, `x86-64-v3`.
  const std::string &cpu() const { return cpuName; }
  /// `+avx2,-avx512f,…`, sorted; empty if the name implies all of them.
  const std::string &features() const { return featureText; }
  /// Widest vectors worth using, in bits; 0 leaves the choice to LLVM.
  unsigned vectorBits() const { return widestVector; }

  /// bf16 instructions: on tiles (AMX), on vectors (AVX512_BF16).
  bool hasAmxBf16() const { return tiles; }
  bool hasAvx512Bf16() const { return dots; }
  /// Fused multiply-add, rounded once; queried on x86 only.
  bool hasFma() const { return fma; }

  /// What the compiler decides by.
  TargetInfo info() const;

  /// One line that is equal exactly if code may be shared. Part of cache keys.
  std::string text() const;
  /// Whether its code runs on this machine.
  bool runsHere() const;

  /// Creates a machine; one thread may use it. Position-independent code, FP contraction where
  /// ops allow it, code generation level 2 (code of level 1 and below is up to ten times slower).
  Result<std::unique_ptr<llvm::TargetMachine>> makeMachine() const;

private:
  TargetCpu() = default;
  std::string tripleText, cpuName, featureText;
  unsigned widestVector = 0;
  bool tiles = false, dots = false, fma = false;
};

/// Registers this machine's code generator with LLVM. Called by everything here that needs it;
/// calls after the first do nothing.
void initializeNativeTarget();

} // namespace mx::target
