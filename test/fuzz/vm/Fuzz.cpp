// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer on module files. Size and checksum of the header are set right
// before the check, or nothing would ever get past them.

#include "Check.h"

#include "host/text/ModuleBuilder.h"

#include <algorithm>
#include <cstring>

using namespace mxrt::host;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize)
    __attribute__((weak));

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  sealModule(bytes);
  checkProgram(bytes, true);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  Random random{seed};
  std::vector<uint8_t> bytes(data, data + size);
  if (size < 24)
    bytes = seedPrograms()[random.below(seedPrograms().size())];
  sealModule(bytes);
  if (random.chance(30) && LLVMFuzzerMutate)
    return LLVMFuzzerMutate(data, size, maxSize);
  if (!mutateModule(random, bytes))
    mutateBytes(random, bytes);
  size_t used = std::min(bytes.size(), maxSize);
  std::memcpy(data, bytes.data(), used);
  return used;
}
