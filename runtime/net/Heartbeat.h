// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failure detection of transports over a network. Each rank sends a heartbeat every `beatNs`, with
// the set of ranks that it has lost. A peer is lost when nothing came from it for `lostAfterNs` on
// the clock, or when another rank reports it. A rank that finds itself in such a set loses all of
// its peers; one that gave up is in its own set and reports no other.

#ifndef MXRT_NET_HEARTBEAT_H
#define MXRT_NET_HEARTBEAT_H

#include "net/Clock.h"
#include "net/Endpoint.h"

namespace mxrt::net {

class Heartbeat : public Endpoint {
protected:
  struct Period {
    int64_t beatNs, lostAfterNs;
  };
  Heartbeat(const mxrt_allocator *alloc, int rank, int ranks, Clock &clock, const Limits &limits,
            Period period)
      : Endpoint(alloc, rank, ranks, limits), clock(clock), period(period) {}
  /// Begins to count. R0002 for a period that makes no sense.
  Status openHeartbeat();

  void heard(int peer) { heardAt[size_t(peer)] = clock.now(); }
  /// Declares silent peers lost. Time in which this process itself was stopped does not count.
  void checkSilence();
  /// To be called before what has arrived is read.
  void noticePause();
  /// How long this process itself was stopped, if that ended a moment ago; else 0.
  int64_t pauseNs() const;
  /// Whether heartbeats are to be sent now; plans the next ones.
  bool isBeatDue();
  void beatSoon() { nextBeatAt = clock.now(); }

  /// The payload of a heartbeat: a bit for each rank.
  const Vec<char> &lostRanks();
  void hearLosses(int from, const char *lost);
  Status loss(int peer, const char *reason) const;

  Clock &clock;
  const Period period;
  int64_t nextBeatAt = 0;
  bool removed = false; // this rank was declared lost

private:
  Vec<int64_t> heardAt{alloc};
  Vec<char> bitmap{alloc};
  int64_t polledAt = 0, pausedUntil = 0, pausedNs = 0;
};

} // namespace mxrt::net

#endif // MXRT_NET_HEARTBEAT_H
