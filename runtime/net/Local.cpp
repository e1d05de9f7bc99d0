// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-process transport: an inbox for each rank, under one mutex.

#include "net/Local.h"

namespace mxrt::net {

/// Created by the sender, with the hub's allocator. The receiver returns it after
/// use; if the sender has ended by then, the receiver deletes it.
struct LocalMessage : Message {
  enum class State : uint8_t { Posted, Taken, Withdrawn };
  State state = State::Posted; // guarded by the hub's mutex, like all below
  Op *op = nullptr;            // nullptr: the sender no longer waits
  int from = 0;
  LocalMessage *next = nullptr;
};

Status LocalHub::open() {
  if (ranks < 1)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "a hub of %d ranks", ranks);
  return boxes.resize(size_t(ranks)) ? success() : outOfMemory(alloc);
}

LocalHub::~LocalHub() {
  for (Box &box : boxes)
    for (LocalMessage **list : {&box.inboxFirst, &box.returned})
      while (LocalMessage *message = *list) {
        *list = message->next;
        deleteObject(alloc, message);
      }
}

void LocalHub::wake(Box &box) {
  if (box.changed)
    box.changed->wakeAll();
}

Status Local::open() {
  MXRT_CHECK(openEndpoint());
  if (!ends.resize(size_t(ranks)))
    return outOfMemory(alloc);
  Lock lock(hub.mutex);
  LocalHub::Box &box = hub.boxes[size_t(self)];
  if (box.taken)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "rank %d joined before", self);
  box.taken = true;
  box.changed = &changed;
  opened = true;
  return success();
}

Local::~Local() {
  if (!opened)
    return;
  dropAll();
  end(LocalHub::End::Left);
  Lock lock(hub.mutex);
  LocalHub::Box &box = hub.boxes[size_t(self)];
  box.changed = nullptr;
  while (LocalMessage *message = box.returned) {
    box.returned = message->next;
    deleteObject(hub.alloc, message);
  }
}

void Local::end(LocalHub::End how) {
  Lock lock(hub.mutex);
  LocalHub::Box &own = hub.boxes[size_t(self)];
  if (own.end == LocalHub::End::No)
    own.end = how;
  for (LocalHub::Box &box : hub.boxes)
    hub.wake(box);
}

void Local::spreadEnd() { end(LocalHub::End::GaveUp); }

Status Local::startSend(Op &op) {
  auto *message = newObject<LocalMessage>(hub.alloc);
  if (!message)
    return outOfMemory(alloc);
  message->peer = self;
  message->tag = op.tag;
  message->data = op.data;
  message->bytes = op.bytes;
  message->op = &op;
  message->from = self;
  op.number = reinterpret_cast<uintptr_t>(message);
  Lock lock(hub.mutex);
  LocalHub::Box &box = hub.boxes[size_t(op.peer)];
  (box.inboxLast ? box.inboxLast->next : box.inboxFirst) = message;
  box.inboxLast = message;
  hub.wake(box);
  return success();
}

bool Local::cancelSend(Op &op, bool force) {
  Lock lock(hub.mutex);
  auto *message = reinterpret_cast<LocalMessage *>(op.number);
  if (message->state == LocalMessage::State::Taken && !force)
    return false;
  if (message->state == LocalMessage::State::Posted)
    message->state = LocalMessage::State::Withdrawn;
  message->op = nullptr;
  return true;
}

bool Local::takeMessage(Message &raw) {
  auto &message = static_cast<LocalMessage &>(raw);
  {
    Lock lock(hub.mutex);
    if (message.state == LocalMessage::State::Posted) {
      message.state = LocalMessage::State::Taken;
      return true;
    }
  }
  (void)dropMessage(raw, false);
  return false;
}

bool Local::dropMessage(Message &raw, bool) {
  auto &message = static_cast<LocalMessage &>(raw);
  Lock lock(hub.mutex);
  LocalHub::Box &sender = hub.boxes[size_t(message.from)];
  if (!sender.changed) { // it has ended
    deleteObject(hub.alloc, &message);
    return true;
  }
  message.next = sender.returned;
  sender.returned = &message;
  hub.wake(sender);
  return true;
}

bool Local::poll() {
  ticket = changed.ticket();
  LocalMessage *inbox, *returned;
  {
    Lock lock(hub.mutex);
    LocalHub::Box &box = hub.boxes[size_t(self)];
    inbox = std::exchange(box.inboxFirst, nullptr);
    box.inboxLast = nullptr;
    returned = std::exchange(box.returned, nullptr);
    // Under the same lock: all messages sent before a rank left are here.
    for (size_t peer = 0; peer < ends.size(); ++peer)
      ends[peer] = hub.boxes[peer].end;
  }
  bool any = inbox || returned;
  while (LocalMessage *message = returned) {
    returned = message->next;
    if (message->op)
      finishSend(*message->op,
                 message->op->cancelled ? Status(mxrt_status_constant(MXRT_CANCELLED)) : success());
    deleteObject(hub.alloc, message);
  }
  while (LocalMessage *message = inbox) {
    inbox = message->next;
    message->next = nullptr;
    if (isLost(message->peer) && !hasLeft(message->peer))
      (void)dropMessage(*message, false);
    else
      arrived(*message);
  }
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self || isLost(peer))
      continue;
    LocalHub::End end = ends[size_t(peer)];
    bool left = end == LocalHub::End::Left;
    if (end != LocalHub::End::No)
      declareLost(peer,
                  error(alloc, MXRT_KVSTORE, noLocation, "rank %d is lost: it %s", peer,
                        left ? "left" : "gave up after an error of its own"),
                  left);
  }
  return any;
}

void Local::wait(int64_t timeoutNs) { changed.wait(ticket, timeoutNs); }

} // namespace mxrt::net
