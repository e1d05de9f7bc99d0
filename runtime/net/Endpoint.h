// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base class of the transports: pending operations, message matching by tag,
// lost peers, callbacks. A transport implements the transfer of bytes.

#ifndef MXRT_NET_ENDPOINT_H
#define MXRT_NET_ENDPOINT_H

#include "net/Transport.h"

namespace mxrt::net {

struct Op {
  enum class Kind : uint8_t { Send, Receive };
  Kind kind;
  bool ready = false;     // its callback is pending
  bool cancelled = false; // by the caller; it ends as soon as it can
  int peer;
  Tag tag;
  const char *data = nullptr; // of a send
  size_t bytes = 0;           // of a send; of a receive, the max it takes
  SendDone sendDone;
  ReceiveDone receiveDone;
  View view;
  Status status;
  Op *previous = nullptr, *next = nullptr; // all that are active
  Op *chain = nullptr;                     // its bucket, or those that are ready

  // For the transports.
  Op *queued = nullptr;     // next one that waits to be sent
  Op *queuedBefore = nullptr;
  size_t progress = 0;      // bytes handed to the wire
  uint64_t unconfirmed = 0; // packets
  uint64_t number = 0;      // of the message, or of its slot
  uint32_t checksum = 0;    // of the bytes when they were given
  bool started = false;
};

/// A message that arrived. Transports derive theirs from it.
struct Message {
  int peer = 0;
  Tag tag;
  const char *data = nullptr;
  size_t bytes = 0;
  Message *chain = nullptr;
};

class Endpoint : public Transport {
public:
  int rank() const final { return self; }
  int size() const final { return ranks; }
  Result<Op *> send(int peer, const Tag &tag, const void *data, size_t bytes, SendDone done) final;
  Result<Op *> receive(int peer, const Tag &tag, size_t maxBytes, ReceiveDone done) final;
  void cancel(Op *op) final;
  bool release(View view) final;
  bool progress() final;
  void giveUp(Status why) final;
  bool isLost(int peer) const final { return losses[size_t(peer)].failed(); }
  bool hasLeft(int peer) const final { return lossTold[size_t(peer)] == toldLeft; }
  Status lossOf(int peer) const final { return losses[size_t(peer)].share(); }
  void watch(Watcher &watcher) final;
  void unwatch(Watcher &watcher) final;
  const Counters &counters() const final { return count; }
  const mxrt_allocator *allocator() const final { return alloc; }

protected:
  Endpoint(const mxrt_allocator *alloc, int rank, int ranks, const Limits &limits)
      : alloc(alloc), self(rank), ranks(ranks), limits(limits), losses(alloc) {}
  ~Endpoint() override;
  /// R0002 unless 0 <= rank < ranks.
  Status openEndpoint();
  /// Ends all operations without callbacks and drops all messages. The
  /// destructors of transports call it first.
  void dropAll();

  // -- implemented by a transport --------------------------------------------
  /// Begins to send. The bytes are the caller's until finishSend.
  virtual Status startSend(Op &op) = 0;
  /// Forgets a send. False if the bytes are still read: finishSend comes later,
  /// except with `force` (the reader is lost).
  virtual bool cancelSend(Op &op, bool force) = 0;
  /// Before a message is handed out. False if its sender took it back; the
  /// transport has dropped it.
  virtual bool takeMessage(Message &message) = 0;
  /// The end of a message, taken or not. What release() returns.
  virtual bool dropMessage(Message &message, bool taken) = 0;
  /// Tells the other ranks that this one gave up.
  virtual void spreadEnd() = 0;
  /// Polls for messages and acknowledgements. False if there were none.
  virtual bool poll() = 0;

  // -- called by a transport -------------------------------------------------
  void finishSend(Op &op, Status status);
  void arrived(Message &message);
  /// The posted receive that a message with this tag would match, or nullptr.
  Op *postedFor(int peer, const Tag &tag);
  /// Ends a posted receive with R0701 because the message has too many bytes.
  void refuseTooLong(Op &op, size_t bytes);
  /// `left`: an orderly exit, after all its messages were received.
  void declareLost(int peer, Status why, bool left = false);

  const mxrt_allocator *const alloc;
  const int self, ranks;
  const Limits limits;
  Counters count;
  bool gaveUp = false;

private:
  static constexpr size_t bucketCount = 512;
  static size_t bucketOf(int peer, const Tag &tag);
  static bool matches(int peer, const Tag &tag, int otherPeer, const Tag &other);
  Result<Op *> newOp(Op::Kind kind, int peer, const Tag &tag);
  void makeReady(Op &op, Status status);
  void unlinkPosted(Op &op);
  void tellLosses();

  Vec<Status> losses;
  int untold = 0; // losses that the watchers were not told
  static constexpr uint8_t told = 1, toldLeft = 2;
  Vec<uint8_t> lossTold{alloc};
  Op *active = nullptr;
  Op *readyFirst = nullptr, *readyLast = nullptr;
  Watcher *watchers = nullptr, *nextWatcher = nullptr;
  Op *posted[bucketCount] = {};
  Message *unexpected[bucketCount] = {};
};

} // namespace mxrt::net

#endif // MXRT_NET_ENDPOINT_H
