// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver/Machine.h"

namespace mxemu {

struct Module {
  Program program;
  int device = 0;
  unsigned pending = 0;         // launches that have not run
  std::vector<uint64_t> memory; // of its variables
};
struct FunctionObject {
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<Module> module;
  unsigned maxDynamicShared = 48 * 1024;
};
struct ModuleObject {
  std::shared_ptr<Module> module;
  std::map<std::string, std::unique_ptr<FunctionObject>> functions;
};

/// Checks a launch and copies its parameters.
std::shared_ptr<Launch> makeLaunch(CUfunction function, const LaunchShape &shape, void **params,
                                   void **extra, bool cooperative);

} // namespace mxemu
