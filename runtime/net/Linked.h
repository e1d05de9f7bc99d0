// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transport over reliable links (net/Links.h): gRPC, MPI.
//
// A message travels as frames. A short one goes at once, as long as the receiver holds few that
// nobody has asked for (credit). A long one is offered first; the receiver asks for it when a
// receive is posted, or when it has room for messages that nobody waits for. So no frame waits for
// memory: links never block, whatever the order of keys. Memory is taken for a message that was
// asked for, after its length was checked.
//
// Besides silence (net/Heartbeat.h), a peer is lost when its link breaks or it sends a malformed
// frame. A rank that was declared lost stops sending.

#ifndef MXRT_NET_LINKED_H
#define MXRT_NET_LINKED_H

#include "net/Heartbeat.h"
#include "net/Links.h"

namespace mxrt::net {

struct LinkedOptions {
  size_t frameBytes = size_t(512) << 10; // payload of a frame, at most
  size_t shortBytes = size_t(16) << 10;  // a message up to here goes at once
  size_t creditBytes = size_t(1) << 20;  // of short messages that a receiver holds for one peer
  int64_t beatNs = 250 * millisecond;
  int64_t lostAfterNs = 4 * second;
  int64_t leaveNs = 2 * second; // how long the end waits for peers to take what was sent
  Limits limits;
};

/// Precedes the payload of each frame.
struct FrameHeader {
  uint32_t magic, kind;
  uint32_t from, bytes;             // of payload in this frame
  uint64_t message, messageBytes, offset;
  uint64_t returned;                // bytes of credit, since the link opened
  Tag tag;
};

class Linked final : public Heartbeat {
public:
  /// The links belong to the transport; the clock outlives it.
  Linked(const mxrt_allocator *alloc, int rank, int ranks, Links &links, Clock &clock,
         const LinkedOptions &options)
      : Heartbeat(alloc, rank, ranks, clock, options.limits, {options.beatNs, options.lostAfterNs}),
        links(links), options(options), peers(alloc) {}
  /// An orderly exit: the other ranks see that this one left.
  ~Linked() override;

  /// Waits until all links are open. R0701 with the ranks that did not come in time.
  Status connect(const char *const *addresses, int64_t limitNs,
                 Status (*check)(void *user) = nullptr, void *user = nullptr);
  void wait(int64_t timeoutNs) override;
  void wake() override { links.wake(); }
  static size_t maxFrameBytes(const LinkedOptions &options, int ranks);

private:
  struct Incoming;
  enum class Kind : uint32_t { Whole = 1, Offer, Ask, Part, Withdraw, Beat, Leave };
  /// Operations in the order in which they are to be sent.
  struct Queue {
    Op *first = nullptr, *last = nullptr;
    void push(Op &op);
    void remove(Op &op);
  };
  struct Peer {
    bool open = false, left = false;
    // sending
    Queue begins, offered, asked; // an operation is in one of them: queueOf
    uint64_t nextMessage = 0;
    uint64_t creditUsed = 0, creditReturned = 0;
    Vec<uint64_t> withdrawn;
    // receiving
    Incoming *offers = nullptr;  // not asked for yet, in order
    Incoming *partial = nullptr; // asked for
    uint64_t returned = 0, returnedTold = 0;
    explicit Peer(const mxrt_allocator *alloc = nullptr) : withdrawn(alloc) {}
  };

  Queue &queueOf(Op &op);
  Status startSend(Op &op) override;
  bool cancelSend(Op &op, bool force) override;
  bool takeMessage(Message &message) override;
  bool dropMessage(Message &message, bool taken) override;
  void spreadEnd() override { beatSoon(); }
  bool poll() override;

  void handle(const Links::Event &event);
  void takeFrame(int from, const FrameHeader &header, const Links::Event &event);
  void takeWhole(int from, const FrameHeader &header, const Links::Event &event);
  void takeOffer(int from, const FrameHeader &header);
  void takePart(int from, const FrameHeader &header, const Links::Event &event);
  void takeAsk(int from, uint64_t message);
  void withdraw(int from, uint64_t message);
  void broken(int peer, const char *reason);
  void malformed(int peer) { declareLost(peer, loss(peer, "it sent a malformed message")); }
  Incoming *newIncoming(int from, const FrameHeader &header);
  void deleteIncoming(Incoming *incoming);
  void dropIncoming(Peer &peer);
  /// Asks for offers that there is a receive or room for.
  bool ask(int from);
  bool transmit(int to);
  void sendFrame(int to, Kind kind, FrameHeader &header, const void *payload);
  void sendBeat(int to);
  void beatAll(bool isDue);

  Links &links;
  const LinkedOptions options;
  Vec<Peer> peers;
  size_t unexpectedBytes = 0;
};

} // namespace mxrt::net

#endif // MXRT_NET_LINKED_H
