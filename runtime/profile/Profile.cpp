// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recording of profile events into a fixed-size, lock-free buffer.

#include "profile/Profile.h"

#include "abi/Runtime.h"

#include <algorithm>
#include <cstring>

using namespace mxrt;
using namespace mxrt::profile;

/// Keeps the end of a path, which says more than its beginning. Never splits a UTF-8 character.
static void copyTail(char *to, size_t capacity, const char *text) {
  if (!text) {
    to[0] = 0;
    return;
  }
  size_t length = std::strlen(text);
  const char *from = text;
  if (length >= capacity) {
    from = text + (length - capacity + 1);
    while ((static_cast<unsigned char>(*from) & 0xC0) == 0x80)
      ++from;
  }
  std::memcpy(to, from, std::strlen(from) + 1);
}

/// Small thread numbers for the trace; the kernel's id is queried once.
static uint32_t threadNumber() {
  static thread_local uint32_t number =
      static_cast<uint32_t>(os::currentThreadId());
  return number;
}

void mxrt_profile::record(Category category, const char *name, mxrt_location location,
                          int32_t lane, int64_t begin, int64_t end,
                          int64_t bytes) {
  uint64_t index = used.fetch_add(1, std::memory_order_relaxed);
  if (index >= capacity)
    return; // lost, and included in the count
  Event &event = events.load(std::memory_order_acquire)[index];
  event.begin = begin;
  event.end = std::max(begin, end);
  event.bytes = bytes;
  event.line = location.line;
  event.column = location.column;
  event.thread = threadNumber();
  event.lane = static_cast<int16_t>(lane);
  event.category = static_cast<uint8_t>(category);
  copyTail(event.name, sizeof event.name, name ? name : "?");
  copyTail(event.file, sizeof event.file, location.file);
  event.complete.store(1, std::memory_order_release);
}

mxrt_status mxrt_profile_create(const mxrt_allocator *allocator,
                                size_t capacity, mxrt_profile **profile) {
  const mxrt_allocator *alloc = allocator ? allocator : mxrt_system_allocator();
  if (capacity == 0)
    capacity = 65536;
  *profile = nullptr;
  if (capacity > SIZE_MAX / 2 / sizeof(Event))
    return outOfMemory(alloc).release();
  *profile = newObject<mxrt_profile>(alloc, alloc, capacity);
  return *profile ? nullptr : outOfMemory(alloc).release();
}

mxrt_status mxrt_runtime_profile(mxrt_runtime *runtime,
                                 mxrt_profile **profile) {
  *profile = nullptr;
  Result<void *> part = runtime->part(
      Part::Profile,
      [](mxrt_runtime *owner, void **object) {
        mxrt_profile *made = nullptr;
        Status status(mxrt_profile_create(&owner->alloc, 0, &made));
        *object = made;
        return status;
      },
      [](mxrt_runtime *, void *object) {
        mxrt_profile_destroy(static_cast<mxrt_profile *>(object));
      });
  if (part.failed())
    return part.takeStatus().release();
  *profile = static_cast<mxrt_profile *>(*part);
  return nullptr;
}

void mxrt_profile_destroy(mxrt_profile *profile) {
  if (!profile)
    return;
  const mxrt_allocator *alloc = profile->alloc;
  releaseBytes(alloc, profile->events.load(std::memory_order_relaxed),
               profile->capacity * sizeof(Event), 64);
  deleteObject(alloc, profile);
}

mxrt_status mxrt_profile_start(mxrt_profile *profile) {
  if (!profile->events.load(std::memory_order_acquire)) {
    size_t bytes = profile->capacity * sizeof(Event);
    auto *room = static_cast<Event *>(allocateBytes(profile->alloc, bytes, 64));
    if (!room)
      return outOfMemory(profile->alloc).release();
    for (size_t i = 0; i < profile->capacity; ++i)
      ::new (static_cast<void *>(room + i)) Event{};
    // Two threads may start at once; the memory of the second is not needed.
    Event *none = nullptr;
    if (!profile->events.compare_exchange_strong(none, room,
                                                 std::memory_order_acq_rel))
      releaseBytes(profile->alloc, room, bytes, 64);
  }
  profile->on.store(true, std::memory_order_release);
  return nullptr;
}

void mxrt_profile_stop(mxrt_profile *profile) {
  profile->on.store(false, std::memory_order_relaxed);
}

void mxrt_profile_reset(mxrt_profile *profile) {
  uint64_t end = std::min<uint64_t>(
      profile->used.load(std::memory_order_relaxed), profile->capacity);
  Event *events = profile->events.load(std::memory_order_acquire);
  for (uint64_t i = 0; i < end; ++i)
    events[i].complete.store(0, std::memory_order_relaxed);
  profile->used.store(0, std::memory_order_release);
}

int64_t mxrt_profile_now(void) { return os::monotonicNs(); }

void mxrt_profile_record(mxrt_profile *profile, mxrt_profile_category category,
                         const char *name, mxrt_location location, int32_t lane,
                         int64_t begin_ns, int64_t end_ns, int64_t bytes) {
  if (profile && profile->enabled())
    profile->record(static_cast<Category>(category), name, location, lane,
                    begin_ns, end_ns, bytes);
}

void mxrt_profile_count(mxrt_profile *profile, uint64_t *kept, uint64_t *lost) {
  uint64_t begun = profile->used.load(std::memory_order_relaxed);
  uint64_t room = profile->capacity;
  if (kept)
    *kept = std::min(begun, room);
  if (lost)
    *lost = begun > room ? begun - room : 0;
}
