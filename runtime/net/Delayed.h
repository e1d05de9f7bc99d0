// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test double: passes messages to another transport after the time that they would
// take on a link of some bandwidth and latency. One link a rank, messages one after
// the other. For tests and benchmarks of overlap; it models no network.

#ifndef MXRT_NET_DELAYED_H
#define MXRT_NET_DELAYED_H

#include "net/Clock.h"
#include "net/Transport.h"

namespace mxrt::net {

struct Link {
  double bytesPerSecond = 125e6; // 1 Gbit/s
  int64_t latencyNs = 50 * microsecond;
};

class Delayed final : public Transport {
public:
  Delayed(TransportBox inner, const Clock &clock, const Link &link)
      : inner(std::move(inner)), clock(clock), link(link) {}
  ~Delayed() override;

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }
  Result<Op *> send(int peer, const Tag &tag, const void *data, size_t bytes,
                    SendDone done) override;
  Result<Op *> receive(int peer, const Tag &tag, size_t maxBytes, ReceiveDone done) override;
  void cancel(Op *op) override;
  bool release(View view) override { return inner->release(view); }
  bool progress() override;
  void wait(int64_t timeoutNs) override;
  void wake() override { inner->wake(); }
  void giveUp(Status why) override;
  bool isLost(int peer) const override { return inner->isLost(peer); }
  bool hasLeft(int peer) const override { return inner->hasLeft(peer); }
  Status lossOf(int peer) const override { return inner->lossOf(peer); }
  void watch(Watcher &watcher) override { inner->watch(watcher); }
  void unwatch(Watcher &watcher) override { inner->unwatch(watcher); }
  const Counters &counters() const override { return inner->counters(); }
  const mxrt_allocator *allocator() const override { return inner->allocator(); }

private:
  /// What callers get as an Op: a send on the link or in the inner transport, or a receive.
  struct Message {
    Delayed *owner = nullptr;
    Op *op = nullptr; // of the inner transport; nullptr: on the link
    int peer = 0;
    Tag tag;
    const void *data = nullptr;
    size_t bytes = 0;
    int64_t due = 0;
    SendDone sendDone;
    ReceiveDone receiveDone;
    bool cancelled = false;
    Message *previous = nullptr, *next = nullptr; // all of them
    Message *behind = nullptr;                    // on the link
  };
  Message *add();
  void remove(Message *message);
  void forward(Message *message);

  const TransportBox inner;
  const Clock &clock;
  const Link link;
  int64_t freeAt = 0; // the link
  bool gaveUp = false;
  Message *all = nullptr, *first = nullptr, *last = nullptr;
};

} // namespace mxrt::net

#endif // MXRT_NET_DELAYED_H
