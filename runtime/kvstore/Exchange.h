// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collective calls of one rank: matches them with those of the other ranks and
// runs the exchange of their buckets. It knows neither tensors nor the engine
// (dist/Store.h adds both), so the simulator runs the same code.
//
//   Exchange exchange(transport);                   // connect
//   Call call(alloc, table, weight);                // keys, and this step
//   exchange.begin(call);                           // announces it to the other ranks
//   exchange.push(call, bucket, memory, done);      // once for each bucket, in any order
//   while (!isDone) transport.progress();           // callbacks run inside of it
//
// The calls of a rank are numbered. Each is announced to all other ranks with the
// hash of its table, its weight, and the rows that it has of each key that is not
// dense; no element is sent before all announcements of the call are there and the
// hashes are equal. So ranks that made different calls, or have different models, get
// R0702 with both sides; they never wait for each other or
// add values of different keys. The buckets of a call and of several calls travel
// at the same time, matched by tag. Only where averages are encoded a bucket waits for that of the
// call before with the same residuals: each encoding needs what the one before left out.
//
// Failures: weights that add up to 0 (R0703) fail the call, at every rank. Any
// other failure is final: everything pending, and every later call, fails with
// it, at all ranks. It names the rank that it came from.
//
// Thread rule: that of the transport, one thread at a time.

#ifndef MXRT_KVSTORE_EXCHANGE_H
#define MXRT_KVSTORE_EXCHANGE_H

#include "kvstore/Collective.h"
#include "kvstore/KeyTable.h"

namespace mxrt::kvstore {

/// Called once, possibly inside of begin(), push() or fail().
struct ExchangeDone {
  void (*run)(void *user, Status status) = nullptr;
  void *user = nullptr;
};

class Exchange;

inline constexpr size_t factorAlignment = 64;

/// One collective call. It stays at its address until finished(), and is not
/// destroyed inside of a callback. The table outlives it.
class Call {
public:
  /// `weight` is that of this rank in a mean: its number of rows, as a rule; finite
  /// and at least 0. `agreed` is told when all ranks have made the call, or that it
  /// failed.
  /// `residuals` are those of the buckets, if their averages are encoded; they outlive the call.
  Call(const mxrt_allocator *alloc, const KeyTable &table, double weight = 1,
       ExchangeDone agreed = {}, std::span<Residual> residuals = {})
      : table(table), weight(weight), agreed(agreed), residuals(residuals), peers(alloc),
        flights(alloc), description(alloc), announcement(alloc), counts(alloc) {}
  /// When it is finished, or the transport ends before it runs another callback.
  ~Call();
  /// The rows that this rank has of each key that is not dense, in the order of the keys; 0 of those
  /// that are not told. Before begin(). False if out of memory.
  [[nodiscard]] bool announce(std::span<const uint64_t> counts);
  /// Nothing refers to it any more, except buckets that were not pushed.
  bool finished() const { return isOver && outstanding == 0; }

  // What all ranks know once they have agreed.
  /// How a bucket travels.
  Form travels(uint32_t bucket) const;
  /// The rows that each rank sends of a key that is not dense: none with weight 0.
  std::span<const uint64_t> countsOf(const Key &key) const;
  double weightOf(int rank) const { return peers[size_t(rank)].theirs.weight; }
  double weights() const { return totalWeight; }
  /// The memory of a bucket of factors, in bytes: u and v of each rank in turn, each from a multiple
  /// of factorAlignment on.
  Status factorParts(uint32_t bucket, Vec<Part> &parts, size_t &bytes) const;
  /// Payload that this rank sends for a bucket.
  uint64_t sentBytes(uint32_t bucket) const;

  const KeyTable &table;
  const double weight;

private:
  friend class Exchange;
  // Forms.cpp
  [[nodiscard]] bool prepareAnnouncement(int rank, size_t ranks);
  [[nodiscard]] bool readCounts(int rank, net::View view);
  void dropWeightless();
  /// What this rank and another one tell each other about the call.
  struct Announcement {
    uint64_t hash;
    double weight;
    // and the rows of each key that is not dense
  };
  struct Peer {
    Call *call = nullptr;
    int rank = 0;
    Announcement own = {}, theirs = {};
    net::Op *receiving = nullptr;
    /// Of the announcement, of the description.
    struct Sending {
      Peer *peer = nullptr;
      net::Op *op = nullptr;
    } sends[2];
  };
  /// What the ranks have of a bucket that is not dense.
  struct PartsMemory {
    explicit PartsMemory(const mxrt_allocator *alloc) : plan(alloc), parts(alloc), bytes(alloc) {}
    Plan plan;
    Vec<Part> parts;
    Vec<double> bytes; // aligned; of rows
  };
  /// A bucket that was pushed.
  struct Flight {
    Call *call = nullptr;
    Box<Collective> collective;
    void *memory = nullptr;
    OwnRows own;
    Box<PartsMemory> parts; // that travel as rows or factors
    ExchangeDone done;
    enum State : uint8_t { New, Waiting, Running, Over } state = New;
  };

  const ExchangeDone agreed;
  const std::span<Residual> residuals;
  Exchange *owner = nullptr; // from begin() on
  uint32_t number = 0;       // of the call: the step of its tags
  size_t outstanding = 0;    // operations, and buckets that are pushed and not over
  int missing = 0;           // announcements
  int differing = 0;         // descriptions
  double totalWeight = 0;
  bool isRunning = false;    // all ranks agree
  bool isOver = false;       // `agreed` was told
  Status failure;
  Status mismatch; // with the lowest rank that made another call
  int mismatchRank = 0;
  Vec<Peer> peers; // by rank
  Vec<Flight> flights;
  Vec<char> description; // of the table, once it differs from another
  Vec<char> announcement;
  Vec<uint64_t> counts; // of each rank, key after key
  Call *previous = nullptr, *next = nullptr;
};

class Exchange final : net::Watcher {
public:
  explicit Exchange(net::Transport &transport);
  /// When no call is pending, or the transport ends before it runs another callback.
  ~Exchange();
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;

  /// Announces the call. Failures are reported to `agreed` and to the buckets.
  void begin(Call &call);
  /// The elements of the bucket are in `memory`, which belongs to the exchange
  /// until `done`. Their sum, mean and so on has then replaced them.
  /// Of a key with Form::Rows: `memory` is all zeros, and `own` has the rows of this rank,
  /// whose numbers are checked; with allElements rows, `memory` has the elements. Of a key
  /// that travels as factors: `memory` is as in Call::factorParts, with those of this rank.
  void push(Call &call, uint32_t bucket, void *memory, ExchangeDone done, const OwnRows &own = {});
  /// Fails everything pending and all that follows, because of an error of this
  /// rank: the others are told that it is lost.
  void fail(Status why);
  /// After a failure: stops waiting for messages of other ranks once they have read those
  /// of this one, so that its calls finish. For a rank that is about to leave; call it
  /// after each progress().
  void abandon();
  /// Success until a final failure.
  Status failure() const { return broken.share(); }
  /// No call that was begun is alive.
  bool idle() const { return !first; }

private:
  friend class Call;
  using Arrived = void (Exchange::*)(Call &, Call::Peer &, net::View);
  void peerLost(int peer, const Status &why) override;
  template <Arrived arrived> void receive(Call::Peer &peer, uint32_t key, size_t maxBytes);
  void send(Call::Peer &peer, int which, const void *data, size_t bytes);
  void announced(Call &call, Call::Peer &peer, net::View view);
  void described(Call &call, Call::Peer &peer, net::View view);
  void decide(Call &first);
  Status sumWeights(Call &call);
  bool isNextFor(const Call &call, uint32_t bucket) const;
  void start(Call::Flight &flight);
  Status startParts(Call::Flight &flight, Form form);
  Status finishRows(Call::Flight &flight);
  void run(Call::Flight &flight, const Plan &plan, const Reduction &reduction);
  void end(Call::Flight &flight, Status status);
  Status unsendable(const Call::Flight &flight) const;
  void agree(Call &call);
  void failCall(Call &call, const Status &why);
  void cancelSends(Call &call);
  void breakFrom(uint32_t number, const Status &why, bool everywhere = false);

  net::Transport &transport;
  Status broken;
  uint32_t nextNumber = 0;
  Call *first = nullptr, *last = nullptr; // by number
};

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_EXCHANGE_H
