// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Point-to-point messages between the ranks of a job, matched by tag. A
// message is received under the tag that it was sent with; messages with different
// tags have no order, so ranks may start their exchanges in any order.
//
// Memory: the bytes of a send belong to the transport until its callback has
// run. A received message is a View that the transport owns until release().
// Transports that share memory (Local, Shm) hand out the sender's own bytes:
// nothing is copied, and the send completes when the view is
// released.
//
// Callbacks run inside of progress(), never inside of another call. Each send
// and each receive has exactly one, also after cancel() and after a peer is
// lost. They may send, receive, cancel and release.
//
// Failures: a peer is lost when the transport says so, once and for all. Every
// operation with it ends with R0701 that names the rank and the reason, and so
// does every later one. A loss that one rank notices spreads to all of them. A
// rank that was itself declared lost loses all of its peers. A rank that left in
// an orderly exit is lost too, but only for ranks with pending operations on it:
// its earlier messages still arrive, and watchers are not told.
//
// Thread rule: one thread at a time for each object, except wake().

#ifndef MXRT_NET_TRANSPORT_H
#define MXRT_NET_TRANSPORT_H

#include "base/Allocator.h"

namespace mxrt::net {

/// Names a message between two ranks. Unique among those in flight from one rank
/// to another.
struct Tag {
  uint32_t epoch = 0, step = 0, key = 0, chunk = 0;
  bool operator==(const Tag &) const = default;
};

/// The bytes of a received message.
struct View {
  const void *data = nullptr;
  size_t bytes = 0;
  void *owner = nullptr;
};

struct SendDone {
  void (*run)(void *user, Status status) = nullptr;
  void *user = nullptr;
};
/// `view` is empty unless the status is success.
struct ReceiveDone {
  void (*run)(void *user, View view, Status status) = nullptr;
  void *user = nullptr;
};

/// A pending operation; no longer valid when its callback runs.
struct Op;

/// Payload is counted once a message: as sent when the transport accepts it, as
/// received when a callback gets it. Wire bytes are those of all datagrams, with
/// headers and retransmissions; 0 where there are none.
struct Counters {
  uint64_t sentBytes = 0, receivedBytes = 0;
  uint64_t sentMessages = 0, receivedMessages = 0;
  uint64_t wireBytes = 0;
  uint64_t retransmissions = 0;
  uint64_t damaged = 0; // datagrams whose checksum or form was wrong
};

struct Limits {
  /// A longer message is refused, by the sender and before the receiver takes
  /// memory for it.
  size_t maxMessageBytes = size_t(1) << 30;
  /// Received bytes that no receive was posted for. What exceeds this waits at
  /// the sender.
  size_t maxUnexpectedBytes = size_t(256) << 20;
};

/// Observer of lost peers, called inside of progress(). An intrusive list node:
/// it must be removed before it is destroyed.
class Watcher {
public:
  virtual void peerLost(int peer, const Status &why) = 0;

protected:
  ~Watcher() = default;

private:
  friend class Endpoint;
  Watcher *previous = nullptr, *next = nullptr;
};

class Transport {
public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// R0002 for a peer that is not another rank, R0103 for too many bytes.
  virtual Result<Op *> send(int peer, const Tag &tag, const void *data, size_t bytes,
                            SendDone done) = 0;
  /// A message of more than `maxBytes` is dropped, and the callback gets R0701.
  virtual Result<Op *> receive(int peer, const Tag &tag, size_t maxBytes, ReceiveDone done) = 0;
  /// Ends an operation early: its callback gets R0004, or what it would have got
  /// anyway. It may come late: only then is the memory of a send free.
  virtual void cancel(Op *op) = 0;
  /// Ends the use of a view. False if its bytes may have changed meanwhile: the
  /// sender retracted the message, or declared this rank lost. Results computed from
  /// them must not be used. The loss of a rank is reported next.
  [[nodiscard]] virtual bool release(View view) = 0;

  /// Makes progress on all operations and runs callbacks. False if nothing happened.
  virtual bool progress() = 0;
  /// Sleeps until something may have happened since the last progress(), at most
  /// `timeoutNs` (negative: no limit). May return early.
  virtual void wait(int64_t timeoutNs) = 0;
  /// Ends the wait() that runs, or the next one if there was no progress() since. From any
  /// thread.
  virtual void wake() = 0;

  /// Ends this rank's part in the job after an error of its own: all operations
  /// fail with `why`, and the other ranks are told that this one is lost. Peers that
  /// wait for its messages would wait for ever otherwise.
  virtual void giveUp(Status why) = 0;
  virtual bool isLost(int peer) const = 0;
  /// A lost peer that ended its transport with an orderly exit.
  virtual bool hasLeft(int peer) const = 0;
  /// Why a peer is lost; success if it is not.
  virtual Status lossOf(int peer) const = 0;
  virtual void watch(Watcher &watcher) = 0;
  virtual void unwatch(Watcher &watcher) = 0;
  virtual const Counters &counters() const = 0;
  virtual const mxrt_allocator *allocator() const = 0;
};

/// Owns a transport of any kind. (Box knows the size of its own type only.)
class TransportBox {
public:
  TransportBox() = default;
  template <typename T>
  TransportBox(const mxrt_allocator *alloc, T *object)
      : alloc(alloc), object(object), destroy([](const mxrt_allocator *alloc, Transport *object) {
          deleteObject(alloc, static_cast<T *>(object));
        }) {}
  TransportBox(TransportBox &&other) noexcept
      : alloc(other.alloc), object(std::exchange(other.object, nullptr)), destroy(other.destroy) {}
  TransportBox &operator=(TransportBox &&other) noexcept {
    std::swap(alloc, other.alloc);
    std::swap(object, other.object);
    std::swap(destroy, other.destroy);
    return *this;
  }
  ~TransportBox() {
    if (object)
      destroy(alloc, object);
  }
  Transport *operator->() const { return object; }
  Transport &operator*() const { return *object; }

private:
  const mxrt_allocator *alloc = nullptr;
  Transport *object = nullptr;
  void (*destroy)(const mxrt_allocator *, Transport *) = nullptr;
};

} // namespace mxrt::net

#endif // MXRT_NET_TRANSPORT_H
