// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bounded log of unnoticed failures.

#include "engine/Failure.h"

#include <algorithm>
#include <cstdio>

namespace mxrt::engine {

FailureLog::~FailureLog() {
  while (first) {
    Failure *failure = first;
    first = failure->nextInLog;
    Failure::release(failure);
  }
}

FailureRef FailureLog::make(Status status, uint64_t sequence) {
  if (Failure *failure =
          newObject<Failure>(alloc, alloc, std::move(status), sequence))
    return FailureRef(failure);
  lastResort.noticed.store(false, std::memory_order_relaxed);
  return FailureRef::share(&lastResort);
}

void FailureLog::add(Failure *failure) {
  Lock lock(mutex);
  // The last resort serves many ops but can be in the list only once.
  if (failure == &lastResort)
    for (Failure *known = first; known; known = known->nextInLog)
      if (known == failure) {
        ++dropped;
        return;
      }
  if (count == capacity)
    forgetNoticed();
  if (count == capacity) {
    // Drop the latest: users need the cause, not the last echo.
    Failure **latest = &first;
    for (Failure **link = &first; *link; link = &(*link)->nextInLog)
      if ((*link)->sequence > (*latest)->sequence)
        latest = link;
    ++dropped;
    if ((*latest)->sequence < failure->sequence) {
      earliestDropped = std::min(earliestDropped, failure->sequence);
      return;
    }
    Failure *out = *latest;
    earliestDropped = std::min(earliestDropped, out->sequence);
    *latest = out->nextInLog;
    --count;
    Failure::release(out);
  }
  failure->retain();
  failure->nextInLog = first;
  first = failure;
  ++count;
}

void FailureLog::forgetNoticed() {
  Failure **link = &first;
  while (Failure *failure = *link) {
    if (!failure->noticed.load(std::memory_order_relaxed)) {
      link = &failure->nextInLog;
      continue;
    }
    *link = failure->nextInLog;
    --count;
    Failure::release(failure);
  }
}

Status FailureLog::takeFirst(mxrt_location location, bool repeat) {
  FailureRef earliest;
  uint64_t others;
  {
    // All of this runs under the lock: the last resort is a single object, and another thread
    // may put it back on the list.
    Lock lock(mutex);
    others = std::exchange(dropped, 0);
    earliestDropped = UINT64_MAX;
    while (Failure *failure = first) {
      first = std::exchange(failure->nextInLog, nullptr);
      if (repeat || !failure->noticed.load(std::memory_order_relaxed)) {
        ++others;
        earliest.keepEarlier(failure);
        failure->noticed.store(true, std::memory_order_relaxed);
      }
      Failure::release(failure);
    }
    count = 0;
  }
  if (!earliest)
    return success();
  Status status = earliest->notice(location);
  if (others > 1) {
    char note[64];
    std::snprintf(note, sizeof note, "note: %llu more failed",
                  static_cast<unsigned long long>(others - 1));
    status = std::move(status).withNote(note);
  }
  return status;
}

void FailureLog::noticeFrom(uint64_t sequence) {
  Lock lock(mutex);
  for (Failure *failure = first; failure; failure = failure->nextInLog)
    if (failure->sequence >= sequence)
      failure->noticed.store(true, std::memory_order_relaxed);
  // Of the dropped failures only the earliest is known: if it is among these, all are.
  if (earliestDropped >= sequence) {
    dropped = 0;
    earliestDropped = UINT64_MAX;
  }
  forgetNoticed();
}

} // namespace mxrt::engine
