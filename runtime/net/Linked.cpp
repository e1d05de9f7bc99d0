// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages as frames: short ones at once, long ones when the receiver asks for them.

#include "net/Linked.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace mxrt::net {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little endian");
static_assert(sizeof(FrameHeader) == 64, "no padding travels");

constexpr uint32_t frameMagic = 0x314C584D; // "MXL1"
/// What a short message costs its receiver besides its bytes.
constexpr size_t messageCost = 128;

/// Copies `bytes` from `offset` of a frame.
void copyOut(const Links::Event &event, size_t offset, void *to, size_t bytes) {
  char *out = static_cast<char *>(to);
  for (size_t i = 0; i < event.pieceCount && bytes > 0; ++i) {
    const Links::Piece &piece = event.pieces[i];
    if (offset >= piece.bytes) {
      offset -= piece.bytes;
      continue;
    }
    size_t part = std::min(bytes, piece.bytes - offset);
    std::memcpy(out, piece.data + offset, part);
    out += part;
    bytes -= part;
    offset = 0;
  }
}

} // namespace

/// A message that is offered, arrives, or is complete.
struct Linked::Incoming : Message {
  uint64_t number = 0;
  size_t stored = 0;
  size_t credit = 0;       // of a short one, while nobody has asked for it
  bool unexpected = false; // counts against the limit
  char *memory = nullptr;
  Incoming *next = nullptr;
};

void Linked::Queue::push(Op &op) {
  op.queued = nullptr;
  op.queuedBefore = last;
  (last ? last->queued : first) = &op;
  last = &op;
}

void Linked::Queue::remove(Op &op) {
  (op.queuedBefore ? op.queuedBefore->queued : first) = op.queued;
  (op.queued ? op.queued->queuedBefore : last) = op.queuedBefore;
  op.queued = op.queuedBefore = nullptr;
}

/// `started`: it was offered. `unconfirmed`: frames that the receiver has not asked for.
Linked::Queue &Linked::queueOf(Op &op) {
  Peer &peer = peers[size_t(op.peer)];
  return !op.started ? peer.begins : op.unconfirmed ? peer.offered : peer.asked;
}

size_t Linked::maxFrameBytes(const LinkedOptions &options, int ranks) {
  return sizeof(FrameHeader) + std::max({options.frameBytes, options.shortBytes, size_t(ranks)});
}

Status Linked::connect(const char *const *addresses, int64_t limitNs, Status (*check)(void *user),
                       void *user) {
  if (options.frameBytes == 0 || options.frameBytes > UINT32_MAX / 2 ||
      options.shortBytes > options.frameBytes)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "the options of links are out of range");
  for (int i = 0; i < ranks; ++i)
    if (!peers.push(Peer(alloc)))
      return outOfMemory(alloc);
  MXRT_CHECK(openHeartbeat());
  links.connect(addresses);
  int64_t deadline = clock.now() + limitNs;
  for (;;) {
    // Frames of ranks that are ready before this one are kept for progress().
    Links::Event event;
    bool any = false;
    while (links.next(event)) {
      any = true;
      handle(event);
    }
    int missing = 0, first = -1;
    for (int peer = 0; peer < ranks; ++peer) {
      if (isLost(peer))
        return lossOf(peer);
      if (peer != self && !peers[size_t(peer)].open && missing++ == 0)
        first = peer;
    }
    if (missing == 0)
      break;
    beatAll(isBeatDue());
    if (any)
      continue;
    if (check)
      MXRT_CHECK(check(user));
    int64_t left = deadline - clock.now();
    if (left <= 0)
      return error(alloc, MXRT_KVSTORE, noLocation,
                   "rank %d is lost: no connection to it within %lld ms", first,
                   static_cast<long long>(limitNs / millisecond));
    links.wait(std::min(left, 50 * millisecond));
  }
  for (int peer = 0; peer < ranks; ++peer)
    heard(peer);
  return success();
}

Linked::~Linked() {
  if (peers.size() == size_t(ranks)) {
    bool isOrderly = !gaveUp && !removed;
    int64_t deadline = clock.now() + options.leaveNs;
    dropAll();
    for (int to = 0; to < ranks; ++to) {
      if (to == self || !peers[size_t(to)].open || (isLost(to) && !hasLeft(to)))
        continue;
      for (Links::Event ignored; !links.hasRoom(to) && clock.now() < deadline;)
        if (!links.next(ignored))
          links.wait(10 * millisecond);
      if (!links.hasRoom(to))
        continue;
      // Losses first, so that the error of others names the rank that was lost.
      const Vec<char> &lost = lostRanks();
      FrameHeader header = {};
      header.bytes = uint32_t(lost.size());
      sendFrame(to, isOrderly ? Kind::Leave : Kind::Beat, header, lost.data());
    }
    links.leave(std::max<int64_t>(deadline - clock.now(), millisecond));
  }
  for (Peer &peer : peers)
    dropIncoming(peer);
  links.destroy();
}

// -- sending ------------------------------------------------------------------

Status Linked::startSend(Op &op) {
  Peer &peer = peers[size_t(op.peer)];
  op.number = peer.nextMessage++;
  peer.begins.push(op);
  return success();
}

bool Linked::cancelSend(Op &op, bool force) {
  // Links copy what they send: nobody reads the bytes any more.
  queueOf(op).remove(op);
  if (op.started && !force && !peers[size_t(op.peer)].withdrawn.push(op.number))
    giveUp(outOfMemory(alloc)); // the receiver would wait for the rest
  return true;
}

void Linked::sendFrame(int to, Kind kind, FrameHeader &header, const void *payload) {
  Peer &peer = peers[size_t(to)];
  header.magic = frameMagic;
  header.kind = uint32_t(kind);
  header.from = uint32_t(self);
  header.returned = peer.returnedTold = peer.returned;
  links.send(to, &header, sizeof header, payload, header.bytes);
  uint64_t wire = links.wireBytes();
  count.wireBytes = wire ? wire : count.wireBytes + sizeof header + header.bytes;
}

void Linked::sendBeat(int to) {
  const Vec<char> &lost = lostRanks();
  FrameHeader header = {};
  header.bytes = uint32_t(lost.size());
  sendFrame(to, Kind::Beat, header, lost.data());
}

bool Linked::transmit(int to) {
  Peer &peer = peers[size_t(to)];
  bool any = false;
  auto room = [&] { return links.hasRoom(to) && !isLost(to); };
  for (; peer.withdrawn.size() > 0 && room(); peer.withdrawn.pop(), any = true) {
    FrameHeader header = {};
    header.message = peer.withdrawn[peer.withdrawn.size() - 1];
    sendFrame(to, Kind::Withdraw, header, nullptr);
  }
  while (peer.begins.first && room()) {
    Op &op = *peer.begins.first;
    size_t cost = op.bytes + messageCost;
    bool isShort = op.bytes <= options.shortBytes &&
                   peer.creditUsed - peer.creditReturned + cost <= options.creditBytes;
    FrameHeader header = {};
    header.message = op.number;
    header.messageBytes = op.bytes;
    header.tag = op.tag;
    header.bytes = isShort ? uint32_t(op.bytes) : 0;
    peer.begins.remove(op);
    any = true;
    sendFrame(to, isShort ? Kind::Whole : Kind::Offer, header, op.data);
    if (isShort) {
      peer.creditUsed += cost;
      finishSend(op, success());
    } else {
      op.started = true;
      op.unconfirmed = 1;
      peer.offered.push(op);
    }
  }
  while (peer.asked.first && room()) {
    Op &op = *peer.asked.first;
    FrameHeader header = {};
    header.message = op.number;
    header.messageBytes = op.bytes;
    header.offset = op.progress;
    header.bytes = uint32_t(std::min(op.bytes - op.progress, options.frameBytes));
    any = true;
    sendFrame(to, Kind::Part, header, op.data + op.progress);
    op.progress += header.bytes;
    if (op.progress == op.bytes) {
      peer.asked.remove(op);
      finishSend(op, success());
    }
  }
  return any;
}

// -- receiving ----------------------------------------------------------------

Linked::Incoming *Linked::newIncoming(int from, const FrameHeader &header) {
  auto *made = newObject<Incoming>(alloc);
  if (!made) {
    giveUp(outOfMemory(alloc));
    return nullptr;
  }
  made->peer = from;
  made->tag = header.tag;
  made->bytes = header.messageBytes;
  made->number = header.message;
  return made;
}

void Linked::deleteIncoming(Incoming *incoming) {
  (void)takeMessage(*incoming);
  releaseBytes(alloc, incoming->memory, incoming->bytes, MXRT_ALIGNMENT);
  deleteObject(alloc, incoming);
}

void Linked::dropIncoming(Peer &peer) {
  for (Incoming **list : {&peer.offers, &peer.partial})
    while (Incoming *incoming = *list) {
      *list = incoming->next;
      deleteIncoming(incoming);
    }
}

/// Somebody wants it: from here on its memory is theirs.
bool Linked::takeMessage(Message &message) {
  auto &incoming = static_cast<Incoming &>(message);
  if (std::exchange(incoming.unexpected, false))
    unexpectedBytes -= message.bytes;
  peers[size_t(message.peer)].returned += std::exchange(incoming.credit, 0);
  return true;
}

bool Linked::dropMessage(Message &message, bool) {
  deleteIncoming(static_cast<Incoming *>(&message));
  return true;
}

void Linked::takeWhole(int from, const FrameHeader &header, const Links::Event &event) {
  Peer &peer = peers[size_t(from)];
  size_t cost = header.messageBytes + messageCost;
  if (header.messageBytes != header.bytes || header.bytes > options.shortBytes)
    return malformed(from);
  Incoming *made = newIncoming(from, header);
  if (!made)
    return;
  made->memory = static_cast<char *>(allocateBytes(alloc, made->bytes, MXRT_ALIGNMENT));
  if (!made->memory) {
    deleteIncoming(made);
    peer.returned += cost;
    return giveUp(outOfMemory(alloc));
  }
  copyOut(event, sizeof header, made->memory, made->bytes);
  made->data = made->memory;
  made->credit = cost;
  arrived(*made);
}

void Linked::takeOffer(int from, const FrameHeader &header) {
  if (header.bytes != 0)
    return malformed(from);
  if (header.messageBytes > limits.maxMessageBytes)
    return declareLost(from, loss(from, "it announced a message over the limit"));
  Incoming *made = newIncoming(from, header);
  if (!made)
    return;
  Incoming **end = &peers[size_t(from)].offers;
  while (*end)
    end = &(*end)->next;
  *end = made;
}

bool Linked::ask(int from) {
  Peer &peer = peers[size_t(from)];
  bool any = false;
  for (Incoming **at = &peer.offers; *at && links.hasRoom(from);) {
    Incoming *offer = *at;
    Op *posted = postedFor(from, offer->tag);
    bool isTooLong = posted && offer->bytes > posted->bytes;
    if (!posted && offer->bytes > limits.maxUnexpectedBytes - unexpectedBytes) {
      at = &offer->next;
      continue;
    }
    if (!isTooLong) {
      offer->memory = static_cast<char *>(allocateBytes(alloc, offer->bytes, MXRT_ALIGNMENT));
      if (!offer->memory) {
        giveUp(outOfMemory(alloc));
        return true;
      }
      offer->data = offer->memory;
      offer->unexpected = !posted;
      unexpectedBytes += posted ? 0 : offer->bytes;
    }
    *at = offer->next;
    any = true;
    // Its sender is done with it in either case: `offset` tells that its bytes are not wanted.
    FrameHeader header = {};
    header.message = offer->number;
    header.offset = isTooLong;
    sendFrame(from, Kind::Ask, header, nullptr);
    if (isTooLong) {
      refuseTooLong(*posted, offer->bytes);
      deleteIncoming(offer);
      continue;
    }
    offer->next = peer.partial;
    peer.partial = offer;
  }
  return any;
}

void Linked::takePart(int from, const FrameHeader &header, const Links::Event &event) {
  Incoming **at = &peers[size_t(from)].partial;
  while (*at && (*at)->number != header.message)
    at = &(*at)->next;
  Incoming *incoming = *at;
  if (!incoming || header.messageBytes != incoming->bytes || header.offset != incoming->stored ||
      header.bytes > incoming->bytes - incoming->stored ||
      (header.bytes == 0 && incoming->bytes > 0))
    return malformed(from);
  copyOut(event, sizeof header, incoming->memory + incoming->stored, header.bytes);
  incoming->stored += header.bytes;
  if (incoming->stored < incoming->bytes)
    return;
  *at = incoming->next;
  incoming->next = nullptr;
  arrived(*incoming);
}

void Linked::withdraw(int from, uint64_t message) {
  Peer &peer = peers[size_t(from)];
  for (Incoming **list : {&peer.offers, &peer.partial})
    for (Incoming **at = list; *at; at = &(*at)->next)
      if (Incoming *incoming = *at; incoming->number == message) {
        *at = incoming->next;
        return deleteIncoming(incoming);
      }
}

/// A message that was withdrawn meanwhile is not there.
void Linked::takeAsk(int from, uint64_t message) {
  Peer &peer = peers[size_t(from)];
  Op *op = peer.offered.first;
  while (op && op->number != message)
    op = op->queued;
  if (!op)
    return;
  peer.offered.remove(*op);
  op->unconfirmed = 0;
  peer.asked.push(*op);
}

void Linked::takeFrame(int from, const FrameHeader &header, const Links::Event &event) {
  Peer &peer = peers[size_t(from)];
  if (header.returned > peer.creditUsed || header.returned < peer.creditReturned)
    return malformed(from);
  peer.creditReturned = header.returned;
  switch (Kind(header.kind)) {
  case Kind::Whole:
    return takeWhole(from, header, event);
  case Kind::Offer:
    return takeOffer(from, header);
  case Kind::Part:
    return takePart(from, header, event);
  case Kind::Ask:
    takeAsk(from, header.message);
    if (Op *op = peer.asked.last; op && header.offset && op->number == header.message) {
      peer.asked.remove(*op);
      finishSend(*op, success());
    }
    return;
  case Kind::Withdraw:
    return withdraw(from, header.message);
  case Kind::Beat:
  case Kind::Leave: {
    char lost[256];
    if (header.bytes != size_t(ranks + 7) / 8 || header.bytes > sizeof lost)
      return malformed(from);
    copyOut(event, sizeof header, lost, header.bytes);
    hearLosses(from, lost);
    if (Kind(header.kind) == Kind::Leave && !isLost(from)) {
      peer.left = true;
      declareLost(from, loss(from, "it left"), true);
    }
    return;
  }
  }
  malformed(from);
}

void Linked::broken(int peer, const char *reason) {
  peers[size_t(peer)].open = false;
  if (isLost(peer) || removed)
    return;
  // The others cannot have waited so long: they went on without this rank, and ended.
  if (pauseNs() >= period.lostAfterNs) {
    removed = true;
    for (int other = 0; other < ranks; ++other)
      declareLost(other, error(alloc, MXRT_KVSTORE, noLocation,
                               "rank %d is lost: this process was stopped for %lld ms", self,
                               static_cast<long long>(pauseNs() / millisecond)));
    return;
  }
  declareLost(peer, loss(peer, reason ? reason : "its connection ended"));
}

void Linked::handle(const Links::Event &event) {
  if (event.kind == Links::Event::Kind::Open) {
    peers[size_t(event.peer)].open = true;
    return heard(event.peer);
  }
  if (event.kind == Links::Event::Kind::Broken)
    return broken(event.peer, event.reason);
  if (removed || isLost(event.peer))
    return; // what a lost rank says does not count
  heard(event.peer);
  FrameHeader header;
  size_t bytes = 0;
  for (size_t i = 0; i < event.pieceCount; ++i)
    bytes += event.pieces[i].bytes;
  if (bytes >= sizeof header)
    copyOut(event, 0, &header, sizeof header);
  if (bytes < sizeof header || header.magic != frameMagic || header.from != uint32_t(event.peer) ||
      header.bytes != bytes - sizeof header)
    return malformed(event.peer);
  takeFrame(event.peer, header, event);
}

// -- time ---------------------------------------------------------------------

bool Linked::poll() {
  bool any = false;
  auto lostCount = [&] {
    int lost = 0;
    for (int peer = 0; peer < ranks; ++peer)
      lost += isLost(peer);
    return lost;
  };
  int lostBefore = lostCount();
  noticePause();
  for (Links::Event event; links.next(event); any = true)
    handle(event);
  if (removed)
    return any;
  checkSilence();
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self || isLost(peer))
      continue;
    any |= ask(peer);
    any |= transmit(peer);
  }
  bool isDue = isBeatDue() || lostCount() != lostBefore;
  beatAll(isDue);
  return any;
}

void Linked::beatAll(bool isDue) {
  for (int peer = 0; peer < ranks; ++peer) {
    Peer &each = peers[size_t(peer)];
    // Sent to lost peers too: one that still runs learns that it was declared lost.
    bool isCreditDue = each.returned - each.returnedTold > options.creditBytes / 2;
    if (peer != self && each.open && !each.left && (isDue || isCreditDue) && links.hasRoom(peer))
      sendBeat(peer);
  }
}

void Linked::wait(int64_t timeoutNs) {
  int64_t left = removed || ranks == 1 ? timeoutNs
                                       : std::max<int64_t>(nextBeatAt - clock.now(), 0);
  links.wait(timeoutNs < 0 || removed ? left : std::min(left, timeoutNs));
}

} // namespace mxrt::net
