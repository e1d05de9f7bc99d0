// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph, given as text, lowered and compiled; its kernels are functions of the test.
#pragma once
#include "Lowering/Programs.h"
#include "mxrt/parallel.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mx::test {

using Kernel = mxrt_status (*)(const mxrt_context *, void *const *buffers, const int64_t *sizes);

class TestProgram {
public:
  /// The attribute `test` of each mx.kernel op of the graph is its index in `kernels`. Null
  /// if something went wrong; the failure is reported.
  static std::unique_ptr<TestProgram> make(const std::string &text,
                                           const std::map<std::string, Kernel> &kernels);

  /// Runs on uninitialised memory, filled with garbage.
  mxrt_status operator()(std::vector<void *> buffers, std::vector<int64_t> sizes = {});

  lowering::ProgramInfo info;
  /// Of every call from now on.
  mxrt_context context;

private:
  using Function = mxrt_status (*)(const mxrt_context *, void *const *, const int64_t *,
                                   void *const *);
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Function function = nullptr;
};

} // namespace mx::test
