// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mxrt/guard.h"
#include "base/Allocator.h"
#include "base/Status.h"

#include <cstring>

using namespace mxrt;

namespace {

constexpr int64_t guard = MXRT_GUARD_BYTES;

/// A copy of the arena with its guards, from before the call.
class Shadow {
public:
  Shadow(const mxrt_allocator *alloc, char *begin, int64_t bytes)
      : alloc(alloc), begin(begin), bytes(bytes),
        copy(static_cast<char *>(allocateBytes(alloc, static_cast<size_t>(bytes), 16))) {
    if (copy)
      memcpy(copy, begin, static_cast<size_t>(bytes));
  }
  ~Shadow() {
    if (copy)
      releaseBytes(alloc, copy, static_cast<size_t>(bytes), 16);
  }
  Shadow(const Shadow &) = delete;
  Shadow &operator=(const Shadow &) = delete;
  bool isThere() const { return copy; }

  /// What was written as it should be is not looked at.
  void accept(const char *from, int64_t length) {
    if (from >= begin && from + length <= begin + bytes)
      memcpy(copy + (from - begin), from, static_cast<size_t>(length));
  }
  /// The first byte that changed; -1: none.
  int64_t firstChange() const {
    if (memcmp(copy, begin, static_cast<size_t>(bytes)) == 0)
      return -1;
    int64_t at = 0;
    while (copy[at] == begin[at])
      ++at;
    return at;
  }

private:
  const mxrt_allocator *alloc;
  char *begin;
  int64_t bytes;
  char *copy;
};

} // namespace

extern "C" {

void mxrt_guard_begin(void *arena, int64_t bytes) {
  memset(static_cast<char *>(arena) - guard, MXRT_POISON_BYTE,
         static_cast<size_t>(bytes + 2 * guard));
}

mxrt_status mxrt_guard_call(const mxrt_context *context,
                            mxrt_compiled_kernel kernel, void *const *buffers,
                            const int64_t *sizes, void *arena,
                            int64_t arena_bytes,
                            const mxrt_guard_operand *operands,
                            const char *name) {
  auto *begin = static_cast<char *>(arena) - guard;
  int64_t whole = arena ? arena_bytes + 2 * guard : 0;
  auto isInside = [&](const void *data) {
    auto *at = static_cast<const char *>(data);
    return arena && at >= begin && at < begin + whole;
  };
  for (size_t i = 0; operands[i].bytes >= 0; ++i) {
    const mxrt_guard_operand &operand = operands[i];
    if ((operand.flags & MXRT_GUARD_WRITES) &&
        !(operand.flags & MXRT_GUARD_OVER) && isInside(buffers[i]))
      memset(buffers[i], MXRT_POISON_BYTE, static_cast<size_t>(operand.bytes));
  }
  Shadow shadow(context->allocator, begin, whole);
  if (whole > 0 && !shadow.isThere())
    return outOfMemory(context->allocator, context->place).release();
  if (mxrt_status status = kernel(context, buffers, sizes))
    return status;
  for (size_t i = 0; operands[i].bytes >= 0; ++i)
    if (operands[i].flags & MXRT_GUARD_WRITES)
      shadow.accept(static_cast<const char *>(buffers[i]), operands[i].bytes);
  if (int64_t at = whole > 0 ? shadow.firstChange() : -1; at >= 0)
    return error(context->allocator, MXRT_INTERNAL, context->place,
                 "kernel `%s` changed byte %lld of its arena of %lld, which is "
                 "in none of its outputs",
                 name, static_cast<long long>(at - guard),
                 static_cast<long long>(arena_bytes))
        .release();
  for (size_t i = 0; operands[i].bytes >= 0; ++i)
    if ((operands[i].flags & MXRT_GUARD_ENDS) && isInside(buffers[i]))
      memset(buffers[i], MXRT_POISON_BYTE,
             static_cast<size_t>(operands[i].bytes));
  return nullptr;
}

} // extern "C"
