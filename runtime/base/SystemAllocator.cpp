// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The system allocator: aligned allocation from libc, and mapped huge pages for large blocks.

#include "base/Allocator.h"
#include "base/Os.h"

#include <cstdlib>

namespace mxrt {
namespace {

// Blocks of this size and larger are mapped at a huge-page boundary: matrices of this size run a
// few percent faster with huge pages.
constexpr size_t mapFrom = 4u << 20;
constexpr size_t largePage = 2u << 20;

void *systemAllocate(void *, size_t bytes, size_t align) {
  if (bytes == 0)
    bytes = 1;
  if (bytes >= mapFrom)
    return os::mapPages(bytes, align > largePage ? align : largePage, true);
  if (align <= alignof(std::max_align_t))
    return malloc(bytes);
  return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

void systemRelease(void *, void *memory, size_t bytes, size_t) {
  if (bytes >= mapFrom)
    os::unmapPages(memory, bytes);
  else
    free(memory);
}

constexpr mxrt_allocator systemAllocator = {nullptr, systemAllocate,
                                            systemRelease, nullptr};

} // namespace
} // namespace mxrt

extern "C" const mxrt_allocator *mxrt_system_allocator(void) {
  return &mxrt::systemAllocator;
}
