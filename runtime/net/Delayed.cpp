// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transport that delays, for tests and benchmarks.

#include "net/Delayed.h"

#include <algorithm>

namespace mxrt::net {

Delayed::~Delayed() {
  while (all)
    remove(all);
}

Delayed::Message *Delayed::add() {
  auto *message = newObject<Message>(allocator());
  if (!message)
    return nullptr;
  message->owner = this;
  message->next = all;
  if (all)
    all->previous = message;
  all = message;
  return message;
}

void Delayed::remove(Message *message) {
  (message->previous ? message->previous->next : all) = message->next;
  if (message->next)
    message->next->previous = message->previous;
  deleteObject(allocator(), message);
}

Result<Op *> Delayed::send(int peer, const Tag &tag, const void *data, size_t bytes,
                           SendDone done) {
  if (peer < 0 || peer >= size() || peer == rank())
    return error(allocator(), MXRT_INVALID_ARGUMENT, noLocation, "rank %d of %d has no peer %d",
                 rank(), size(), peer);
  Message *message = add();
  if (!message)
    return outOfMemory(allocator());
  message->peer = peer;
  message->tag = tag;
  message->data = data;
  message->bytes = bytes;
  message->sendDone = done;
  freeAt = std::max(freeAt, clock.now()) + int64_t(double(bytes) / link.bytesPerSecond * 1e9);
  message->due = freeAt + link.latencyNs;
  (last ? last->behind : first) = message;
  last = message;
  return reinterpret_cast<Op *>(message);
}

Result<Op *> Delayed::receive(int peer, const Tag &tag, size_t maxBytes, ReceiveDone done) {
  Message *message = add();
  if (!message)
    return outOfMemory(allocator());
  message->receiveDone = done;
  auto run = [](void *user, View view, Status status) {
    auto *message = static_cast<Message *>(user);
    ReceiveDone done = message->receiveDone;
    message->owner->remove(message);
    done.run(done.user, view, std::move(status));
  };
  Result<Op *> op = inner->receive(peer, tag, maxBytes, {run, message});
  if (op.failed()) {
    remove(message);
    return op.takeStatus();
  }
  message->op = *op;
  return reinterpret_cast<Op *>(message);
}

void Delayed::cancel(Op *op) {
  auto *message = reinterpret_cast<Message *>(op);
  if (message->op)
    inner->cancel(message->op);
  else
    message->cancelled = true; // its callback runs when it would have left
}

void Delayed::forward(Message *message) {
  auto run = [](void *user, Status status) {
    auto *message = static_cast<Message *>(user);
    SendDone done = message->sendDone;
    message->owner->remove(message);
    if (done.run)
      done.run(done.user, std::move(status));
  };
  if (message->cancelled)
    return run(message, Status(mxrt_status_constant(MXRT_CANCELLED)));
  Result<Op *> op =
      inner->send(message->peer, message->tag, message->data, message->bytes, {run, message});
  if (op.failed())
    return run(message, op.takeStatus());
  message->op = *op;
}

bool Delayed::progress() {
  bool any = inner->progress();
  while (first && (gaveUp || first->cancelled || first->due <= clock.now())) {
    Message *message = first;
    first = message->behind;
    if (!first)
      last = nullptr;
    forward(message);
    any = true;
  }
  return any;
}

void Delayed::wait(int64_t timeoutNs) {
  if (first) {
    int64_t left = std::max<int64_t>(first->due - clock.now(), 0);
    timeoutNs = timeoutNs < 0 ? left : std::min(timeoutNs, left);
  }
  inner->wait(timeoutNs);
}

void Delayed::giveUp(Status why) {
  gaveUp = true;
  inner->giveUp(std::move(why));
}

} // namespace mxrt::net
