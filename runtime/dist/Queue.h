// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues between stages of a program: bounded, in order or shuffled. An element is a
// few tensors of fixed types. They need not be computed when they are put or taken:
// only the program waits for room or for an element, never a worker of an engine.
//
// A program alone shares its tensors with the queue. Instances that are ranks of one
// process have a runtime each, so elements travel as parcels (dist/Parcel.h).
//
// A wait that nobody can end is an error: all instances that still run wait for room
// or for an element, none can go on.
//
// Thread rule: any thread; a rank is used by one thread at a time.

#ifndef MXRT_DIST_QUEUE_H
#define MXRT_DIST_QUEUE_H

#include "base/Sync.h"
#include "memory/Tensor.h"
#include "mxrt/random.h"

#include <atomic>
#include <span>

namespace mxrt::dist {

class Parcel;
class Queue;

/// The type of a tensor of an element.
struct PartType {
  mxrt_dtype type = MXRT_F32;
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK] = {};
  ShapeRef shape() const { return {type, rank, sizes}; }
  bool operator==(const PartType &) const = default;
};

struct QueueForm {
  std::span<const PartType> parts;
  int64_t capacity = 1;
  /// Each element that is taken is a random one of the `among` oldest. 1: in order. Until the
  /// queue is closed, takers wait for that many, so that the choice does not depend on time.
  int64_t among = 1;
  mxrt_rng stream = {};
};

/// One of both.
struct Element {
  explicit Element(const mxrt_allocator *alloc) : tensors(alloc) {}
  Element(Element &&other) noexcept
      : tensors(std::move(other.tensors)), parcel(std::exchange(other.parcel, nullptr)) {}
  Element &operator=(Element &&other) noexcept {
    std::swap(tensors, other.tensors);
    std::swap(parcel, other.parcel);
    return *this;
  }
  ~Element();
  /// A second owner of the same tensors.
  Result<Element> share() const;
  Vec<TensorRef> tensors;
  Parcel *parcel = nullptr; // owns a reference
};

/// The instances of a program, which share queues, and who of them waits.
class QueueHub {
public:
  QueueHub(const mxrt_allocator *alloc, int ranks);
  QueueHub(const QueueHub &) = delete;
  ~QueueHub();

  /// The next queue of this rank; all ranks make the same, or get R0702. The caller owns a
  /// reference.
  Result<Queue *> meet(int rank, const QueueForm &form, mxrt_location location);
  /// The program of a rank is over.
  void leave(int rank);

private:
  friend class Queue;
  struct Rank {
    const Queue *waitsFor = nullptr;
    bool isPutting = false, isGone = false;
    size_t queues = 0; // that it has made
  };
  bool isStuck() const;

  const mxrt_allocator *const alloc;
  const size_t count;
  Mutex mutex; // guards what follows, and the queues
  Condition changed;
  Vec<Rank> ranks;
  Vec<Queue *> queues;
};

/// What a checkpoint has of a queue.
struct QueueState {
  explicit QueueState(const mxrt_allocator *alloc) : elements(alloc) {}
  bool isClosed = false;
  mxrt_rng stream = {};
  Vec<Element> elements; // the oldest first
};

class Queue {
public:
  /// A queue of a program alone. The caller owns a reference.
  static Result<Queue *> make(const mxrt_allocator *alloc, const QueueForm &form);
  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release();

  std::span<const PartType> parts() const { return {types.data(), types.size()}; }
  int64_t capacity() const { return room; }
  bool isShared() const { return !own; }

  /// The rank that waits, and what ends the wait besides the queue.
  struct Waiter {
    int rank = 0;
    const std::atomic<uint32_t> *cancelled = nullptr; // not 0: R0004
  };
  /// Waits for room. R0720 if the queue is closed, R0721 if nobody can take an element.
  Status put(const Waiter &waiter, Element element);
  /// Waits for an element. R0720 if the queue is closed and empty, R0721 if nobody can put one.
  Result<Element> get(const Waiter &waiter);
  /// Waits until get() would give an element (true), or the queue is closed and empty.
  Result<bool> more(const Waiter &waiter);
  /// Nothing more comes; what is there can be taken.
  void close();
  /// Closes it and drops what is there.
  void cancel();
  int64_t length();

  Result<QueueState> state();
  /// Replaces everything; at most capacity() elements.
  void setState(QueueState state);

private:
  friend class QueueHub;
  template <typename T, typename... Args>
  friend T *mxrt::newObject(const mxrt_allocator *alloc, Args &&...args);
  template <typename T> friend void mxrt::deleteObject(const mxrt_allocator *alloc, T *object);
  Queue(const mxrt_allocator *alloc, QueueHub &hub);
  ~Queue() = default;
  Status open(const QueueForm &form);
  bool hasForm(const QueueForm &form) const;
  bool canPut() const { return isClosed || int64_t(elements.size()) < room; }
  bool canGet() const { return isClosed || int64_t(elements.size()) >= among; }
  Status wait(const Waiter &waiter, bool isPutting);
  Status stuck(bool isPutting) const;
  size_t choose();

  const mxrt_allocator *const alloc;
  QueueHub &hub;
  Box<QueueHub> own; // of a program alone
  std::atomic<uint32_t> references{1};
  Vec<PartType> types;
  int64_t room = 1, among = 1;
  // Guarded by the mutex of the hub.
  bool isClosed = false;
  mxrt_rng stream = {};
  Vec<Element> elements;
};

} // namespace mxrt::dist

#endif // MXRT_DIST_QUEUE_H
