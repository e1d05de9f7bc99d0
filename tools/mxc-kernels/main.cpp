// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxc-kernels: precompiles the most common kernels of eager programs at build time. mxc embeds the
// result, so that the first `a + b` of a program needs no compilation.
//
// Usage: mxc-kernels OUTPUT
#include "Driver/Prebuilt.h"
#include "Pipeline/Pipeline.h"
#include "mlir/IR/MLIRContext.h"
#include <cstdio>
#include <fstream>

using namespace mx;

namespace {

/// The kernel keys that the executor requests for ops on small and large dense tensors
/// (eager/Kernels.h).
std::vector<std::string> commonKeys() {
  std::vector<std::string> keys;
  auto binary = [&](const std::string &op, const std::string &type, const std::string &result) {
    for (const char *form : {"1c,%1c", "1c,%0", "0,%1c"}) {
      std::string operands = type + ":" + form;
      operands.replace(operands.find('%'), 1, type + ":");
      keys.push_back(op + " " + operands + " -> " + result + ":1c");
    }
  };
  for (const char *type : {"f32", "f64", "i32", "i64"}) {
    std::string t = type;
    bool isFloat = t[0] == 'f';
    for (const char *op : {"add", "sub", "mul", "maximum", "minimum"})
      binary(op, t, t);
    if (isFloat)
      binary("div", t, t);
    for (const char *op : {"eq", "ne", "lt", "le", "gt", "ge"})
      binary(op, t, "bool");
    for (const char *op : {"neg", "abs"})
      keys.push_back(std::string(op) + " " + t + ":1c -> " + t + ":1c");
    if (isFloat)
      for (const char *op : {"exp", "log", "sqrt", "tanh", "isfinite", "isnan"})
        keys.push_back(std::string(op) + " " + t + ":1c -> " + (op[0] == 'i' ? "bool" : t) + ":1c");
    keys.push_back("select bool:1c," + t + ":1c," + t + ":1c -> " + t + ":1c");
    keys.push_back("select bool:1c," + t + ":1c," + t + ":0 -> " + t + ":1c");
    for (const char *op : {"sum", "max", "min"})
      keys.push_back(std::string(op) + " " + t + ":3c -> " + t + ":2c");
    keys.push_back("argmax " + t + ":3c -> i32:2c");
    for (const char *to : {"f32", "f64", "i32", "i64", "bool"})
      if (t != to)
        keys.push_back("cast " + t + ":1c -> " + to + ":1c");
    for (const char *op : {"add", "sub", "mul"}) // row, column and outer broadcasts
      for (const char *form : {"2c,%2s", "2s,%2c", "2s,%2s"}) {
        std::string operands = t + ":" + form;
        operands.replace(operands.find('%'), 1, t + ":");
        keys.push_back(std::string(op) + " " + operands + " -> " + t + ":2c");
      }
  }
  for (const char *op : {"and", "or"})
    binary(op, "bool", "bool");
  keys.push_back("not bool:1c -> bool:1c");
  for (const char *op : {"all", "any"})
    keys.push_back(std::string(op) + " bool:3c -> bool:2c");
  for (const char *type : {"f32", "f64"})
    for (const char *form : {"3c,%3c", "3s,%3c", "3c,%3s"}) {
      std::string operands = std::string(type) + ":" + form;
      operands.replace(operands.find('%'), 1, std::string(type) + ":");
      keys.push_back("matmul " + operands + " -> " + type + ":3c");
    }
  for (const char *type : {"f32", "i32", "i64"})
    keys.push_back(std::string("iota -> ") + type + ":1c");
  keys.push_back("cast bool:1c -> f32:1c");
  keys.push_back("cast bool:1c -> i64:1c");
  return keys;
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
  std::vector<driver::PrebuiltKernel> kernels;
  for (const std::string &level : driver::prebuiltLevels()) {
    auto cpu = target::TargetCpu::parse(level);
    if (!cpu) {
      std::fprintf(stderr, "mxc-kernels: %s\n", cpu.message().c_str());
      return 1;
    }
    for (const std::string &key : commonKeys()) {
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
