// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Start-up and shutdown of a shared-memory job, and the heartbeat thread.

#include "base/CheckedMath.h"
#include "base/Files.h"
#include "base/SharedMemory.h"
#include "net/Shm.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace mxrt::net {

using namespace shm;

Status Shm::systemError(const char *what, int number) const {
  char buffer[128];
  return error(alloc, MXRT_SYSTEM, noLocation, "cannot %s of job `%s`: %s", what, options.job,
               os::errorText(number, buffer, sizeof buffer));
}

Status Shm::checkOptions() const {
  size_t length = std::strlen(options.job);
  bool named = length > 0 && length <= 64;
  for (const char *at = options.job; *at && named; ++at)
    named = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || *at == '-' || *at == '_';
  if (!named)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "the name of a job is up to 64 letters, digits, `-` and `_`, not `%s`",
                 options.job);
  if (ranks > maxRanks)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "shared memory serves at most %d ranks, not %d", maxRanks, ranks);
  if (options.segmentBytes < os::pageSize() || options.segmentBytes > SIZE_MAX / 4 ||
      options.beatNs <= 0 || options.lostAfterNs < 2 * options.beatNs || options.connectNs <= 0)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "options of job `%s` are out of range",
                 options.job);
  return success();
}

Status Shm::openControl(int64_t deadline) {
  std::snprintf(controlName, sizeof controlName, "/mx-%s", options.job);
  std::snprintf(segmentName, sizeof segmentName, "/mx-%s-%d", options.job, self);
  size_t wanted = controlBytes(ranks), bytes = wanted;
  int file;
  if (self == 0) {
    if (int failure = os::createShared(controlName, wanted, file))
      return systemError("create the control segment", failure);
    madeControl = true;
  } else {
    int failure;
    while ((failure = os::openShared(controlName, file, bytes)) != 0 || bytes == 0) {
      if (!failure)
        os::closeFile(file); // its maker has not given it a size yet
      if (clock.now() >= deadline)
        return systemError("open the control segment", failure);
      MXRT_CHECK(check());
      os::sleepNs(millisecond);
    }
  }
  if (bytes != wanted) {
    os::closeFile(file);
    return error(alloc, MXRT_KVSTORE, noLocation, "job `%s` has another number of ranks than %d",
                 options.job, ranks);
  }
  int failure = self == 0 ? os::reserveShared(file, 0, bytes) : 0;
  void *memory = failure ? nullptr : os::mapShared(file, bytes, true);
  os::closeFile(file);
  if (!memory)
    return systemError("map the control segment", failure);
  // New pages are zero: the initial value of all fields.
  control = static_cast<Control *>(memory);
  pairs = reinterpret_cast<Pair *>(static_cast<char *>(memory) + sizeof(Control));
  if (self == 0) {
    control->ranks = uint32_t(ranks);
    control->segmentBytes = options.segmentBytes;
    control->ready.store(magic, std::memory_order_release);
  }
  while (control->ready.load(std::memory_order_acquire) != magic) {
    if (clock.now() >= deadline)
      return error(alloc, MXRT_KVSTORE, noLocation, "rank 0 of job `%s` did not get ready",
                   options.job);
    MXRT_CHECK(check());
    os::sleepNs(millisecond);
  }
  if (control->ranks != uint32_t(ranks) || control->segmentBytes != options.segmentBytes)
    return error(alloc, MXRT_KVSTORE, noLocation,
                 "rank %d of job `%s` has other ranks or segment sizes than rank 0", self,
                 options.job);
  return success();
}

Status Shm::waitForAll(const std::atomic<uint32_t> &counter, int64_t deadline, const char *what) {
  for (;;) {
    uint32_t there = counter.load(std::memory_order_acquire);
    if (there == uint32_t(ranks))
      return success();
    for (int rank = 0; rank < ranks; ++rank)
      if (standingOf(rankOf(rank).standing.load()) == Standing::GaveUp) {
        // The cause, a rank that ended, may become known here a moment later than there.
        for (int64_t until = std::min(deadline, clock.now() + second); clock.now() < until;
             os::sleepNs(millisecond))
          MXRT_CHECK(check());
        return error(alloc, MXRT_KVSTORE, noLocation,
                     "rank %d is lost: it gave up after an error of its own", rank);
      }
    int64_t left = deadline - clock.now();
    if (left > 0) {
      Status stopped = check();
      if (stopped.failed() && counter.load(std::memory_order_acquire) == there)
        return stopped;
      os::futexWaitShared(counter, there, std::min(left, 50 * millisecond));
      continue;
    }
    char missing[200] = "";
    size_t at = 0;
    for (int rank = 0; rank < ranks && at < sizeof missing - 8; ++rank)
      if (standingOf(rankOf(rank).standing.load()) == Standing::Absent)
        at += size_t(std::snprintf(missing + at, sizeof missing - at, " %d", rank));
    return error(alloc, MXRT_KVSTORE, noLocation,
                 "%u of %d ranks of job `%s` %s within %lld ms; absent:%s", there, ranks,
                 options.job, what, static_cast<long long>(options.connectNs / millisecond),
                 at ? missing : " none");
  }
}

Status Shm::openSegments(int64_t deadline) {
  if (int failure = os::createShared(segmentName, options.segmentBytes, segmentFile))
    return systemError("create a data segment", failure);
  madeSegment = true;
  segment = static_cast<char *>(os::mapShared(segmentFile, options.segmentBytes, true));
  if (!segment)
    return systemError("map a data segment", 0);
  if (!blocks.push({0, options.segmentBytes & ~size_t(MXRT_ALIGNMENT - 1), false}))
    return outOfMemory(alloc);
  Rank &own = rankOf(self);
  own.process.store(os::processId());
  uint32_t absent = uint32_t(Standing::Absent);
  if (!own.standing.compare_exchange_strong(absent, uint32_t(Standing::Present)))
    return error(alloc, MXRT_KVSTORE, noLocation, "rank %d of job `%s` is there twice", self,
                 options.job);
  control->attached.fetch_add(1);
  os::futexWakeShared(control->attached, UINT32_MAX);
  MXRT_CHECK(waitForAll(control->attached, deadline, "came"));
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == self)
      continue;
    Peer &peer = peers[size_t(rank)];
    char name[sizeof segmentName];
    std::snprintf(name, sizeof name, "/mx-%s-%d", options.job, rank);
    int file;
    size_t bytes;
    int failure = os::openShared(name, file, bytes);
    if (failure)
      return systemError("open a data segment", failure);
    if (bytes == options.segmentBytes)
      peer.segment = static_cast<char *>(os::mapShared(file, bytes, false));
    os::closeFile(file);
    if (!peer.segment)
      return systemError("map a data segment", 0);
    peer.process = os::openProcess(rankOf(rank).process.load());
  }
  control->mapped.fetch_add(1);
  os::futexWakeShared(control->mapped, UINT32_MAX);
  return waitForAll(control->mapped, deadline, "were ready");
}

void Shm::removeNames() {
  if (madeSegment)
    (void)os::removeShared(segmentName);
  if (madeControl)
    (void)os::removeShared(controlName);
  madeSegment = madeControl = false;
}

Status Shm::connect() {
  MXRT_CHECK(checkOptions());
  MXRT_CHECK(openEndpoint());
  if (!peers.resize(size_t(ranks)))
    return outOfMemory(alloc);
  int64_t deadline = clock.now() + options.connectNs;
  Status status = openControl(deadline);
  if (status.ok())
    status = openSegments(deadline);
  bool owns = madeSegment; // else another process may be this rank
  removeNames();           // all have the memory, or this rank fails
  int failure = 0;
  if (status.ok() && ranks > 1 && !os::startThread(heart, beat, this, "mx-heart", &failure))
    status = systemError("start the heartbeat", failure);
  // So that the other ranks do not wait for this one.
  if (status.failed() && owns)
    rankOf(self).standing.store(uint32_t(Standing::GaveUp));
  return status;
}

Shm::~Shm() {
  if (heart.started) {
    heartStops.store(1);
    os::futexWake(heartStops, 1);
    os::joinThread(heart);
  }
  if (control) {
    dropAll();
    uint32_t present = uint32_t(Standing::Present);
    rankOf(self).standing.compare_exchange_strong(present, uint32_t(Standing::Left));
    ringAll();
    os::unmapShared(control, controlBytes(ranks));
  }
  removeNames();
  for (Peer &peer : peers) {
    while (ShmMessage *message = peer.unreturned) {
      peer.unreturned = message->next;
      deleteObject(alloc, message);
    }
    if (peer.segment)
      os::unmapShared(peer.segment, options.segmentBytes);
    if (peer.process >= 0)
      os::closeFile(peer.process);
  }
  if (segment)
    os::unmapShared(segment, options.segmentBytes);
  if (segmentFile >= 0)
    os::closeFile(segmentFile);
}

// -- heartbeat ----------------------------------------------------------------

void Shm::beat(void *user) {
  auto &self = *static_cast<Shm *>(user);
  int64_t before = self.clock.now();
  while (self.heartStops.load() == 0) {
    self.rankOf(self.self).heartbeat.fetch_add(1);
    int64_t now = self.clock.now();
    self.lookAfterOthers(now - before);
    before = now;
    os::futexWait(self.heartStops, 0, self.options.beatNs);
  }
}

void Shm::lookAfterOthers(int64_t elapsed) {
  // If this process was stopped, that time does not count: it could not observe
  // the others.
  elapsed = std::min(elapsed, 2 * options.beatNs);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == self || standingOf(rankOf(rank).standing.load()) != Standing::Present)
      continue;
    Peer &peer = peers[size_t(rank)];
    uint32_t beats = rankOf(rank).heartbeat.load();
    peer.silentNs = beats != peer.lastBeat ? 0 : peer.silentNs + elapsed;
    peer.lastBeat = beats;
    if (peer.process >= 0 && os::processEnded(peer.process))
      lose(rank, Reason::Ended);
    else if (peer.silentNs >= options.lostAfterNs)
      lose(rank, Reason::Silent);
  }
}

void Shm::lose(int peer, Reason reason) {
  uint32_t present = uint32_t(Standing::Present);
  // A rank that was itself declared lost must not declare others lost.
  if (standingOf(rankOf(self).standing.load()) != Standing::Present)
    return;
  if (rankOf(peer).standing.compare_exchange_strong(present, lostWord(reason, self)))
    ringAll();
}

} // namespace mxrt::net
