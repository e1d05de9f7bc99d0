// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of common eager ops, compiled when the project is built and embedded in mxc. They are
// objects keyed by CPU level and key; mxc uses the best level that this machine supports.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mx::driver {

struct PrebuiltKernel {
  std::string level; ///< x86-64-v3
  std::string key;   ///< of the eager executor
  std::string object;
};

/// The CPU levels of prebuilt kernels on this architecture, best last.
std::vector<std::string> prebuiltLevels();
/// The symbol of the kernel of a key.
std::string kernelSymbol(std::string_view key);

std::string packPrebuilt(const std::vector<PrebuiltKernel> &kernels);
/// Objects by key for one level; views into `packed`. Empty if it is malformed.
std::map<std::string_view, std::string_view> unpackPrebuilt(std::string_view packed,
                                                            std::string_view level);

} // namespace mx::driver
