// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting for room and for elements, the order of elements, ends.

#include "dist/Queue.h"
#include "dist/Parcel.h"

#include <algorithm>

namespace mxrt::dist {

/// How often a program that waits looks whether it was cancelled.
static constexpr int64_t cancelCheckNs = 20'000'000;

Element::~Element() {
  if (parcel)
    parcel->release();
}

Result<Element> Element::share() const {
  Element made(tensors.allocator());
  for (const TensorRef &tensor : tensors)
    if (!made.tensors.push(TensorRef(mxrt_tensor_retain(tensor.get()))))
      return outOfMemory(tensors.allocator());
  if (parcel)
    parcel->retain();
  made.parcel = parcel;
  return made;
}

// -- the instances that share queues -----------------------------------------

QueueHub::QueueHub(const mxrt_allocator *alloc, int ranks)
    : alloc(alloc), count(size_t(ranks)), ranks(alloc), queues(alloc) {}

QueueHub::~QueueHub() {
  for (Queue *queue : queues)
    queue->release();
}

Result<Queue *> QueueHub::meet(int rank, const QueueForm &form, mxrt_location location) {
  Lock lock(mutex);
  if (!ranks.resize(count))
    return outOfMemory(alloc, location);
  size_t number = ranks[size_t(rank)].queues;
  if (number == queues.size()) {
    auto *made = newObject<Queue>(alloc, alloc, *this);
    Status status = made ? made->open(form) : outOfMemory(alloc, location);
    if (status.ok() && !queues.push(made))
      status = outOfMemory(alloc, location);
    if (status.failed()) {
      deleteObject(alloc, made);
      return status;
    }
  }
  Queue *queue = queues[number];
  if (!queue->hasForm(form))
    return error(alloc, MXRT_KVSTORE_MISMATCH, location,
                 "the ranks make different queues: number %zu has other elements, or another "
                 "capacity, at rank %d",
                 number + 1, rank);
  ++ranks[size_t(rank)].queues;
  queue->retain();
  return queue;
}

void QueueHub::leave(int rank) {
  Lock lock(mutex);
  if (!ranks.resize(count))
    return;
  ranks[size_t(rank)].isGone = true;
  changed.wakeAll();
}

/// Whether no instance can go on: all wait, for what only another could bring.
bool QueueHub::isStuck() const {
  return std::all_of(ranks.begin(), ranks.end(), [](const Rank &rank) {
    if (rank.isGone)
      return true;
    return rank.waitsFor && !(rank.isPutting ? rank.waitsFor->canPut() : rank.waitsFor->canGet());
  });
}

// -- making ------------------------------------------------------------------

Queue::Queue(const mxrt_allocator *alloc, QueueHub &hub)
    : alloc(alloc), hub(hub), types(alloc), elements(alloc) {}

Result<Queue *> Queue::make(const mxrt_allocator *alloc, const QueueForm &form) {
  Box<QueueHub> hub = MXRT_TRY(makeBox<QueueHub>(alloc, alloc, 1));
  auto *made = newObject<Queue>(alloc, alloc, *hub);
  if (!made)
    return outOfMemory(alloc);
  Status status = hub->ranks.resize(1) ? made->open(form) : outOfMemory(alloc);
  if (status.failed()) {
    deleteObject(alloc, made);
    return status;
  }
  made->own = std::move(hub);
  return made;
}

Status Queue::open(const QueueForm &form) {
  if (!types.reserve(form.parts.size()))
    return outOfMemory(alloc);
  for (const PartType &part : form.parts)
    (void)types.push(part); // reserved
  room = form.capacity;
  among = form.among;
  stream = form.stream;
  return success();
}

bool Queue::hasForm(const QueueForm &form) const {
  return room == form.capacity && among == form.among &&
         std::equal(types.begin(), types.end(), form.parts.begin(), form.parts.end());
}

void Queue::release() {
  if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    deleteObject(alloc, this);
}

// -- waiting -----------------------------------------------------------------

Status Queue::stuck(bool isPutting) const {
  auto held = static_cast<long long>(elements.size());
  const char *who = isShared() ? "all instances of the program that still run wait"
                               : "the program alone uses it, and it would wait for ever";
  if (isPutting)
    return error(alloc, MXRT_QUEUE_STUCK, noLocation,
                 "put: the queue is full (capacity %lld), and nobody can take an element\nnote: "
                 "%s\nhelp: take one first, `if len(q) == q.capacity { let x = q.get() }`, or give "
                 "it more room",
                 static_cast<long long>(room), who);
  if (among > 1)
    return error(alloc, MXRT_QUEUE_STUCK, noLocation,
                 "get: the queue has %lld of the %lld elements that it chooses from, and nobody "
                 "can put one\nnote: %s\nhelp: call `close` when all elements are there",
                 held, static_cast<long long>(among), who);
  return error(alloc, MXRT_QUEUE_STUCK, noLocation,
               "get: the queue is empty, and nobody can put an element\nnote: %s\nhelp: put first; "
               "or call `close` behind the last `put`, and take with `for x in q { … }`, which "
               "ends then",
               who);
}

/// The mutex is held.
Status Queue::wait(const Waiter &waiter, bool isPutting) {
  QueueHub::Rank &rank = hub.ranks[size_t(waiter.rank)];
  rank.waitsFor = this;
  rank.isPutting = isPutting;
  Status status;
  while (status.ok() && !(isPutting ? canPut() : canGet())) {
    if (waiter.cancelled && waiter.cancelled->load(std::memory_order_relaxed))
      status = Status(mxrt_status_constant(MXRT_CANCELLED));
    else if (hub.isStuck())
      status = stuck(isPutting);
    else
      hub.changed.wait(hub.mutex, cancelCheckNs);
  }
  rank.waitsFor = nullptr;
  return status;
}

Status Queue::put(const Waiter &waiter, Element element) {
  Lock lock(hub.mutex);
  MXRT_CHECK(wait(waiter, true));
  if (isClosed)
    return error(alloc, MXRT_QUEUE_CLOSED, noLocation,
                 "put: the queue is closed\nnote: nothing can be put behind `close` or `cancel`");
  if (!elements.push(std::move(element)))
    return outOfMemory(alloc);
  hub.changed.wakeAll();
  return success();
}

/// The position of the element to take. Each choice uses one block of the stream.
size_t Queue::choose() {
  if (among <= 1)
    return 0;
  uint64_t count = std::min(uint64_t(among), uint64_t(elements.size()));
  uint64_t position = stream.position++;
  uint32_t counter[4] = {uint32_t(position), uint32_t(position >> 32), 0, 0};
  uint32_t key[2] = {uint32_t(stream.key), uint32_t(stream.key >> 32)};
  uint32_t block[4];
  mxrt_philox(counter, key, block);
  uint64_t bits = uint64_t(block[0]) | uint64_t(block[1]) << 32;
  return size_t((static_cast<unsigned __int128>(bits) * count) >> 64);
}

Result<Element> Queue::get(const Waiter &waiter) {
  Lock lock(hub.mutex);
  MXRT_CHECK(wait(waiter, false));
  if (elements.empty())
    return error(alloc, MXRT_QUEUE_CLOSED, noLocation,
                 "get: the queue is closed and empty\nhelp: `for x in q { … }` takes what is left "
                 "and ends");
  size_t at = choose();
  Element taken = std::move(elements[at]);
  std::move(elements.begin() + at + 1, elements.end(), elements.begin() + at);
  elements.pop();
  hub.changed.wakeAll();
  return taken;
}

Result<bool> Queue::more(const Waiter &waiter) {
  Lock lock(hub.mutex);
  MXRT_CHECK(wait(waiter, false));
  return !elements.empty();
}

void Queue::close() {
  Lock lock(hub.mutex);
  isClosed = true;
  hub.changed.wakeAll();
}

void Queue::cancel() {
  Vec<Element> dropped(alloc); // destroyed behind the lock
  Lock lock(hub.mutex);
  isClosed = true;
  dropped = std::move(elements);
  elements = Vec<Element>(alloc);
  hub.changed.wakeAll();
}

int64_t Queue::length() {
  Lock lock(hub.mutex);
  return int64_t(elements.size());
}

// -- checkpoints -------------------------------------------------------------

Result<QueueState> Queue::state() {
  Lock lock(hub.mutex);
  QueueState made(alloc);
  made.isClosed = isClosed;
  made.stream = stream;
  if (!made.elements.reserve(elements.size()))
    return outOfMemory(alloc);
  for (const Element &element : elements) {
    auto shared = element.share();
    if (shared.failed())
      return shared.takeStatus();
    (void)made.elements.push(shared.take()); // reserved
  }
  return made;
}

void Queue::setState(QueueState state) {
  Lock lock(hub.mutex);
  isClosed = state.isClosed;
  stream = state.stream;
  std::swap(elements, state.elements);
  hub.changed.wakeAll();
}

} // namespace mxrt::dist
