// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes are a file of the format or are refused, within an allowance of
// memory that does not depend on what they announce. Compiled once for each
// format: MX_FORMAT is its name in test/unit/runtime/io/Golden.cpp. New inputs
// are made by changing the parts of known ones (Structures.h).

#include "../../unit/runtime/io/Formats.h"
#include "../../unit/runtime/io/Structures.h"

#include <algorithm>
#include <cstdlib>

using namespace mxrt;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
// Builds without libFuzzer only replay, and never mutate.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *, size_t size, size_t) {
  return size;
}

namespace {

constexpr size_t allowance = size_t(256) << 20;

void *allocate(void *, size_t bytes, size_t align) {
  const mxrt_allocator *system = mxrt_system_allocator();
  if (bytes > allowance)
    std::abort();
  return system->allocate(system->user, bytes, align);
}
void release(void *, void *memory, size_t bytes, size_t align) {
  const mxrt_allocator *system = mxrt_system_allocator();
  system->release(system->user, memory, bytes, align);
}

const test::Format &chosen() {
  for (size_t i = 0; i < test::formatCount; ++i)
    if (std::string(test::formats[i].name) == MX_FORMAT)
      return test::formats[i];
  std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mxrt_allocator alloc = {nullptr, allocate, release, nullptr};
  io::MemoryInput input(&alloc, "file", data, size);
  std::string summary;
  Status status = chosen().read(input, summary);
  if (!status.ok() && status.code() != MXRT_FILE_FORMAT)
    std::abort();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned int seed) {
  static const test::Structure *structure = test::structureOf(MX_FORMAT);
  if (!structure)
    std::abort();
  std::minstd_rand random(seed);
  std::string file = test::mutate(
      *structure, {reinterpret_cast<const char *>(data), size}, random, [&](std::string &part) {
        size_t before = part.size(), most = before + 64;
        part.resize(most);
        part.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(part.data()), before, most));
      });
  // Also files that were cut off.
  file.resize(std::min(random() % 16 ? file.size() : random() % (file.size() + 1), maxSize));
  std::memcpy(data, file.data(), file.size());
  return file.size();
}
