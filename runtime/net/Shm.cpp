// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared-memory transport: segment allocation, sending and receiving over rings.

#include "net/Shm.h"

#include "base/Crc32.h"
#include "base/Files.h"
#include "base/SharedMemory.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace mxrt::net {

using namespace shm;

namespace {

uint32_t checksumOf(const Tag &tag, uint32_t number, uint64_t offset, uint64_t bytes) {
  uint32_t sum = crc32(number, &tag, sizeof tag);
  sum = crc32(sum, &offset, sizeof offset);
  return crc32(sum, &bytes, sizeof bytes);
}

} // namespace

// -- memory -------------------------------------------------------------------

Result<void *> Shm::allocate(size_t bytes) {
  size_t wanted = bytes ? bytes : 1;
  if (wanted <= options.segmentBytes) {
    wanted = (wanted + MXRT_ALIGNMENT - 1) & ~size_t(MXRT_ALIGNMENT - 1);
    for (size_t i = 0; i < blocks.size(); ++i) {
      Block block = blocks[i];
      if (block.used || block.bytes < wanted)
        continue;
      size_t page = os::pageSize(), begin = block.offset & ~(page - 1);
      size_t end = (block.offset + wanted + page - 1) & ~(page - 1);
      if (os::reserveShared(segmentFile, begin, std::min(end, options.segmentBytes) - begin))
        break; // no pages
      if (block.bytes > wanted) {
        if (!blocks.push({0, 0, false}))
          return outOfMemory(alloc);
        for (size_t k = blocks.size() - 1; k > i + 1; --k)
          blocks[k] = blocks[k - 1];
        blocks[i + 1] = {block.offset + wanted, block.bytes - wanted, false};
      }
      blocks[i] = {block.offset, wanted, true};
      return static_cast<void *>(segment + block.offset);
    }
  }
  return error(alloc, MXRT_MEMORY_LIMIT, noLocation,
               "rank %d has no %zu bytes of shared memory left in a segment of %zu", self, bytes,
               options.segmentBytes);
}

void Shm::deallocate(void *memory) {
  size_t offset = size_t(static_cast<char *>(memory) - segment), i = 0;
  while (i < blocks.size() && blocks[i].offset != offset)
    ++i;
  if (i == blocks.size())
    return;
  blocks[i].used = false;
  auto join = [&](size_t at) { // with the next one
    if (at + 1 >= blocks.size() || blocks[at].used || blocks[at + 1].used)
      return;
    blocks[at].bytes += blocks[at + 1].bytes;
    for (size_t k = at + 1; k + 1 < blocks.size(); ++k)
      blocks[k] = blocks[k + 1];
    blocks.pop();
  };
  join(i);
  if (i > 0)
    join(i - 1);
}

// -- sending ------------------------------------------------------------------

void Shm::ring(int peer) {
  Rank &rank = rankOf(peer);
  rank.doorbell.fetch_add(1);
  if (rank.sleeping.load())
    os::futexWakeShared(rank.doorbell, UINT32_MAX);
}

void Shm::ringAll() {
  for (int rank = 0; rank < ranks; ++rank)
    ring(rank);
}

void Shm::spreadEnd() {
  uint32_t present = uint32_t(Standing::Present);
  rankOf(self).standing.compare_exchange_strong(present, uint32_t(Standing::GaveUp));
  ringAll();
}

Status Shm::startSend(Op &op) {
  if (op.bytes > options.segmentBytes)
    return error(alloc, MXRT_MEMORY_LIMIT, noLocation,
                 "a message of %zu bytes does not fit in a segment of %zu", op.bytes,
                 options.segmentBytes);
  Peer &peer = peers[size_t(op.peer)];
  if (!peer.waitingFirst) {
    bool isRingFull = false;
    MXRT_CHECK(post(op, isRingFull));
    if (op.started)
      return success();
  }
  op.queuedBefore = peer.waitingLast;
  (peer.waitingLast ? peer.waitingLast->queued : peer.waitingFirst) = &op;
  peer.waitingLast = &op;
  return success();
}

void Shm::unqueue(Op &op) {
  Peer &peer = peers[size_t(op.peer)];
  (op.queuedBefore ? op.queuedBefore->queued : peer.waitingFirst) = op.queued;
  (op.queued ? op.queued->queuedBefore : peer.waitingLast) = op.queuedBefore;
  op.queued = op.queuedBefore = nullptr;
}

/// A free header. Allocates a chunk of them if the free list is empty.
Status Shm::freeHeader(uint32_t &number) {
  constexpr size_t chunk = 256;
  if (!firstFree) {
    size_t before = records.size();
    if (before + chunk > UINT32_MAX || !records.reserve(before + chunk))
      return outOfMemory(alloc);
    void *memory = MXRT_TRY(allocate(chunk * sizeof(Header)));
    (void)records.resize(before + chunk);
    for (size_t i = before; i < before + chunk; ++i) {
      records[i].header = static_cast<Header *>(memory) + (i - before);
      records[i].nextFree = std::exchange(firstFree, uint32_t(i) + 1);
    }
  }
  number = firstFree - 1;
  return success();
}

/// Deferred if the ring or the segment is full: it is retried when a message is
/// returned. If none is in flight, that is an error.
Status Shm::post(Op &op, bool &isRingFull) {
  auto waits = [&](Status status) {
    bool later = status.code() == MXRT_MEMORY_LIMIT && inFlight > 0;
    return later ? success() : std::move(status);
  };
  uint32_t number;
  if (Status status = freeHeader(number); status.failed())
    return waits(std::move(status));
  void *staged = nullptr;
  const char *data = op.data;
  auto at = reinterpret_cast<uintptr_t>(data), begin = reinterpret_cast<uintptr_t>(segment);
  bool shared = at >= begin && at - begin <= options.segmentBytes &&
                op.bytes <= options.segmentBytes - (at - begin);
  if (!shared && op.bytes > 0) {
    Result<void *> copy = allocate(op.bytes);
    if (copy.failed())
      return waits(copy.takeStatus());
    staged = *copy;
    std::memcpy(staged, op.data, op.bytes);
    data = static_cast<char *>(staged);
  }
  Record &record = records[number];
  Header &header = *record.header;
  header.number = number;
  header.tag = op.tag;
  header.offset = op.bytes ? uint64_t(data - segment) : 0;
  header.bytes = op.bytes;
  header.checksum = checksumOf(header.tag, number, header.offset, header.bytes);
  header.valid.store(1, std::memory_order_release);
  if (!pair(self, op.peer)
           .announced.push(uint64_t(reinterpret_cast<char *>(record.header) - segment))) {
    if (staged)
      deallocate(staged);
    isRingFull = true;
    return success();
  }
  ++inFlight;
  firstFree = record.nextFree;
  record.op = &op;
  record.staged = staged;
  record.peer = op.peer;
  op.number = number;
  op.started = true;
  ring(op.peer);
  return success();
}

/// Behind a message that there is no memory for, smaller ones may go: the receiver may need them
/// before it returns what fills the segment.
void Shm::postWaiting(Peer &peer) {
  bool isRingFull = false;
  Op *next = peer.waitingFirst;
  for (uint32_t i = 0; next && i < ringEntries && !isRingFull; ++i) {
    Op &op = *std::exchange(next, next->queued);
    Status status = post(op, isRingFull);
    if (!op.started && status.ok())
      continue;
    unqueue(op);
    if (status.failed())
      finishSend(op, std::move(status));
  }
}

bool Shm::cancelSend(Op &op, bool) {
  if (!op.started) {
    unqueue(op);
    return true;
  }
  // A receiver that is reading now detects this when it releases its view.
  Record &record = records[op.number];
  record.header->valid.store(0);
  record.op = nullptr;
  return true;
}

bool Shm::takeReturns(int peer) {
  bool any = false;
  Ring<uint32_t> &returned = pair(self, peer).returned;
  for (; !returned.empty(); returned.pop()) {
    any = true;
    uint32_t number = returned.front();
    if (number >= records.size() || records[number].peer != peer) {
      lose(peer, Reason::Malformed);
      break;
    }
    Record &record = records[number];
    if (record.staged)
      deallocate(std::exchange(record.staged, nullptr));
    record.peer = -1;
    --inFlight;
    record.nextFree = std::exchange(firstFree, number + 1);
    if (Op *op = std::exchange(record.op, nullptr))
      finishSend(*op, success());
  }
  if (any && returned.madeRoom())
    ring(peer);
  return any;
}

/// After an orderly exit a rank is done with all messages that it received, even
/// if the ring had no room to return them.
void Shm::finishSendsTo(int left) {
  const Ring<uint64_t> &announced = pair(self, left).announced;
  uint32_t head = announced.head.load(), tail = announced.tail.load();
  for (Record &record : records) {
    if (record.peer != left || !record.op)
      continue;
    auto where = uint64_t(reinterpret_cast<char *>(record.header) - segment);
    bool taken = true;
    for (uint32_t at = head; at != tail && tail - head <= ringEntries && taken; ++at)
      taken = announced.entries[at % ringEntries] != where;
    if (taken)
      finishSend(*std::exchange(record.op, nullptr), success());
  }
}

// -- receiving ----------------------------------------------------------------

void Shm::giveBack(ShmMessage *message) {
  int peer = message->peer;
  if (pair(peer, self).returned.push(message->number)) {
    ring(peer);
    deleteObject(alloc, message);
    return;
  }
  message->next = peers[size_t(peer)].unreturned;
  peers[size_t(peer)].unreturned = message;
}

bool Shm::takeMessage(Message &raw) {
  if (static_cast<ShmMessage &>(raw).header->valid.load(std::memory_order_acquire))
    return true;
  (void)dropMessage(raw, false);
  return false;
}

bool Shm::dropMessage(Message &raw, bool) {
  auto &message = static_cast<ShmMessage &>(raw);
  // All reads of the bytes come before this: a sender changes them only after it
  // retracted the message, or saw this rank as lost.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool intact =
      message.header->valid.load() && standingOf(rankOf(self).standing.load()) != Standing::Lost;
  giveBack(&message);
  return intact;
}

bool Shm::takeAnnouncements(int peer) {
  bool any = false;
  Ring<uint64_t> &announced = pair(peer, self).announced;
  for (; !announced.empty(); announced.pop()) {
    any = true;
    uint64_t where = announced.front();
    bool sound = where % alignof(Header) == 0 && where <= options.segmentBytes - sizeof(Header);
    const auto *header =
        reinterpret_cast<const Header *>(peers[size_t(peer)].segment + (sound ? where : 0));
    // Copied before validation: the peer may change its memory at any time.
    Tag tag = header->tag;
    uint64_t offset = header->offset, bytes = header->bytes;
    uint32_t number = header->number;
    if (!sound || header->checksum != checksumOf(tag, number, offset, bytes) ||
        offset > options.segmentBytes || bytes > options.segmentBytes - offset ||
        bytes > limits.maxMessageBytes) {
      lose(peer, Reason::Malformed);
      break;
    }
    auto *message = newObject<ShmMessage>(alloc);
    if (!message) { // it stays where it is; this rank cannot go on
      giveUp(outOfMemory(alloc));
      break;
    }
    message->peer = peer;
    message->tag = tag;
    message->data = peers[size_t(peer)].segment + offset;
    message->bytes = bytes;
    message->header = header;
    message->number = number;
    arrived(*message);
  }
  if (any && announced.madeRoom())
    ring(peer);
  return any;
}

void Shm::readStandings() {
  uint32_t own = rankOf(self).standing.load();
  if (standingOf(own) == Standing::Lost) {
    for (int rank = 0; rank < ranks; ++rank)
      declareLost(rank, error(alloc, MXRT_KVSTORE, noLocation,
                              "rank %d is lost: rank %d declared this process lost", self,
                              noticedBy(own)));
    return;
  }
  // Ranks leave after another was lost. Those that left are read first and
  // handled last, so that the error names the rank that was lost.
  uint64_t left = 0;
  for (int rank = 0; rank < ranks; ++rank)
    if (standingOf(rankOf(rank).standing.load()) == Standing::Left)
      left |= uint64_t(1) << rank;
  for (int rank = 0; rank < ranks; ++rank) {
    uint32_t word = rankOf(rank).standing.load();
    if (rank != self && !isLost(rank) && standingOf(word) > Standing::Left)
      readStanding(rank, word);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == self || isLost(rank) || !(left >> rank & 1))
      continue;
    // All messages that it sent and returned before it left are here now.
    (void)takeReturns(rank);
    (void)takeAnnouncements(rank);
    finishSendsTo(rank);
    declareLost(rank, error(alloc, MXRT_KVSTORE, noLocation, "rank %d is lost: it left", rank), true);
  }
}

void Shm::readStanding(int peer, uint32_t word) {
  const char *why = "its process ended";
  char text[64];
  if (standingOf(word) == Standing::GaveUp) {
    why = "it gave up after an error of its own";
  } else if (reasonOf(word) == Reason::Malformed) {
    why = "it sent a malformed message";
  } else if (reasonOf(word) == Reason::Silent) {
    std::snprintf(text, sizeof text, "no sign of life for %lld ms",
                  static_cast<long long>(options.lostAfterNs / millisecond));
    why = text;
  }
  declareLost(peer, error(alloc, MXRT_KVSTORE, noLocation, "rank %d is lost: %s", peer, why));
}

bool Shm::poll() {
  ticket = rankOf(self).doorbell.load();
  bool any = false;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self || isLost(peer))
      continue;
    any |= takeReturns(peer);
    any |= takeAnnouncements(peer);
    // Returns deferred because the ring was full.
    ShmMessage *waiting = std::exchange(peers[size_t(peer)].unreturned, nullptr);
    while (ShmMessage *message = waiting) {
      waiting = message->next;
      giveBack(message);
    }
    postWaiting(peers[size_t(peer)]);
  }
  readStandings();
  return any;
}

void Shm::wait(int64_t timeoutNs) {
  Rank &own = rankOf(self);
  // Spins first: busy peers answer within microseconds.
  for (int i = 0; i < 200; ++i) {
    if (own.doorbell.load() != ticket)
      return;
    os::relax();
  }
  own.sleeping.store(1);
  os::futexWaitShared(own.doorbell, ticket, timeoutNs);
  own.sleeping.store(0);
}

} // namespace mxrt::net
