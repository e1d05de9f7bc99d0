// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helper threads and the entry mxrt_parallel_for (fork-join thread pool). Helpers spin for a
// short time after work, then sleep on a futex, so that back-to-back loops of a few microseconds
// do not pay for a system call each. Spin time scales with the last work time, as long as no
// other thread needs the processor: waking a thread whose processor was halted takes long on a
// virtual machine, which matters for loops of a millisecond.

#include "base/Allocator.h"
#include "base/CheckedMath.h"
#include "base/Context.h"
#include "base/ParallelRegion.h"

#include <cstdio>
#include <cstring>

using namespace mxrt;

struct mxrt_team {
  mxrt_team(const mxrt_allocator &alloc, mxrt_thread_budget *budget)
      : alloc(alloc), budget(budget), threads(&this->alloc) {}

  mxrt_allocator alloc;
  mxrt_thread_budget *budget;
  bool spins = false;

  Mutex mutex;
  // Guarded by mutex.
  Region *regions = nullptr;
  Vec<os::Thread> threads; // fixed size: helpers keep pointers into it
  int started = 0;
  bool refused = false; // the system refused more threads

  /// Number of posted regions (and the stop); idle helpers sleep on it.
  alignas(64) std::atomic<uint32_t> posted{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};
  /// Number of regions whose last helper left; callers sleep on it.
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<uint32_t> waiters{0};
};

namespace {

/// Spins until done() or timeout.
template <typename Done>
bool spinAfter(const mxrt_team *team, int64_t workedNs, bool isCounted,
               Done done) {
  if (!team->spins)
    return done();
  int64_t begin = 0;
  for (int round = 0;; ++round) {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      os::relax();
    }
    int64_t now = os::monotonicNs();
    if (round == 0)
      begin = now;
    int64_t spun = now - begin;
    if (spun >= spinNs(workedNs, team->budget->free(), isCounted))
      return false;
    // The awaited thread may need this processor.
    if (spun >= minSpinNs)
      os::yieldThread();
  }
}

Region *joinAny(mxrt_team *team, int &seat) {
  Lock lock(team->mutex);
  for (Region *region = team->regions; region; region = region->next) {
    if (region->takenSeats < region->seats) {
      seat = region->takenSeats++;
      region->active.fetch_add(1, std::memory_order_relaxed);
      return region;
    }
  }
  return nullptr;
}

void leave(mxrt_team *team, Region *region) {
  mxrt_thread_budget_give(team->budget, 1);
  // After this the region may be destroyed: only the team is accessed.
  if (region->active.fetch_sub(1) != 1)
    return;
  team->finished.fetch_add(1);
  if (team->waiters.load() != 0)
    os::futexWake(team->finished, UINT32_MAX);
}

void helperMain(void *argument) {
  auto *team = static_cast<mxrt_team *>(argument);
  int64_t workedNs = 0;
  for (;;) {
    uint32_t seen = team->posted.load(std::memory_order_acquire);
    if (team->stop.load(std::memory_order_acquire))
      return;
    int seat;
    if (Region *region = joinAny(team, seat)) {
      int64_t begin = os::monotonicNs();
      region->work(seat, team->budget);
      workedNs = os::monotonicNs() - begin;
      leave(team, region);
      continue;
    }
    if (spinAfter(team, workedNs, false, [&] {
          return team->posted.load(std::memory_order_acquire) != seen;
        }))
      continue;
    workedNs = 0;
    team->sleepers.fetch_add(1);
    os::futexWait(team->posted, seen);
    team->sleepers.fetch_sub(1);
  }
}

/// Makes the region visible to helpers. Returns the number of existing helpers.
int post(mxrt_team *team, Region &region, int wanted) {
  Lock lock(team->mutex);
  while (team->started < wanted && !team->refused) {
    char name[16];
    snprintf(name, sizeof(name), "mx-par-%d", team->started);
    auto &thread = team->threads[static_cast<size_t>(team->started)];
    if (os::startThread(thread, helperMain, team, name))
      ++team->started;
    else
      team->refused = true; // fewer helpers: slower, still correct
  }
  if (team->started == 0)
    return 0;
  region.next = team->regions;
  if (region.next)
    region.next->previous = &region;
  team->regions = &region;
  return team->started;
}

/// Removes the region from the list; returns the number of seats not taken.
int close(mxrt_team *team, Region &region) {
  Lock lock(team->mutex);
  if (region.previous)
    region.previous->next = region.next;
  else
    team->regions = region.next;
  if (region.next)
    region.next->previous = region.previous;
  int unused = region.seats - region.takenSeats;
  region.takenSeats = region.seats;
  return unused;
}

void waitForHelpers(mxrt_team *team, Region &region, int64_t workedNs) {
  auto gone = [&] { return region.active.load() == 0; };
  if (spinAfter(team, workedNs, true, gone))
    return;
  team->waiters.fetch_add(1);
  for (;;) {
    uint32_t seen = team->finished.load();
    if (gone())
      break;
    os::futexWait(team->finished, seen);
  }
  team->waiters.fetch_sub(1);
}

/// Runs the region with up to `helpers` helpers, which are already charged to the budget.
mxrt_status runShared(mxrt_team *team, Region &region, int helpers) {
  region.dealSeats(helpers + 1);
  if (post(team, region, helpers) == 0) {
    mxrt_thread_budget_give(team->budget, helpers);
    return region.runInline();
  }
  team->posted.fetch_add(1);
  if (uint32_t sleeping = team->sleepers.load())
    os::futexWake(team->posted, sleeping < static_cast<uint32_t>(helpers)
                                    ? sleeping
                                    : static_cast<uint32_t>(helpers));
  int64_t begin = os::monotonicNs();
  region.work(0, nullptr);
  mxrt_thread_budget_give(team->budget, close(team, region));
  waitForHelpers(team, region, os::monotonicNs() - begin);
  // A helper that left early may have left chunks in its seat.
  region.work(0, nullptr);
  return region.takeError();
}

} // namespace

extern "C" {

void mxrt_context_init(mxrt_context *context) {
  memset(context, 0, contextBaseBytes); // a caller built for ABI 2.0 has no more fields
  context->allocator = mxrt_system_allocator();
}

mxrt_status mxrt_ready(const mxrt_context *context, int64_t output) {
  if (!(context->holds_thread & MXRT_CONTEXT_READY) || !context->ready)
    return nullptr;
  return context->ready(context->ready_user, output);
}

mxrt_status mxrt_poll(const mxrt_context *context) {
  if (!context->cancelled ||
      __atomic_load_n(context->cancelled, __ATOMIC_RELAXED) == 0) [[likely]]
    return nullptr;
  return mxrt_status_text(context->allocator, MXRT_CANCELLED, &context->location,
                          "cancelled");
}

int64_t mxrt_parallel_chunks(int64_t count, int64_t grain) {
  return count <= 0 ? 0 : ceilDiv(count, effectiveGrain(count, grain));
}

mxrt_status mxrt_parallel_for(const mxrt_context *context, int64_t count,
                              int64_t grain, mxrt_range_body body,
                              void *user) {
  if (count < 0 || grain < 0)
    return error(context->allocator, MXRT_INVALID_ARGUMENT, context->location,
                 "parallel_for over %lld elements with grain %lld",
                 static_cast<long long>(count), static_cast<long long>(grain))
        .release();
  if (count == 0)
    return mxrt_poll(context);
  Region region(context, count, grain, body, user);
  mxrt_team *team = context->team;
  if (region.chunkCount() == 1 || context->nested || !team ||
      team->threads.empty())
    return region.runInline();

  bool charge = !(context->holds_thread & MXRT_CONTEXT_HOLDS_THREAD);
  if (charge)
    mxrt_thread_budget_enter(team->budget);
  uint32_t wanted = region.chunkCount() - 1;
  if (wanted > team->threads.size())
    wanted = static_cast<uint32_t>(team->threads.size());
  int helpers =
      mxrt_thread_budget_take(team->budget, static_cast<int32_t>(wanted));
  mxrt_status result =
      helpers ? runShared(team, region, helpers) : region.runInline();
  if (charge)
    mxrt_thread_budget_leave(team->budget);
  return result;
}

mxrt_status mxrt_team_create(const mxrt_allocator *allocator,
                             mxrt_thread_budget *budget, mxrt_team **out) {
  *out = nullptr;
  if (!allocator)
    allocator = mxrt_system_allocator();
  auto *team = newObject<mxrt_team>(allocator, *allocator, budget);
  if (!team)
    return outOfMemory(allocator).release();
  int helpers = budget->total - 1 < maxSeats - 1 ? budget->total - 1
                                                 : maxSeats - 1;
  if (!team->threads.resize(static_cast<size_t>(helpers))) {
    mxrt_team_destroy(team);
    return outOfMemory(allocator).release();
  }
  // With fewer processors than threads, spinning only takes time from the working thread.
  team->spins = budget->total <= os::processorCount();
  *out = team;
  return nullptr;
}

void mxrt_team_destroy(mxrt_team *team) {
  if (!team)
    return;
  team->stop.store(true, std::memory_order_release);
  team->posted.fetch_add(1);
  os::futexWake(team->posted, UINT32_MAX);
  for (os::Thread &thread : team->threads)
    os::joinThread(thread);
  mxrt_allocator alloc = team->alloc;
  deleteObject(&alloc, team);
}

mxrt_thread_budget *mxrt_team_budget(mxrt_team *team) { return team->budget; }

} // extern "C"
