// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A whole program as embedded in an executable: bytecode, graphs, kernels, and the source text that
// errors show. compiler/Build writes it as constants, so the layouts are those of C.
#pragma once
#include "Run/GraphCode.h"
#include "data/DataHost.h"
#include "mxrt/kernel.h"

namespace mx::run {

/// A module file of the VM.
struct Bytecode {
  const uint8_t *bytes;
  int64_t size;
};

/// A kernel of the eager executor for one CPU.
struct Kernel {
  const char *key;
  mxrt_compiled_kernel code;
  int64_t level;
};

/// The text of a source file that locations refer to.
struct SourceText {
  const char *name, *text;
  int64_t size;
};

struct Program {
  const char *name;    ///< of its file
  const char *command; ///< that rebuilds it
  const char *cpus;    ///< that there is code for
  int64_t minLevel;  ///< the lowest of them
  const Bytecode *modules;
  int64_t moduleCount; ///< modules run in this order
  const Graph *graphs;
  int64_t graphCount; ///< sorted by name
  const Kernel *kernels;
  int64_t kernelCount; ///< sorted by key, best CPU first
  const SourceText *sources;
  int64_t sourceCount;
  const mxrt::data::NativeGroup *const *natives;
  int64_t nativeCount;
  int64_t uncheckedDivision;
  const char *options; ///< and the values it was built with, one per line
};

/// Runs a program as `mxc run` does; the exit code of the process.
int runCarried(const Program &program, int argc, char **argv);

} // namespace mx::run
