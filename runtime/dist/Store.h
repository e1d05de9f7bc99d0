// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank's connection as programs see it: collective calls on tensors, ordered
// by the engine. A call returns at once; its results are new tensors, each of
// which completes when its bucket has arrived, so work on the first buckets runs
// while others travel.
//
// For each bucket there is one op on the communication lane. It starts when the
// tensors of its keys are complete (a running graph may have released them early),
// copies them into the memory of the exchange, and is deferred. A thread of the
// store drives the transport, copies results out and completes the op. No op
// blocks a worker.
//
// A failure poisons the results with the error of the exchange, which names the
// rank. A tensor that is poisoned itself ends the exchange of this rank: its own
// error poisons the results here, the other ranks hear that this one gave up.
//
// Thread rule: issue() and the like from one thread, as the VM.

#ifndef MXRT_DIST_STORE_H
#define MXRT_DIST_STORE_H

#include "kvstore/Exchange.h"
#include "memory/Tensor.h"
#include "mxrt/runtime.h"

namespace mxrt::dist {

/// A tensor that takes part in a call, with the name of its key.
struct Item {
  std::string_view name;
  mxrt_tensor *tensor = nullptr; // borrowed
};

struct Totals {
  uint64_t sentBytes = 0, receivedBytes = 0, sentMessages = 0, receivedMessages = 0;
  uint64_t calls = 0;
  /// Time between the moment when the bucket was complete here and its end, over
  /// all buckets.
  int64_t waitNs = 0;
};

class Store {
public:
  /// Takes over the transport, and starts the thread. Layouts that differ between
  /// ranks fail the first call.
  static Result<Store *> connect(mxrt_runtime *runtime, Box<net::Transport> transport,
                                 const kvstore::Layout &layout, mxrt_location location);
  int rank() const;
  int size() const;
  /// Ranks that are not lost; all of them as long as membership is fixed.
  int members() const;

  /// Issues a call. `weight` is used by Average alone: R0703 unless it is finite
  /// and at least 0. `results` has room for one tensor an item.
  Status issue(kvstore::Action action, double weight, std::span<const Item> items,
               mxrt_location location, std::span<TensorRef> results);
  /// Waits until every rank is here.
  Status barrier(mxrt_location location);
  Totals totals() const;
  /// A table by key: bytes, waits, steps.
  Status describe(Vec<char> &text) const;

  /// An orderly exit: waits for what was issued. Later calls are R0704.
  void close();
  void retain();
  void release();
};

} // namespace mxrt::dist

#endif // MXRT_DIST_STORE_H
