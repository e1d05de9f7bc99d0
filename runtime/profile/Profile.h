// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recording side of the profiler; see mxrt/profile.h for the rules.

#ifndef MXRT_PROFILE_PROFILE_H
#define MXRT_PROFILE_PROFILE_H

#include "base/Allocator.h"
#include "base/Os.h"
#include "mxrt/profile.h"

#include <atomic>

namespace mxrt::profile {

enum class Category : uint32_t {
  Op = MXRT_PROFILE_OP,
  Wait = MXRT_PROFILE_WAIT,
  Copy = MXRT_PROFILE_COPY,
  Allocation = MXRT_PROFILE_ALLOCATION,
  Host = MXRT_PROFILE_HOST
};

constexpr int32_t noLane = -1;

struct Event {
  int64_t begin; // nanoseconds of the monotonic clock
  int64_t end;
  int64_t bytes;
  int32_t line;
  int32_t column;
  uint32_t thread;
  int16_t lane;
  uint8_t category;
  /// Set last, with release: readers skip events that are still being written.
  std::atomic<uint8_t> complete;
  char name[48];
  char file[40];
};
static_assert(sizeof(Event) == 128);

} // namespace mxrt::profile

struct mxrt_profile {
  mxrt_profile(const mxrt_allocator *alloc, size_t capacity)
      : alloc(alloc), capacity(capacity) {}

  bool enabled() const { return on.load(std::memory_order_relaxed); }
  void record(mxrt::profile::Category category, const char *name,
              mxrt_location location, int32_t lane, int64_t begin, int64_t end,
              int64_t bytes);

  const mxrt_allocator *const alloc;
  const size_t capacity;
  /// Null until the first start, then never changed.
  std::atomic<mxrt::profile::Event *> events{nullptr};
  /// On its own cache line: every op reads it.
  alignas(64) std::atomic<bool> on{false};
  /// Number of events begun; those past the capacity are lost.
  alignas(64) std::atomic<uint64_t> used{0};
};

namespace mxrt::profile {

/// RAII span: records its own lifetime. Its arguments must outlive it. Costs one relaxed load if
/// `profile` is off, a test if it is null.
class Span {
public:
  Span(mxrt_profile *profile, Category category, const char *name,
       mxrt_location location, uint32_t lane = static_cast<uint32_t>(noLane)) {
    if (profile && profile->enabled()) [[unlikely]] {
      this->profile = profile;
      this->category = category;
      this->name = name;
      this->location = location;
      this->lane = static_cast<int32_t>(lane);
      begin = os::monotonicNs();
    }
  }
  ~Span() {
    if (profile) [[unlikely]]
      profile->record(category, name, location, lane, begin, os::monotonicNs(), 0);
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

private:
  // Only `profile` is set unless the span records.
  mxrt_profile *profile = nullptr;
  Category category;
  int32_t lane;
  const char *name;
  mxrt_location location;
  int64_t begin;
};

} // namespace mxrt::profile

#endif // MXRT_PROFILE_PROFILE_H
