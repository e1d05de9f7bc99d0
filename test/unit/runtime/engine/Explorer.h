// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule explorer, a stateless model checker: runs a small program on the
// engine under every order of its synchronisation steps, up to a number of
// preemptions, or under random orders (PCT). ExplorerSync below is
// what the engine is built with; each of its operations is a step at which
// another thread may go on.
//
// The model is sequentially consistent: it finds wrong protocols, not missing
// fences. Those are for ThreadSanitizer and for the tests on real threads.

#ifndef MXRT_TEST_ENGINE_EXPLORER_H
#define MXRT_TEST_ENGINE_EXPLORER_H

#include "Fiber.h"
#include "engine/EngineFaults.h"
#include "mxrt/types.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

struct mxrt_op_context;

namespace mxrt::test {

/// How to choose among the threads that can go on.
struct Strategy {
  enum class Kind { Exhaustive, Pct } kind = Kind::Exhaustive;
  /// Exhaustive: how often a thread that could go on is stopped.
  int preemptions = 2;
  /// Pct: seed of the first schedule, and points where priorities change.
  uint64_t seed = 1;
  int changes = 3;
  /// Schedules at most.
  uint64_t limit = UINT64_MAX;
};

struct Report {
  uint64_t schedules = 0;
  uint64_t steps = 0;
  bool complete = false; // every schedule within the bound was run
  std::string failure;   // empty: all went well
};

/// One thread of the program under test.
struct Task {
  enum class State { Ready, OnMutex, OnFutex, OnJoin, Done };
  Fiber fiber;
  State state = State::Done;
  const void *object = nullptr; // what it waits for
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
  mxrt_op_context *running = nullptr;
  uint32_t priority = 0; // PCT
};

class Explorer {
public:
  static Explorer &current();

  /// Runs `program` (as the first thread) under many schedules; stops at the
  /// first failure.
  Report explore(const Strategy &strategy, const std::function<void()> &program);

  // For the program under test.
  /// Another thread may go on here.
  void step();
  /// The execution has failed: it is abandoned at the next step.
  void fail(const std::string &why);
  bool failed() const { return !failure.empty(); }
  /// Memory of one execution; all of it is freed afterwards.
  const mxrt_allocator *allocator() const { return &alloc; }
  int64_t liveAllocations() const { return live; }

  // For ExplorerSync.
  Task *self() const { return running; }
  Task *spawn(void (*entry)(void *), void *argument);
  void join(Task *task);
  /// Until `object` is signalled.
  void block(Task::State state, const void *object);
  /// Makes up to `count` tasks ready that wait for `object`, oldest first.
  void unblock(Task::State state, const void *object, uint32_t count);

private:
  Explorer();

  void runOnce(const std::function<void()> &program);
  Task *choose();
  size_t chooseExhaustive(const std::vector<Task *> &ready, size_t mine);
  bool nextSchedule();
  static void taskMain(void *task);
  static void *allocateHook(void *user, size_t bytes, size_t align);
  static void releaseHook(void *user, void *memory, size_t bytes, size_t align);

  Strategy strategy;
  std::vector<std::unique_ptr<Task>> tasks; // pool; the first `used` are alive
  size_t used = 0;
  std::vector<Task *> waitOrder; // blocked on futexes, oldest first
  Task *running = nullptr;
  Task *chosen = nullptr; // by a step, for the loop in runOnce
  const std::function<void()> *program = nullptr;

  /// A point where there was a choice, and which one was taken.
  struct Choice {
    uint16_t taken;
    uint16_t options;
    bool preempts; // options other than 0 cost a preemption
  };
  std::vector<Choice> choices;
  size_t depth = 0;
  int preemptionsLeft = 0;
  std::mt19937_64 random;
  std::vector<uint64_t> changePoints;
  uint64_t longest = 64;
  uint64_t steps = 0;
  std::string failure;

  mxrt_allocator alloc;
  std::vector<char> arena;
  size_t arenaUsed = 0;
  int64_t live = 0;
};

/// What ThreadedEngine<ExplorerSync> is made of.
struct ExplorerSync {
  template <typename T> class Atomic {
  public:
    constexpr Atomic(T value = T()) : value(value) {}
    // Relaxed accesses are counters and hints by the engine's own rules: no
    // protocol depends on them, so they are not steps.
    T load(std::memory_order order = std::memory_order_seq_cst) const {
      if (order != std::memory_order_relaxed)
        Explorer::current().step();
      return value;
    }
    void store(T next, std::memory_order order = std::memory_order_seq_cst) {
      if (order != std::memory_order_relaxed)
        Explorer::current().step();
      value = next;
    }
    T exchange(T next, std::memory_order = std::memory_order_seq_cst) {
      Explorer::current().step();
      return std::exchange(value, next);
    }
    T fetch_add(T by, std::memory_order order = std::memory_order_seq_cst) {
      if (order != std::memory_order_relaxed)
        Explorer::current().step();
      T old = value;
      value = static_cast<T>(value + by);
      return old;
    }
    T fetch_sub(T by, std::memory_order order = std::memory_order_seq_cst) {
      return fetch_add(static_cast<T>(T() - by), order);
    }
    bool compare_exchange_strong(T &expected, T next,
                                 std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) {
      Explorer::current().step();
      if (value == expected) {
        value = next;
        return true;
      }
      expected = value;
      return false;
    }
    bool compare_exchange_weak(T &expected, T next,
                               std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) {
      return compare_exchange_strong(expected, next);
    }
    T peek() const { return value; }

  private:
    T value;
  };

  class Mutex {
  public:
    void lock() {
      Explorer &explorer = Explorer::current();
      explorer.step();
      while (held)
        explorer.block(Task::State::OnMutex, this);
      held = true;
    }
    void unlock() {
      held = false;
      Explorer::current().unblock(Task::State::OnMutex, this, UINT32_MAX);
    }

  private:
    bool held = false;
  };

  struct Thread {
    Task *task = nullptr;
  };

  static void futexWait(const Atomic<uint32_t> &word, uint32_t expected) {
    Explorer::current().step();
    if (word.peek() == expected)
      Explorer::current().block(Task::State::OnFutex, &word);
  }
  static void futexWaitFor(const Atomic<uint32_t> &word, uint32_t expected,
                           int64_t) {
    futexWait(word, expected);
  }
  static void futexWake(const Atomic<uint32_t> &word, uint32_t count) {
    Explorer::current().step();
    Explorer::current().unblock(Task::State::OnFutex, &word, count);
  }
  static bool startThread(Thread &thread, void (*entry)(void *), void *argument,
                          const char *, int *) {
    thread.task = Explorer::current().spawn(entry, argument);
    return true;
  }
  static void joinThread(Thread &thread) {
    Explorer::current().join(thread.task);
  }
  static mxrt_op_context *&running() {
    return Explorer::current().self()->running;
  }

  static constexpr bool spins = false;
  static constexpr uint32_t varsPerChunk = 8;
  static constexpr uint32_t varChunks = 2;
  static constexpr uint32_t opsPerChunk = 8;

  static inline engine::Fault active = engine::Fault::None;
  static bool fault(engine::Fault which) { return which == active; }
};

} // namespace mxrt::test

#endif // MXRT_TEST_ENGINE_EXPLORER_H
