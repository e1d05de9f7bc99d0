// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic counters of the memory that calls of a variant take.
#include "Run/CallBytes.h"

namespace mx::run {

static void raise(std::atomic<int64_t> &max, int64_t value) {
  int64_t before = max.load();
  while (before < value && !max.compare_exchange_weak(before, value)) {
  }
}

void CallBytes::add(int64_t leasedNow, int64_t besidesNow) {
  ++calls;
  raise(leased, leasedNow);
  raise(besides, besidesNow);
}

CountedContext::CountedContext(const mxrt_context &given)
    : inner(given.allocator), counting(*given.allocator), context(given) {
  counting.user = this;
  counting.allocate = allocate;
  counting.release = release;
  context.allocator = &counting;
}

void *CountedContext::allocate(void *user, size_t bytes, size_t align) {
  auto *self = static_cast<CountedContext *>(user);
  void *memory = self->inner->allocate(self->inner->user, bytes, align);
  if (memory)
    raise(self->maxBytes, self->now += static_cast<int64_t>(bytes));
  return memory;
}

void CountedContext::release(void *user, void *memory, size_t bytes, size_t align) {
  auto *self = static_cast<CountedContext *>(user);
  self->now -= static_cast<int64_t>(bytes);
  self->inner->release(self->inner->user, memory, bytes, align);
}

} // namespace mx::run
