// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sliding window, selective acknowledgement, retransmission and heartbeats over datagrams.

#include "net/Session.h"

#include "base/Crc32.h"
#include "net/Faults.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace mxrt::net {
namespace {

static_assert(std::endian::native == std::endian::little, "packets are little endian");
static_assert(sizeof(PacketHeader) == 96, "no padding travels");

constexpr uint32_t packetMagic = 0x314E584D; // "MXN1"
enum Kind : uint32_t { Data = 1, Void = 2, Beat = 3 };

uint32_t checksumOf(const PacketHeader &header, const void *payload) {
  constexpr size_t begin = offsetof(PacketHeader, kind);
  uint32_t sum = crc32(0, reinterpret_cast<const char *>(&header) + begin, sizeof header - begin);
  return crc32(sum, payload, header.bytes);
}

} // namespace

/// A message in reassembly, and later the complete one.
struct Session::Fragments : Message {
  uint64_t number = 0;
  size_t stored = 0;
  bool unexpected = false; // counts against the limit
  bool discarded = false;  // too long for its receive: no memory was taken
  char *memory = nullptr;
  Fragments *next = nullptr;
};

Status Session::open() {
  MXRT_CHECK(openHeartbeat());
  if (options.fragmentBytes == 0 || options.fragmentBytes > UINT32_MAX || options.retryNs <= 0 ||
      options.incarnation == 0)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "a session's options are out of range");
  return peers.resize(size_t(ranks)) ? success() : outOfMemory(alloc);
}

Session::~Session() {
  dropAll();
  for (Peer &peer : peers)
    while (peer.partial) {
      Fragments *next = peer.partial->next;
      deleteFragments(peer.partial);
      peer.partial = next;
    }
}

// -- sending ------------------------------------------------------------------

Status Session::startSend(Op &op) {
  Peer &peer = peers[size_t(op.peer)];
  op.number = peer.nextMessage++;
  op.unconfirmed = op.bytes ? (op.bytes - 1) / options.fragmentBytes + 1 : 1;
  if (options.verifyBuffers)
    op.checksum = crc32(0, op.data, op.bytes);
  (peer.last ? peer.last->queued : peer.first) = &op;
  peer.last = &op;
  return success();
}

bool Session::cancelSend(Op &op, bool) {
  Peer &peer = peers[size_t(op.peer)];
  peer.last = nullptr;
  for (Op **at = &peer.first; *at;)
    if (*at == &op) {
      *at = op.queued;
    } else {
      peer.last = *at;
      at = &(*at)->queued;
    }
  for (InFlight &packet : peer.window)
    if (packet.used && packet.op == &op) {
      packet.op = nullptr;
      packet.bytes = 0;
    }
  return true;
}

void Session::sendPacket(int to, PacketHeader &header, const char *payload) {
  Peer &peer = peers[size_t(to)];
  header.magic = packetMagic;
  header.from = uint32_t(self);
  header.to = uint32_t(to);
  header.incarnation = options.incarnation;
  header.toIncarnation = peer.incarnation;
  header.ackNext = peer.next;
  header.ackMask = peer.mask;
  header.checksum = checksumOf(header, payload);
  peer.ackDue = false;
  count.wireBytes += sizeof header + header.bytes;
  datagrams.sendDatagram(to, &header, sizeof header, payload, header.bytes);
}

void Session::sendSlot(int to, uint64_t number) {
  InFlight &packet = peers[size_t(to)].window[number % windowPackets];
  PacketHeader header = {};
  header.kind = packet.op ? Data : Void;
  header.number = number;
  header.message = packet.message;
  if (packet.op) {
    header.bytes = packet.bytes;
    header.messageBytes = packet.op->bytes;
    header.offset = packet.offset;
    header.tag = packet.op->tag;
  }
  packet.sentAt = clock.now();
  sendPacket(to, header, packet.op ? packet.op->data + packet.offset : nullptr);
}

void Session::transmit(int to) {
  Peer &peer = peers[size_t(to)];
  int64_t now = clock.now();
  for (uint64_t number = peer.base; number < peer.nextNumber; ++number) {
    InFlight &packet = peer.window[number % windowPackets];
    if (!packet.used || now - packet.sentAt < options.retryNs << std::min(packet.tries, 4u) ||
        planted(Fault::NoRetransmission))
      continue;
    ++packet.tries;
    ++count.retransmissions;
    sendSlot(to, number);
  }
  while (peer.first && peer.nextNumber - peer.base < windowPackets) {
    Op &op = *peer.first;
    InFlight &packet = peer.window[peer.nextNumber % windowPackets];
    size_t left = op.bytes - op.progress;
    packet = {&op, op.number, op.progress, uint32_t(std::min(left, options.fragmentBytes)),
              0,   0,         true};
    op.progress += packet.bytes;
    if (op.progress == op.bytes) {
      peer.first = op.queued;
      if (!peer.first)
        peer.last = nullptr;
      op.queued = nullptr;
    }
    sendSlot(to, peer.nextNumber++);
  }
}

void Session::sendBeat(int to) {
  PacketHeader header = {};
  header.kind = Beat;
  const Vec<char> &lost = lostRanks();
  header.bytes = uint32_t(lost.size());
  sendPacket(to, header, lost.data());
}

void Session::confirm(int from, uint64_t next, uint64_t mask) {
  Peer &peer = peers[size_t(from)];
  if (next > peer.nextNumber)
    return;
  for (uint64_t number = peer.base; number < peer.nextNumber; ++number) {
    InFlight &packet = peer.window[number % windowPackets];
    bool arrived = number < next || (number - next < windowPackets && mask >> (number - next) & 1);
    if (!packet.used || !arrived)
      continue;
    packet.used = false;
    Op *op = packet.op;
    if (!op || op->ready)
      continue;
    if (--op->unconfirmed > 0 && !planted(Fault::CompletedAtFirstAck))
      continue;
    if (op->progress < op->bytes)
      continue; // only with a planted fault
    bool changed = options.verifyBuffers && crc32(0, op->data, op->bytes) != op->checksum;
    (void)cancelSend(*op, true); // no slot names it any more
    finishSend(*op, changed ? error(alloc, MXRT_INTERNAL, noLocation,
                                    "bytes for rank %d changed while they were sent", from)
                            : success());
  }
  while (peer.base < peer.nextNumber && !peer.window[peer.base % windowPackets].used)
    ++peer.base;
}

// -- receiving ----------------------------------------------------------------

bool Session::takeMessage(Message &message) {
  auto &fragments = static_cast<Fragments &>(message);
  if (fragments.unexpected)
    unexpectedBytes -= message.bytes;
  fragments.unexpected = false;
  return true;
}

bool Session::dropMessage(Message &message, bool) {
  deleteFragments(static_cast<Fragments *>(&message));
  return true;
}

void Session::deleteFragments(Fragments *fragments) {
  if (fragments->unexpected)
    unexpectedBytes -= fragments->bytes;
  if (fragments->memory)
    releaseBytes(alloc, fragments->memory, fragments->bytes, MXRT_ALIGNMENT);
  deleteObject(alloc, fragments);
}

/// False if the packet cannot be kept now: unacknowledged, it is retransmitted.
bool Session::store(int from, const PacketHeader &header, const char *payload) {
  Peer &peer = peers[size_t(from)];
  Fragments **at = &peer.partial;
  while (*at && (*at)->number != header.message)
    at = &(*at)->next;
  if (!*at) {
    Op *posted = postedFor(from, header.tag);
    bool tooLong = posted && header.messageBytes > posted->bytes;
    if (!posted && header.messageBytes > limits.maxUnexpectedBytes - unexpectedBytes)
      return false;
    Fragments *made = newObject<Fragments>(alloc);
    if (!made)
      return false;
    made->peer = from;
    made->tag = header.tag;
    made->bytes = header.messageBytes;
    made->number = header.message;
    if (!tooLong) {
      made->memory = static_cast<char *>(allocateBytes(alloc, made->bytes, MXRT_ALIGNMENT));
      if (!made->memory) {
        deleteObject(alloc, made);
        return false;
      }
      made->data = made->memory;
      made->unexpected = !posted;
      if (made->unexpected)
        unexpectedBytes += made->bytes;
    }
    *at = made;
    if (tooLong) {
      made->discarded = true;
      refuseTooLong(*posted, made->bytes);
    }
  }
  Fragments *fragments = *at;
  if (fragments->bytes != header.messageBytes || !(fragments->tag == header.tag)) {
    declareLost(from, loss(from, "its packets contradict each other"));
    return false;
  }
  size_t offset = planted(Fault::FragmentsInArrivalOrder) ? fragments->stored : header.offset;
  if (fragments->memory && header.bytes > 0 && offset + header.bytes <= fragments->bytes)
    std::memcpy(fragments->memory + offset, payload, header.bytes);
  fragments->stored += header.bytes;
  if (fragments->stored < fragments->bytes)
    return true;
  *at = fragments->next;
  fragments->next = nullptr;
  if (fragments->discarded)
    deleteFragments(fragments);
  else
    arrived(*fragments);
  return true;
}

void Session::takePacket(int from, const PacketHeader &header, const char *payload) {
  Peer &peer = peers[size_t(from)];
  uint64_t ahead = header.number - peer.next;
  bool old = header.number < peer.next || (ahead < windowPackets && peer.mask >> ahead & 1);
  if (old) {
    peer.ackDue = true; // its confirmation was lost
    if (!planted(Fault::DuplicateAccepted))
      return;
  } else if (ahead >= windowPackets) {
    return;
  }
  if (header.kind == Data && !store(from, header, payload))
    return;
  if (!old)
    peer.mask |= uint64_t(1) << ahead;
  for (; peer.mask & 1; peer.mask >>= 1)
    ++peer.next;
  peer.ackDue = true;
}

/// False for a corrupted datagram.
bool Session::handle(const char *data, size_t bytes) {
  PacketHeader header;
  if (bytes < sizeof header)
    return false;
  std::memcpy(&header, data, sizeof header);
  const char *payload = data + sizeof header;
  if (header.magic != packetMagic || header.bytes != bytes - sizeof header)
    return false;
  if (header.checksum != checksumOf(header, payload) && !planted(Fault::DamageAccepted))
    return false;
  if (header.from >= uint32_t(ranks) || header.from == uint32_t(self) ||
      header.to != uint32_t(self) || header.incarnation == 0)
    return false;
  int from = int(header.from);
  Peer &peer = peers[header.from];
  if (isLost(from))
    return true; // what a lost rank says does not count
  if (peer.incarnation == 0)
    peer.incarnation = header.incarnation;
  if (header.incarnation < peer.incarnation)
    return true; // of its former life
  if (header.incarnation > peer.incarnation) {
    if (planted(Fault::RestartUnnoticed))
      peer.incarnation = header.incarnation;
    else
      declareLost(from, loss(from, "it restarted"));
    return true;
  }
  heard(from);
  if (header.kind == Beat) {
    if (header.bytes != size_t(ranks + 7) / 8)
      return false;
    hearLosses(from, payload);
    if (isLost(from))
      return true;
  }
  if (header.toIncarnation != 0 && header.toIncarnation != options.incarnation &&
      !planted(Fault::RestartUnnoticed))
    return true; // meant for a former life of this rank
  confirm(from, header.ackNext, header.ackMask);
  if (header.kind == Beat)
    return true;
  bool wellFormed = header.kind == Void
                        ? header.bytes == 0
                        : header.kind == Data && header.offset <= header.messageBytes &&
                              header.bytes <= header.messageBytes - header.offset &&
                              (header.bytes > 0 || header.messageBytes == 0);
  if (!wellFormed)
    declareLost(from, loss(from, "it sent a malformed packet"));
  else if (header.messageBytes > limits.maxMessageBytes)
    declareLost(from, loss(from, "it announced a message over the limit"));
  else
    takePacket(from, header, payload);
  return true;
}

// -- time ---------------------------------------------------------------------

bool Session::poll() {
  bool any = false;
  const char *data;
  size_t bytes;
  while (datagrams.receiveDatagram(data, bytes)) {
    any = true;
    if (!removed && !handle(data, bytes))
      ++count.damaged;
  }
  if (removed)
    return any;
  checkSilence();
  bool beat = isBeatDue();
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self)
      continue;
    if (!isLost(peer))
      transmit(peer);
    // Sent to lost peers too: one that still runs learns that it was declared lost.
    if (beat || peers[size_t(peer)].ackDue)
      sendBeat(peer);
  }
  return any;
}

int64_t Session::nextDeadline() const {
  if (removed || ranks == 1)
    return INT64_MAX;
  int64_t at = nextBeatAt;
  for (int rank = 0; rank < ranks; ++rank) {
    const Peer &peer = peers[size_t(rank)];
    if (isLost(rank))
      continue;
    if (peer.first && peer.nextNumber - peer.base < windowPackets)
      return clock.now();
    for (uint64_t number = peer.base; number < peer.nextNumber; ++number) {
      const InFlight &packet = peer.window[number % windowPackets];
      if (packet.used && !planted(Fault::NoRetransmission))
        at = std::min(at, packet.sentAt + (options.retryNs << std::min(packet.tries, 4u)));
    }
  }
  return at;
}

void Session::wait(int64_t timeoutNs) {
  int64_t left = std::max<int64_t>(nextDeadline() - clock.now(), 0);
  datagrams.waitForDatagram(timeoutNs < 0 ? left : std::min(left, timeoutNs));
}

bool Session::quiet() const {
  for (int rank = 0; rank < ranks; ++rank) {
    const Peer &peer = peers[size_t(rank)];
    if (!isLost(rank) && (peer.first || peer.base != peer.nextNumber))
      return false;
  }
  return true;
}

} // namespace mxrt::net
