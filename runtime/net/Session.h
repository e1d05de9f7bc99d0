// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reliable messages over datagrams that may be lost, duplicated, delayed,
// reordered or corrupted. Each message is split into packets with a checksum;
// packets between two ranks are numbered, acknowledged selectively, retransmitted
// until acknowledged, and delivered once.
//
// Besides silence (net/Heartbeat.h), a peer is lost when it restarted (its incarnation grew) or
// broke the protocol. A rank that was declared lost stops sending.

#ifndef MXRT_NET_SESSION_H
#define MXRT_NET_SESSION_H

#include "net/Heartbeat.h"

namespace mxrt::net {

class Datagrams {
public:
  virtual ~Datagrams() = default;
  /// Header and payload as one datagram. Never fails: it may be lost.
  virtual void sendDatagram(int peer, const void *header, size_t headerBytes, const void *payload,
                            size_t payloadBytes) = 0;
  /// The next one that arrived, valid until the next call. False: none.
  virtual bool receiveDatagram(const char *&data, size_t &bytes) = 0;
  /// Sleeps until one arrives, at most so long. May return early.
  virtual void waitForDatagram(int64_t timeoutNs) = 0;
  /// Ends a waitForDatagram(), from any thread; nothing where nobody sleeps.
  virtual void wakeWaiter() {}
};

struct SessionOptions {
  size_t fragmentBytes = 1200;        // payload of a packet
  int64_t retryNs = 20 * millisecond; // doubles up to 16 times as much
  int64_t beatNs = 50 * millisecond;  // between heartbeats
  int64_t lostAfterNs = 2 * second;
  uint32_t incarnation = 1;   // grows with each start of this rank
  bool verifyBuffers = false; // for tests: bytes must not change in flight
  Limits limits;
};

/// Precedes each payload on the wire.
struct PacketHeader {
  uint32_t magic, checksum; // of all that follows
  uint32_t kind, from, to;
  uint32_t incarnation, toIncarnation; // 0: not known yet
  uint32_t bytes;                      // of payload in this packet
  uint64_t number;                     // of the packet
  uint64_t ackNext, ackMask;           // all below ackNext arrived, and these beyond it
  uint64_t message, messageBytes, offset;
  Tag tag;
};

class Session final : public Heartbeat {
public:
  Session(const mxrt_allocator *alloc, int rank, int ranks, Datagrams &datagrams, Clock &clock,
          const SessionOptions &options)
      : Heartbeat(alloc, rank, ranks, clock, options.limits, {options.beatNs, options.lostAfterNs}),
        datagrams(datagrams), options(options), peers(alloc) {}
  ~Session() override;
  Status open();
  void wait(int64_t timeoutNs) override;
  void wake() override { datagrams.wakeWaiter(); }
  /// When progress() should be called, if nothing arrives before.
  int64_t nextDeadline() const;
  /// Whether all sent packets were acknowledged.
  bool quiet() const;

private:
  struct Fragments;
  struct InFlight {
    Op *op = nullptr; // nullptr: cancelled, an empty packet takes the number
    uint64_t message = 0;
    size_t offset = 0;
    uint32_t bytes = 0;
    uint32_t tries = 0;
    int64_t sentAt = 0;
    bool used = false;
  };
  static constexpr uint64_t windowPackets = 64;
  struct Peer {
    uint32_t incarnation = 0;
    // sending
    Op *first = nullptr, *last = nullptr;
    uint64_t nextNumber = 0, base = 0, nextMessage = 0;
    InFlight window[windowPackets];
    // receiving
    uint64_t next = 0, mask = 0;
    Fragments *partial = nullptr;
    bool ackDue = false;
  };

  Status startSend(Op &op) override;
  bool cancelSend(Op &op, bool force) override;
  bool takeMessage(Message &message) override;
  bool dropMessage(Message &message, bool taken) override;
  void spreadEnd() override { beatSoon(); }
  bool poll() override;

  bool handle(const char *data, size_t bytes);
  void confirm(int from, uint64_t next, uint64_t mask);
  void takePacket(int from, const PacketHeader &header, const char *payload);
  bool store(int from, const PacketHeader &header, const char *payload);
  void deleteFragments(Fragments *fragments);
  void transmit(int to);
  void sendSlot(int to, uint64_t number);
  void sendPacket(int to, PacketHeader &header, const char *payload);
  void sendBeat(int to);

  Datagrams &datagrams;
  const SessionOptions options;
  Vec<Peer> peers;
  size_t unexpectedBytes = 0;
};

} // namespace mxrt::net

#endif // MXRT_NET_SESSION_H
