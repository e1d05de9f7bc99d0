// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "engine/Failure.h"

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
  // The last resort serves many ops but has one place in the list.
  if (failure == &lastResort)
    for (Failure *known = first; known; known = known->nextInLog)
      if (known == failure) {
        ++dropped;
        return;
      }
  if (count == capacity)
    forgetNoticed();
  if (count == capacity) {
    // Give up the latest: what users need is the cause, not the last echo.
    Failure **latest = &first;
    for (Failure **link = &first; *link; link = &(*link)->nextInLog)
      if ((*link)->sequence > (*latest)->sequence)
        latest = link;
    ++dropped;
    if ((*latest)->sequence < failure->sequence)
      return;
    Failure *out = *latest;
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

Status FailureLog::takeFirst(mxrt_place place, bool repeat) {
  FailureRef earliest;
  uint64_t others;
  {
    // All of it under the lock: the last resort is one object, and another
    // thread may want to put it back on the list.
    Lock lock(mutex);
    others = std::exchange(dropped, 0);
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
  Status status = earliest->notice(place);
  if (others > 1) {
    char note[64];
    std::snprintf(note, sizeof note, "note: %llu more failed",
                  static_cast<unsigned long long>(others - 1));
    status = std::move(status).withNote(note);
  }
  return status;
}

} // namespace mxrt::engine
