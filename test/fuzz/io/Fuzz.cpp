// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes are a file of the format or are refused, within an allowance of
// memory that does not depend on what they announce. Compiled once for each
// format: MX_FORMAT is its name in test/unit/runtime/io/Golden.cpp.

#include "../../unit/runtime/io/Formats.h"

#include <cstdlib>

using namespace mxrt;

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
