// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Silence of peers, and the spread of losses.

#include "net/Heartbeat.h"

#include "net/Faults.h"

#include <cstdio>
#include <cstring>

namespace mxrt::net {

Status Heartbeat::openHeartbeat() {
  MXRT_CHECK(openEndpoint());
  if (period.beatNs <= 0 || period.lostAfterNs <= period.beatNs)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "heartbeats every %lld ns cannot find a loss after %lld ns",
                 static_cast<long long>(period.beatNs),
                 static_cast<long long>(period.lostAfterNs));
  if (!heardAt.resize(size_t(ranks)) || !bitmap.resize(size_t(ranks + 7) / 8))
    return outOfMemory(alloc);
  polledAt = clock.now();
  nextBeatAt = polledAt;
  for (int64_t &each : heardAt)
    each = polledAt;
  return success();
}

Status Heartbeat::loss(int peer, const char *reason) const {
  return error(alloc, MXRT_KVSTORE, noLocation, "rank %d is lost: %s", peer, reason);
}

void Heartbeat::noticePause() {
  int64_t now = clock.now();
  if (now - polledAt < period.lostAfterNs)
    return;
  pausedNs = now - polledAt;
  pausedUntil = now;
}

int64_t Heartbeat::pauseNs() const {
  return pausedNs > 0 && clock.now() - pausedUntil < period.lostAfterNs ? pausedNs : 0;
}

bool Heartbeat::isBeatDue() {
  int64_t now = clock.now();
  if (now < nextBeatAt)
    return false;
  nextBeatAt = now + period.beatNs;
  return true;
}

const Vec<char> &Heartbeat::lostRanks() {
  std::memset(bitmap.data(), 0, bitmap.size());
  for (int peer = 0; peer < ranks; ++peer)
    if ((gaveUp ? peer == self : isLost(peer) && !hasLeft(peer)) && !planted(Fault::LossNotSpread))
      bitmap[size_t(peer) / 8] |= char(1 << peer % 8);
  return bitmap;
}

void Heartbeat::hearLosses(int from, const char *lost) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (!(lost[size_t(peer) / 8] >> peer % 8 & 1))
      continue;
    if (peer != self) {
      char reason[64] = "it gave up after an error of its own";
      if (peer != from)
        std::snprintf(reason, sizeof reason, "rank %d reported it", from);
      declareLost(peer, loss(peer, reason));
      continue;
    }
    if (gaveUp)
      continue;
    removed = true;
    for (int other = 0; other < ranks; ++other)
      declareLost(other, error(alloc, MXRT_KVSTORE, noLocation,
                               "rank %d is lost: rank %d declared this process lost", self, from));
  }
}

void Heartbeat::checkSilence() {
  int64_t now = clock.now();
  // A process that was itself stopped must not declare its peers lost.
  int64_t stalled = now - polledAt - 2 * period.beatNs;
  polledAt = now;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self || isLost(peer))
      continue;
    if (stalled > 0)
      heardAt[size_t(peer)] += stalled;
    int64_t silence = now - heardAt[size_t(peer)];
    if (silence < period.lostAfterNs || planted(Fault::SilenceIgnored))
      continue;
    char reason[64];
    std::snprintf(reason, sizeof reason, "no sign of life for %lld ms",
                  static_cast<long long>(silence / millisecond));
    declareLost(peer, loss(peer, reason));
  }
}

} // namespace mxrt::net
