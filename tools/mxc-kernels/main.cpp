// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxc-kernels: precompiles the most common kernels of eager programs at build time. mxc embeds the
// result, so that the first `a + b` of a program needs no compilation.
//
// Usage: mxc-kernels OUTPUT
#include "Driver/Prebuilt.h"
#include "Pipeline/Pipeline.h"
#include "eager/PrebuiltKeys.h"
#include "mlir/IR/MLIRContext.h"
#include <cstdio>
#include <fstream>

using namespace mx;

namespace {

void addKey(void *keys, std::string_view key) {
  static_cast<std::vector<std::string> *>(keys)->emplace_back(key);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: mxc-kernels OUTPUT\n");
    return 2;
  }
  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  target::CacheOptions nowhere;
  nowhere.folder = "/dev/null/none"; // the build keeps the result; the user's cache is not used
  target::ObjectCache cache(nowhere);
  std::vector<std::string> keys;
  if (mxrt::Status status = mxrt::eager::prebuiltKeys(nullptr, addKey, &keys); !status.ok()) {
    std::fprintf(stderr, "mxc-kernels: %s\n", status.message());
    return 1;
  }
  std::vector<driver::PrebuiltKernel> kernels;
  for (const std::string &level : driver::prebuiltLevels()) {
    auto cpu = target::TargetCpu::parse(level);
    if (!cpu) {
      std::fprintf(stderr, "mxc-kernels: %s\n", cpu.message().c_str());
      return 1;
    }
    for (const std::string &key : keys) {
      std::string error;
      auto object = pipeline::compileEagerKernel(context, key, driver::kernelSymbol(key), *cpu,
                                                 cache, {}, error);
      if (!object) {
        std::fprintf(stderr, "mxc-kernels: `%s`: %s\n", key.c_str(), error.c_str());
        return 1;
      }
      kernels.push_back({level, key, std::move(*object)});
    }
  }
  std::ofstream file(argv[1], std::ios::binary);
  file << driver::packPrebuilt(kernels);
  file.close();
  if (!file) {
    std::fprintf(stderr, "mxc-kernels: cannot write %s\n", argv[1]);
    return 1;
  }
  std::printf("%zu kernels\n", kernels.size());
  return 0;
}
