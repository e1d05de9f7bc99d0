// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarded kernel calls: compares the arena with a shadow copy and searches outputs for poison.

#include "mxrt/guard.h"
#include "base/Allocator.h"
#include "base/Status.h"
#include "memory/Poison.h"

#include <cstring>

using namespace mxrt;

namespace {

constexpr int64_t guard = MXRT_GUARD_BYTES;

/// A copy of the arena with its redzones, from before the call.
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

  /// Excludes bytes that were written legitimately from the comparison.
  void accept(const char *from, int64_t length) {
    if (from >= begin && from + length <= begin + bytes)
      memcpy(copy + (from - begin), from, static_cast<size_t>(length));
  }
  /// Offset of the first byte that changed; -1: none.
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

/// Index of the first poisoned float of an operand; -1: none, or not floats.
int64_t poisonIn(const mxrt_guard_operand &operand, const void *data) {
  if (!(operand.flags & MXRT_GUARD_FLOATS))
    return -1;
  int64_t element = operand.flags / MXRT_GUARD_ELEMENT;
  return firstPoison(data, operand.bytes / element, element);
}

} // namespace

extern "C" {

void mxrt_guard_begin(void *arena, int64_t bytes) {
  memset(static_cast<char *>(arena) - guard, MXRT_POISON_BYTE,
         static_cast<size_t>(bytes + 2 * guard));
}

mxrt_status mxrt_guard_call(const mxrt_context *context, mxrt_compiled_kernel kernel,
                            void *const *buffers, const int64_t *sizes, void *arena,
                            int64_t arena_bytes, const mxrt_guard_operand *operands,
                            const char *name) {
  auto *begin = static_cast<char *>(arena) - guard;
  int64_t whole = arena ? arena_bytes + 2 * guard : 0;
  auto isInside = [&](const void *data) {
    auto *at = static_cast<const char *>(data);
    return arena && at >= begin && at < begin + whole;
  };
  bool readsPoison = false;
  for (size_t i = 0; operands[i].bytes >= 0; ++i) {
    const mxrt_guard_operand &operand = operands[i];
    readsPoison |= (operand.flags & MXRT_GUARD_READS) && poisonIn(operand, buffers[i]) >= 0;
    if ((operand.flags & MXRT_GUARD_WRITES) && !(operand.flags & MXRT_GUARD_OVER))
      memset(buffers[i], MXRT_POISON_BYTE, static_cast<size_t>(operand.bytes));
  }
  Shadow shadow(context->allocator, begin, whole);
  if (whole > 0 && !shadow.isThere())
    return outOfMemory(context->allocator, context->location).release();
  if (mxrt_status status = kernel(context, buffers, sizes))
    return status;
  for (size_t i = 0; operands[i].bytes >= 0; ++i)
    if (operands[i].flags & MXRT_GUARD_WRITES)
      shadow.accept(static_cast<const char *>(buffers[i]), operands[i].bytes);
  if (int64_t at = whole > 0 ? shadow.firstChange() : -1; at >= 0)
    return error(context->allocator, MXRT_INTERNAL, context->location,
                 "kernel `%s` changed byte %lld of its arena of %lld, which is "
                 "in none of its outputs",
                 name, static_cast<long long>(at - guard), static_cast<long long>(arena_bytes))
        .release();
  for (size_t i = 0; operands[i].bytes >= 0; ++i) {
    bool isFresh = (operands[i].flags & MXRT_GUARD_WRITES) &&
                   !(operands[i].flags & MXRT_GUARD_OVER) && !readsPoison;
    if (int64_t at = isFresh ? poisonIn(operands[i], buffers[i]) : -1; at >= 0)
      return error(context->allocator, MXRT_INTERNAL, context->location,
                   "kernel `%s` did not write element %lld of its operand %zu", name,
                   static_cast<long long>(at), i)
          .release();
  }
  for (size_t i = 0; operands[i].bytes >= 0; ++i)
    if ((operands[i].flags & MXRT_GUARD_ENDS) && isInside(buffers[i]))
      memset(buffers[i], MXRT_POISON_BYTE, static_cast<size_t>(operands[i].bytes));
  return nullptr;
}

} // extern "C"
