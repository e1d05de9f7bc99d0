// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deterministic simulation of a network of ranks, in one thread and in virtual
// time. Every event is a function of the seed and of the calls: a run is
// reproduced by its seed, and digest() verifies that it was the same.
//
//   Sim sim(alloc, seed, ranks);            // then a Session for each rank over
//   while ((rank = sim.next(limit)) >= 0) { // sim.datagrams(rank), sim.clock()
//     sessions[rank]->progress();
//     sim.wake(rank, sessions[rank]->nextDeadline());
//   }
//
// Faults: datagrams are delayed, dropped, duplicated, reordered and corrupted at
// the given rates; ranks crash, restart, pause or are slow; links are cut.

#ifndef MXRT_NET_SIM_H
#define MXRT_NET_SIM_H

#include "net/Session.h"

namespace mxrt::net {

/// SplitMix64: small, fast, and the same everywhere.
class SimRandom {
public:
  explicit SimRandom(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// From 0 up to, not including, `bound` (at least 1).
  uint64_t below(uint64_t bound) { return next() % bound; }
  bool chance(double probability) { return double(next() >> 11) * 0x1p-53 < probability; }

private:
  uint64_t state;
};

struct SimFaults {
  double drop = 0, duplicate = 0, damage = 0;
  /// Chance of a datagram to be held back, so that later ones overtake it.
  double reorder = 0;
  int64_t delayNs = 100 * microsecond; // of every datagram
  int64_t jitterNs = 50 * microsecond; // up to so much more
};

class Sim final : public Clock {
public:
  Sim(const mxrt_allocator *alloc, uint64_t seed, int ranks)
      : alloc(alloc), random(seed), ranks(ranks), nodes(alloc), severed(alloc), events(alloc) {}
  ~Sim() override;
  Status open();
  Datagrams &datagrams(int rank) { return nodes[size_t(rank)]; }
  int64_t now() const override { return time; }

  SimFaults faults;
  /// Datagrams from one rank to another vanish from now on, or no longer.
  void cut(int from, int to, bool severed);
  /// Drops all datagrams in flight to the rank; until restart() those from and
  /// to it are dropped.
  void crash(int rank);
  void restart(int rank);
  /// The rank does nothing until then; what arrives meanwhile waits for it.
  void stop(int rank, int64_t until);
  /// Additional delay of all datagrams to this rank.
  void slow(int rank, int64_t extraNs) { nodes[size_t(rank)].extraNs = extraNs; }
  bool alive(int rank) const { return nodes[size_t(rank)].alive; }

  /// Lets next() return this rank at that time, instead of an earlier request.
  void wake(int rank, int64_t at);
  /// Moves time to the next event and returns the rank that has something to do;
  /// -1 if there is none up to `limit`, which time then is.
  int next(int64_t limit);
  /// Hash of all events so far.
  uint64_t digest() const { return history; }

private:
  /// A datagram, in front of its bytes.
  struct Letter {
    Letter *next = nullptr;
    size_t bytes = 0;
    char *text() { return reinterpret_cast<char *>(this + 1); }
  };
  struct Event {
    int64_t at = 0;
    uint64_t order = 0; // among events of one moment
    int rank = 0;
    Letter *letter = nullptr; // nullptr: the rank wanted to be woken
    uint32_t life = 0;        // of the rank that it was sent to
  };
  struct Node final : Datagrams {
    Sim *sim = nullptr;
    int rank = 0;
    bool alive = true;
    uint32_t life = 0;
    int64_t extraNs = 0, stoppedUntil = 0, wakeAt = -1;
    Letter *first = nullptr, *last = nullptr; // arrived and not yet read
    Letter *current = nullptr;                // being read

    void sendDatagram(int peer, const void *header, size_t headerBytes, const void *payload,
                      size_t payloadBytes) override;
    bool receiveDatagram(const char *&data, size_t &bytes) override;
    void waitForDatagram(int64_t) override {}
  };

  static bool later(const Event &a, const Event &b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }
  bool push(Event event);
  Event pop();
  void forget(Letter *letter);
  void forgetInbox(Node &node);
  void post(int from, int to, const void *header, size_t headerBytes, const void *payload,
            size_t payloadBytes);
  void note(uint64_t what);

  const mxrt_allocator *alloc;
  SimRandom random;
  const int ranks;
  Vec<Node> nodes;
  Vec<uint8_t> severed; // [from][to]
  Vec<Event> events;    // a heap, the earliest in front
  int64_t time = 0;
  uint64_t nextOrder = 0;
  uint64_t history = 0x9E3779B97F4A7C15;
};

} // namespace mxrt::net

#endif // MXRT_NET_SIM_H
