// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU a piece of code is for.
#pragma once
#include "Target/Fault.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mx::target {

/// Plain data, cheap to copy, never changed after it was made; any thread may use it.
class TargetCpu {
public:
  /// `native` is the CPU this process runs on with exactly the features it has. `generic` is the
  /// least CPU of the architecture. On x86-64 there are also `x86-64-v2`, `-v3` and `-v4`, and
  /// `sapphirerapids`, the first with tiles.
  /// Other architectures than this machine's are refused: their code generators are not linked.
  static Result<TargetCpu> parse(std::string_view name);
  /// Names that parse() takes on this machine.
  static std::vector<std::string> names();

  const std::string &triple() const { return tripleText; }
  /// LLVM's name of it: `znver3`, `x86-64-v3`.
  const std::string &cpu() const { return cpuName; }
  /// `+avx2,-avx512f,…`, sorted; empty where the name says it all.
  const std::string &features() const { return featureText; }
  /// Widest vectors worth using, in bits; 0 leaves the choice to LLVM.
  unsigned vectorBits() const { return widestVector; }

  /// Instructions for products of bf16: on tiles (AMX), on vectors (AVX512_BF16).
  bool hasTiles() const { return tiles; }
  bool hasDots() const { return dots; }
  /// One for a product and a sum, which round once; asked for on x86 only.
  bool hasFma() const { return fma; }

  /// One line that is equal exactly when code may be shared. It goes into cache keys.
  std::string text() const;
  /// True if code for it runs on this machine.
  bool runsHere() const;

  /// A fresh machine; one thread may use it. Position-independent code, products and sums may be
  /// fused, code generation level 2 (level 1 and below cost up to ten times in speed of the code).
  Result<std::unique_ptr<llvm::TargetMachine>> makeMachine() const;

private:
  TargetCpu() = default;
  std::string tripleText, cpuName, featureText;
  unsigned widestVector = 0;
  bool tiles = false, dots = false, fma = false;
};

/// Makes this machine's code generator known to LLVM. Called by everything here that needs it;
/// calls after the first do nothing.
void initializeNativeTarget();

} // namespace mx::target
