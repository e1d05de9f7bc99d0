// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data structures of the dependency engine: an op in flight, its accesses to variables, and
// the variables. All links are intrusive, so queueing allocates no memory.

#ifndef MXRT_ENGINE_OP_H
#define MXRT_ENGINE_OP_H

#include "engine/Failure.h"
#include "engine/RealSync.h"
#include "mxrt/engine.h"

/// Embedded in an op that continues after its function returned.
struct mxrt_op_token {
  void (*complete)(mxrt_op_token *token, mxrt_status status);
  void *engine;
};

namespace mxrt::engine {

template <typename Sync> struct Op;
template <typename Sync> struct Variable;
template <typename Sync> class Lane;

/// An entry of a variable's queue. Reads and writes belong to an op; a wait lives on the stack
/// of the waiting thread, a deletion in the variable.
template <typename Sync> struct Access {
  enum class Kind : uint16_t { Read, Write, Wait, Delete };

  Access *next = nullptr; // in the variable's queue
  Op<Sync> *op = nullptr; // reads and writes only
  Variable<Sync> *variable = nullptr;
  Kind kind = Kind::Read;
  /// A write that the running op gave back before its end. Access only through wasReleased and
  /// claimRelease: helper threads of the op may release as well.
  bool released = false;
  uint32_t generation = 0; // of the handle, checked under the lock

  /// Still valid after a release, when the variable may serve another handle.
  mxrt_var handle() const {
    return (static_cast<uint64_t>(generation) << 32) | (variable->index + 1u);
  }
  bool wasReleased() {
    return std::atomic_ref<bool>(released).load(std::memory_order_relaxed);
  }
  /// True for the first call only.
  bool claimRelease() {
    return !std::atomic_ref<bool>(released).exchange(true, std::memory_order_relaxed);
  }
};

/// A thread that waits for a variable. Lives on that thread's stack and may be destroyed as
/// soon as `state` is set: the setter touches nothing after that.
template <typename Sync> struct Waiter : Access<Sync> {
  static constexpr uint32_t waiting = 0, done = 1, asleep = 2;
  typename Sync::template Atomic<uint32_t> state{waiting};
  FailureRef poison; // of the variable when the wait was granted

  void signal() {
    if (Sync::fault(Fault::LostWakeUpOfWaiter)) {
      state.store(done, std::memory_order_release);
      return;
    }
    if (state.exchange(done, std::memory_order_acq_rel) == asleep)
      Sync::futexWake(state, 1);
  }
  void sleepUntilDone(int64_t spinNanoseconds) {
    if (spinUntil<Sync>(spinNanoseconds, [&] {
          return state.load(std::memory_order_acquire) == done;
        }))
      return;
    uint32_t expected = waiting;
    state.compare_exchange_strong(expected, asleep, std::memory_order_acq_rel);
    while (state.load(std::memory_order_acquire) != done)
      Sync::futexWait(state, asleep);
  }
};

/// An op in flight, followed by its accesses and its payload. The first cache line holds all
/// that a worker needs to run a plain op.
template <typename Sync> struct alignas(64) Op {
  /// Accesses not granted yet. The thread that decrements it to 0 makes the op ready. While the
  /// op runs: the number of its variables that it has released.
  typename Sync::template Atomic<uint32_t> missing{0};
  uint16_t accessCount = 0;
  uint8_t sizeClass : 3 = 0;
  uint8_t flags : 5 = 0; // MXRT_OP_*
  uint8_t laneId = 0;
  int32_t priority = 0;
  mxrt_op_fn run = nullptr;
  void *payload = nullptr;
  void (*drop)(void *) = nullptr;
  Op *next = nullptr; // in an inbox, a ready queue or a free list
  Lane<Sync> *lane = nullptr; // threaded engine only
  uint64_t sequence = 0; // push order
  mxrt_cancel *cancel = nullptr;

  // Second cache line.
  uint64_t bytes = 0;
  const char *name = nullptr;
  mxrt_location location = {};
  union {
    uint64_t stamp = 0; // order of becoming ready on its lane; valid in a ready queue
    Failure *inherited; // poison of the inputs, one reference; valid once deferred
  };
  struct HeapLinks {
    Op *child;
    Op *sibling;
  };
  union {
    HeapLinks heap{nullptr, nullptr}; // valid in a ready queue
    mxrt_op_token token;              // valid after that
  };

  static Op *of(mxrt_op_token *token) {
    return reinterpret_cast<Op *>(reinterpret_cast<char *>(token) -
                                  offsetof(Op, token));
  }
  /// Sorted by variable index: the lock order of pushes.
  Access<Sync> *accesses() { return reinterpret_cast<Access<Sync> *>(this + 1); }
};

/// A variable: any number of active readers, or one active writer; other accesses queue.
template <typename Sync> struct alignas(64) Variable {
  using Node = Access<Sync>;
  typename Sync::Mutex mutex; // guards everything below
  uint32_t activeReaders = 0;
  bool writerActive = false;
  /// A deletion is queued: later pushes are refused.
  bool deleting = false;
  bool alive = false;
  Node *head = nullptr;
  Node *tail = nullptr;
  uint64_t version = 0;
  /// The poison, one reference held; null if clean. Changed only by the active writer, so the
  /// holder of a grant reads it without the lock.
  Failure *poison = nullptr;
  uint32_t generation = 1;
  const uint32_t index; // never changes

  // Second cache line: touched once, at the end.
  Node deletion;
  void (*drop)(void *) = nullptr;
  void *dropPayload = nullptr;
  Variable *nextFree = nullptr;
  uint32_t waits = 0; // threads that wait for it; naive engine only

  explicit Variable(uint32_t index) : index(index) {
    deletion.kind = Node::Kind::Delete;
    deletion.variable = this;
  }

  mxrt_var handle() const {
    return (static_cast<uint64_t>(generation) << 32) | (index + 1u);
  }
};

/// Work unblocked by granting or returning accesses: collected under locks, performed after.
template <typename Sync> struct Grants {
  Op<Sync> *readyFirst = nullptr; // linked by next, in order
  Op<Sync> *readyLast = nullptr;
  Access<Sync> *waits = nullptr;     // linked by next
  Access<Sync> *deletions = nullptr; // linked by next

  void ready(Op<Sync> *op) {
    op->next = nullptr;
    (readyLast ? readyLast->next : readyFirst) = op;
    readyLast = op;
  }
  Op<Sync> *popReady() {
    Op<Sync> *op = readyFirst;
    if (op) {
      readyFirst = op->next;
      if (!readyFirst)
        readyLast = nullptr;
    }
    return op;
  }
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_OP_H
