// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One collective of one buffer: executes a Plan over a transport. It progresses in
// the callbacks of the transport, so it never blocks, and any number of them may
// be in flight, started in any order at each rank.
//
// The elements are summed in place. From start() until the callback they belong
// to the collective; after a failure their values are undefined. It fails as a
// whole when any rank is lost, with R0701 that names it, and ends only when the
// transport no longer reads its memory. After an error that only this rank has
// (no memory, a message of the wrong size) the rank gives up: no peer waits for it.
//
// If the plan encodes (Encoding.h), a rank's share of the mean is its elements times
// weight / total weight, rounded once; shares are added, and nothing is divided.

#ifndef MXRT_KVSTORE_COLLECTIVE_H
#define MXRT_KVSTORE_COLLECTIVE_H

#include "kvstore/Plan.h"
#include "net/Transport.h"

namespace mxrt::kvstore {

struct Reduction {
  net::Tag tag;                // chunk is ignored
  mxrt_dtype dtype = MXRT_F32; // f32 or f64; u8 for plans that add nothing
  void *data = nullptr;
  /// A mean with the weight of this rank, which must be finite and at least 0;
  /// else a sum.
  bool mean = false;
  double weight = 1;
  /// The sum of all ranks' weights, above 0; 0 if the caller does not know it:
  /// then the ranks send each other their weights.
  double totalWeight = 0;
  /// Of a plan that encodes: how, and the residuals of the elements. It is a mean then, and
  /// `totalWeight` is known.
  Encoding encoding = {};
  Residual *residual = nullptr;
};

/// Called once when a collective has finished, possibly inside of start().
struct CollectiveDone {
  void (*run)(void *user) = nullptr;
  void *user = nullptr;
};

class Collective final : net::Watcher {
public:
  /// The plan is for this rank and these elements, and outlives the collective.
  Collective(net::Transport &transport, const Plan &plan, const Reduction &exchange,
             CollectiveDone done = {})
      : transport(transport), plan(plan), exchange(exchange), done(done),
        states(transport.allocator()), ready(transport.allocator()), weights(transport.allocator()),
        arrays(transport.allocator()), encoded(transport.allocator()),
        decoded(transport.allocator()) {}
  /// When it is finished or was never started; otherwise the transport must end
  /// before it runs another callback.
  ~Collective();

  /// R0002, R0101 or R0203 if it cannot begin; then nothing was sent.
  Status start();
  bool finished() const { return over; }
  /// Its outcome, once finished.
  Status outcome() const { return failure.share(); }
  /// After R0304: the element that cannot be encoded.
  size_t unsendableElement() const { return unsendable; }

private:
  struct State {
    Collective *owner = nullptr;
    net::Op *op = nullptr;
    net::View view;
    uint32_t waits = 0;
    uint32_t arrival = 0; // for planted faults
  };
  void peerLost(int peer, const Status &why) override;
  void post(uint32_t index);
  void run(uint32_t index);
  template <typename T> bool fold(const Step &step);
  bool foldEncoded(const Step &step);
  bool encodeStep(const Step &step);
  Status makeRoomToEncode();
  void finishStep(uint32_t index);
  void drain();
  /// `everywhere`: all ranks find the same error by themselves.
  void fail(Status why, bool everywhere = false);
  void end();
  void exchangeWeights();
  void weightArrived(int peer, net::View view);
  static void sent(void *user, Status status);
  static void received(void *user, net::View view, Status status);

  net::Transport &transport;
  const Plan &plan;
  const Reduction exchange;
  const CollectiveDone done;
  Vec<State> states; // of the steps, then of the weights: sends, receives
  Vec<uint32_t> ready;
  Vec<double> weights;
  Vec<const void *> arrays; // inputs of a fold
  Vec<char> encoded;        // what this rank sends of each piece
  Vec<float> decoded;       // two pieces: a sum, an input
  size_t stepsLeft = 0, outstanding = 0, unsendable = 0;
  int weightsLeft = 0;
  double totalWeight = 0;
  uint32_t arrivals = 0;
  Status failure;
  bool started = false, draining = false, over = false;
};

/// Drives a transport until the collective is over; for callers that have
/// nothing else to do.
Status waitFor(net::Transport &transport, Collective &collective);

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_COLLECTIVE_H
