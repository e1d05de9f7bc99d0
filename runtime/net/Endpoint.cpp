// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Message matching (posted and unexpected), callbacks, and lost peers of all transports.

#include "net/Endpoint.h"

#include "net/Faults.h"

namespace mxrt::net {

Status Endpoint::openEndpoint() {
  if (ranks < 1 || self < 0 || self >= ranks)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "there is no rank %d of %d", self, ranks);
  if (!losses.resize(size_t(ranks)) || !lossTold.resize(size_t(ranks)))
    return outOfMemory(alloc);
  return success();
}

Endpoint::~Endpoint() {
  while (active) {
    Op *op = active;
    active = op->next;
    deleteObject(alloc, op);
  }
}

void Endpoint::dropAll() {
  for (Op *op = active; op; op = op->next)
    if (op->kind == Op::Kind::Send && !op->ready)
      (void)cancelSend(*op, true);
  for (Op *op = readyFirst; op; op = op->chain)
    if (op->kind == Op::Kind::Receive && op->view.owner)
      (void)dropMessage(*static_cast<Message *>(op->view.owner), true);
  for (Message *&bucket : unexpected)
    while (Message *message = bucket) {
      bucket = message->chain;
      (void)dropMessage(*message, false);
    }
  readyFirst = readyLast = nullptr;
  for (Op *&bucket : posted)
    bucket = nullptr;
}

size_t Endpoint::bucketOf(int peer, const Tag &tag) {
  uint64_t sum = uint64_t(uint32_t(peer)) << 32 | tag.epoch;
  sum = sum * 0x9E3779B97F4A7C15 + tag.step;
  sum = (sum ^ sum >> 29) * 0xBF58476D1CE4E5B9;
  if (!planted(Fault::MatchIgnoresKey))
    sum += tag.key;
  sum = (sum ^ sum >> 32) * 0x94D049BB133111EB;
  if (!planted(Fault::MatchIgnoresChunk))
    sum += tag.chunk;
  sum = (sum ^ sum >> 31) * 0x9E3779B97F4A7C15;
  return size_t(sum >> 32) % bucketCount;
}

bool Endpoint::matches(int peer, const Tag &tag, int otherPeer, const Tag &other) {
  return peer == otherPeer && tag.epoch == other.epoch && tag.step == other.step &&
         (tag.key == other.key || planted(Fault::MatchIgnoresKey)) &&
         (tag.chunk == other.chunk || planted(Fault::MatchIgnoresChunk));
}

Result<Op *> Endpoint::newOp(Op::Kind kind, int peer, const Tag &tag) {
  if (peer < 0 || peer >= ranks || peer == self)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "rank %d of %d has no peer %d", self, ranks,
                 peer);
  Op *op = newObject<Op>(alloc);
  if (!op)
    return outOfMemory(alloc);
  op->kind = kind;
  op->peer = peer;
  op->tag = tag;
  op->next = active;
  if (active)
    active->previous = op;
  active = op;
  return op;
}

Result<Op *> Endpoint::send(int peer, const Tag &tag, const void *data, size_t bytes,
                            SendDone done) {
  if (bytes > limits.maxMessageBytes)
    return error(alloc, MXRT_SIZE_OVERFLOW, noLocation,
                 "a message of %zu bytes to rank %d is over the limit of %zu", bytes, peer,
                 limits.maxMessageBytes);
  Op *op = MXRT_TRY(newOp(Op::Kind::Send, peer, tag));
  op->data = static_cast<const char *>(data);
  op->bytes = bytes;
  op->sendDone = done;
  Status status = isLost(peer) ? lossOf(peer) : success();
  if (status.failed()) {
    makeReady(*op, std::move(status));
    return op;
  }
  if (Status failure = startSend(*op); failure.failed()) {
    if (op->previous)
      op->previous->next = op->next;
    else
      active = op->next;
    if (op->next)
      op->next->previous = op->previous;
    deleteObject(alloc, op);
    return failure;
  }
  count.sentBytes += bytes;
  ++count.sentMessages;
  return op;
}

Result<Op *> Endpoint::receive(int peer, const Tag &tag, size_t maxBytes, ReceiveDone done) {
  Op *op = MXRT_TRY(newOp(Op::Kind::Receive, peer, tag));
  op->bytes = maxBytes;
  op->receiveDone = done;
  if (isLost(peer) && !hasLeft(peer)) {
    makeReady(*op, lossOf(peer));
    return op;
  }
  size_t bucket = bucketOf(peer, tag);
  // At the end: the earlier of two equal tags is matched first.
  Op **end = &posted[bucket];
  while (*end)
    end = &(*end)->chain;
  *end = op;
  for (Message **at = &unexpected[bucket]; Message *message = *at; at = &message->chain)
    if (matches(peer, tag, message->peer, message->tag)) {
      *at = message->chain;
      message->chain = nullptr;
      arrived(*message);
      break;
    }
  if (hasLeft(peer) && !op->ready) {
    unlinkPosted(*op);
    makeReady(*op, lossOf(peer));
  }
  return op;
}

Op *Endpoint::postedFor(int peer, const Tag &tag) {
  for (Op *op = posted[bucketOf(peer, tag)]; op; op = op->chain)
    if (matches(peer, tag, op->peer, op->tag))
      return op;
  return nullptr;
}

void Endpoint::unlinkPosted(Op &op) {
  for (Op **at = &posted[bucketOf(op.peer, op.tag)]; *at; at = &(*at)->chain)
    if (*at == &op) {
      *at = op.chain;
      op.chain = nullptr;
      return;
    }
}

void Endpoint::refuseTooLong(Op &op, size_t bytes) {
  unlinkPosted(op);
  makeReady(op, error(alloc, MXRT_KVSTORE, noLocation,
                      "rank %d sent %zu bytes for key %u, chunk %u of step %u; at most %zu were "
                      "expected",
                      op.peer, bytes, op.tag.key, op.tag.chunk, op.tag.step, op.bytes));
}

void Endpoint::arrived(Message &message) {
  Op *op = postedFor(message.peer, message.tag);
  if (!op) {
    Message **end = &unexpected[bucketOf(message.peer, message.tag)];
    while (*end)
      end = &(*end)->chain;
    message.chain = nullptr;
    *end = &message;
    return;
  }
  if (message.bytes > op->bytes) {
    size_t bytes = message.bytes;
    (void)dropMessage(message, false);
    refuseTooLong(*op, bytes);
    return;
  }
  if (!takeMessage(message))
    return; // its sender gave up; the receive waits on
  unlinkPosted(*op);
  op->view = {message.data, message.bytes, &message};
  makeReady(*op, success());
}

void Endpoint::makeReady(Op &op, Status status) {
  op.ready = true;
  op.status = std::move(status);
  op.chain = nullptr;
  (readyLast ? readyLast->chain : readyFirst) = &op;
  readyLast = &op;
}

void Endpoint::finishSend(Op &op, Status status) {
  if (!op.ready)
    makeReady(op, std::move(status));
}

void Endpoint::cancel(Op *op) {
  if (op->ready || op->cancelled)
    return;
  op->cancelled = true;
  if (op->kind == Op::Kind::Receive)
    unlinkPosted(*op);
  else if (!cancelSend(*op, false))
    return;
  makeReady(*op, Status(mxrt_status_constant(MXRT_CANCELLED)));
}

bool Endpoint::release(View view) {
  return view.owner ? dropMessage(*static_cast<Message *>(view.owner), true) : true;
}

void Endpoint::declareLost(int peer, Status why, bool left) {
  if (peer == self || isLost(peer))
    return;
  losses[size_t(peer)] = std::move(why);
  if (left)
    lossTold[size_t(peer)] = toldLeft;
  else
    ++untold;
  for (Op *op = active; op; op = op->next) {
    if (op->peer != peer || op->ready)
      continue;
    if (op->kind == Op::Kind::Receive)
      unlinkPosted(*op);
    else
      (void)cancelSend(*op, true); // a lost peer's reads do not count
    makeReady(*op, lossOf(peer));
  }
  if (left)
    return; // what it sent before can still be received
  for (Message *&bucket : unexpected)
    for (Message **at = &bucket; Message *message = *at;)
      if (message->peer == peer) {
        *at = message->chain;
        (void)dropMessage(*message, false);
      } else {
        at = &message->chain;
      }
}

void Endpoint::giveUp(Status why) {
  if (gaveUp)
    return;
  gaveUp = true;
  spreadEnd();
  for (int peer = 0; peer < ranks; ++peer)
    declareLost(peer, why.share());
}

void Endpoint::tellLosses() {
  for (int peer = 0; peer < ranks && untold > 0; ++peer) {
    if (!isLost(peer) || lossTold[size_t(peer)])
      continue;
    lossTold[size_t(peer)] = told;
    --untold;
    for (Watcher *watcher = watchers; watcher; watcher = nextWatcher) {
      nextWatcher = watcher->next; // a watcher may leave while it is told
      watcher->peerLost(peer, losses[size_t(peer)]);
    }
    nextWatcher = nullptr;
  }
}

bool Endpoint::progress() {
  bool any = poll();
  if (untold > 0) {
    any = true;
    tellLosses();
  }
  // Only those that are ready now: callbacks may add more.
  Op *last = readyLast;
  while (Op *op = readyFirst) {
    any = true;
    readyFirst = op->chain;
    if (!readyFirst)
      readyLast = nullptr;
    if (op->previous)
      op->previous->next = op->next;
    else
      active = op->next;
    if (op->next)
      op->next->previous = op->previous;
    if (op->kind == Op::Kind::Send) {
      if (op->sendDone.run)
        op->sendDone.run(op->sendDone.user, std::move(op->status));
    } else {
      if (op->view.owner) {
        count.receivedBytes += op->view.bytes;
        ++count.receivedMessages;
      }
      op->receiveDone.run(op->receiveDone.user, op->view, std::move(op->status));
    }
    bool wasLast = op == last;
    deleteObject(alloc, op);
    if (wasLast)
      break;
  }
  return any;
}

void Endpoint::watch(Watcher &watcher) {
  watcher.previous = nullptr;
  watcher.next = watchers;
  if (watchers)
    watchers->previous = &watcher;
  watchers = &watcher;
}

void Endpoint::unwatch(Watcher &watcher) {
  if (nextWatcher == &watcher)
    nextWatcher = watcher.next;
  if (watcher.previous)
    watcher.previous->next = watcher.next;
  else if (watchers == &watcher)
    watchers = watcher.next;
  if (watcher.next)
    watcher.next->previous = watcher.previous;
  watcher.previous = watcher.next = nullptr;
}

} // namespace mxrt::net
