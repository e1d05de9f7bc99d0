// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles many modules, while more of them are still being made.
#pragma once
#include "Target/Compile.h"

namespace mx::target {

/// Modules are handed in one by one and compiled on up to `threads` threads, the calling one among
/// them from finish() on. Modules may share MLIR contexts: they are translated before add()
/// returns, so they may go or change then, and the contexts are used by the calling thread alone.
/// Thread rule: one thread at a time calls.
class CompileQueue {
public:
  CompileQueue(const TargetCpu &cpu, unsigned threads);
  /// What has not begun by then is not compiled.
  ~CompileQueue();
  void add(mlir::ModuleOp module, const CompileOptions &options = {});
  /// The results in the order of add(), once; if any fail, the fault of the first of them, whatever
  /// the number of threads.
  Result<std::vector<Compiled>> finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::target
