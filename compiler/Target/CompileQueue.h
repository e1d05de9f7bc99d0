// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles many modules in parallel, while more of them are still being built.
#pragma once
#include "Target/Compile.h"

namespace mx::target {

/// Modules are added one by one and compiled on up to `threads` threads, including the calling one
/// from finish() on. Modules may share MLIR contexts: they are translated before add() returns, so
/// they may be changed or destroyed after it, and only the calling thread uses the contexts.
/// Thread rule: one thread at a time calls.
class CompileQueue {
public:
  CompileQueue(const TargetCpu &cpu, unsigned threads);
  /// Jobs that have not begun by then are dropped.
  ~CompileQueue();
  void add(mlir::ModuleOp module, const CompileOptions &options = {});
  /// The results in the order of add(), once. If any fail: the fault of the first of them, whatever
  /// the number of threads.
  Result<std::vector<Compiled>> finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::target
