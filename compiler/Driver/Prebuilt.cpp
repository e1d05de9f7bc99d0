// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Archive of prebuilt kernels: packing, unpacking and symbol names.
#include "Driver/Prebuilt.h"
#include "Target/Hasher.h"
#include <cctype>
#include <cstdint>
#include <cstring>

namespace mx::driver {

std::vector<std::string> prebuiltLevels() {
#if defined(__x86_64__)
  return {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
#else
  return {"generic"};
#endif
}

std::string kernelSymbol(std::string_view key) {
  std::string name = "e_";
  for (char c : key)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // The hash distinguishes keys that differ only in punctuation.
  return name + "_" + target::Hasher().add(key).hex().substr(0, 8);
}

static void append(std::string &out, std::string_view text) {
  uint64_t size = text.size();
  out.append(reinterpret_cast<const char *>(&size), sizeof size);
  out.append(text);
}

std::string packPrebuilt(const std::vector<PrebuiltKernel> &kernels) {
  std::string out;
  for (const PrebuiltKernel &kernel : kernels)
    for (const std::string *part : {&kernel.level, &kernel.key, &kernel.object})
      append(out, *part);
  return out;
}

std::map<std::string_view, std::string_view> unpackPrebuilt(std::string_view packed,
                                                            std::string_view level) {
  std::map<std::string_view, std::string_view> out;
  auto take = [&](std::string_view &part) {
    uint64_t size = 0;
    if (packed.size() < sizeof size)
      return false;
    std::memcpy(&size, packed.data(), sizeof size);
    packed.remove_prefix(sizeof size);
    if (size > packed.size())
      return false;
    part = packed.substr(0, size);
    packed.remove_prefix(size);
    return true;
  };
  while (!packed.empty()) {
    std::string_view ofLevel, key, object;
    if (!take(ofLevel) || !take(key) || !take(object))
      return {};
    if (ofLevel == level)
      out[key] = object;
  }
  return out;
}

} // namespace mx::driver
