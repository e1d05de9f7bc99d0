// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collective calls of one rank: matches them with those of the other ranks and
// runs the exchange of their buckets. It knows neither tensors nor the engine
// (dist/Store.h is both), so the simulator runs the same code.
//
//   Exchange exchange(transport, layout);           // connect
//   Call call(table, weight);                       // keys, and this step
//   exchange.begin(call);                           // tells the other ranks
//   exchange.push(call, bucket, memory, done);      // once for each bucket, in any order
//   while (!done) transport.progress();             // callbacks run inside of it
//
// The calls of a rank are numbered. Each is announced to all other ranks with the
// hash of its table and its weight; no element is sent before all announcements
// of the call are there and equal. So ranks that made different calls, or have
// different models, get R0702 with both sides; they never wait for each other or
// add values of different keys. The buckets of a call and of several calls travel
// at the same time, matched by tag.
//
// A failure is final: everything pending, and every later call, fails with it,
// at all ranks. It names the rank that it came from.
//
// Thread rule: that of the transport, one thread at a time.

#ifndef MXRT_KVSTORE_EXCHANGE_H
#define MXRT_KVSTORE_EXCHANGE_H

#include "kvstore/Collective.h"
#include "kvstore/KeyTable.h"

namespace mxrt::kvstore {

/// Called once; may run inside of begin(), push() and fail().
struct BucketDone {
  void (*run)(void *user, Status status) = nullptr;
  void *user = nullptr;
};

class Exchange;

/// One collective call. It stays at its address until finished() is true.
class Call {
public:
  /// `weight` is that of this rank in a mean: its number of rows, as a rule.
  Call(const mxrt_allocator *alloc, const KeyTable &table, double weight = 1,
       BucketDone agreed = {})
      : table(table), weight(weight), agreed(agreed), peers(alloc), flights(alloc) {}
  ~Call();
  /// All buckets, and what was sent for the call, are over.
  bool finished() const { return outstanding == 0; }

  const KeyTable &table;
  const double weight;

private:
  friend class Exchange;
  struct Peer;
  struct Flight;
  /// The other ranks made the same call, or it failed. For calls without keys.
  const BucketDone agreed;
  Exchange *owner = nullptr;
  uint32_t number = 0; // of the call, the step of its tags
  size_t outstanding = 0;
  int missing = 0;         // announcements
  double totalWeight = 0;  // once all are there
  bool running = false;    // all ranks agree
  Vec<Peer> peers;
  Vec<Flight> flights; // of the buckets
  Vec<char> description;
  Call *previous = nullptr, *next = nullptr;
};

class Exchange final : net::Watcher {
public:
  Exchange(net::Transport &transport, const Layout &layout);
  /// When nothing is pending; otherwise the transport must end before it runs
  /// another callback.
  ~Exchange();

  /// Announces the call. What fails is told to `agreed` and to the buckets.
  void begin(Call &call);
  /// The elements of the bucket in `memory`, which belong to the exchange until
  /// `done`. Their sum, mean and so on is then in their place.
  void push(Call &call, uint32_t bucket, void *memory, BucketDone done);
  /// Fails everything pending and all that follows: this rank has an error of its
  /// own, which the others hear of.
  void fail(Status why);
  /// Success until something failed.
  Status failure() const { return broken.share(); }
  /// No call is pending.
  bool idle() const { return !first; }

  net::Transport &transport;
  const Layout layout;
};

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_EXCHANGE_H
