// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the schedule explorer: stacks that one real thread switches
// between by hand. A switch costs some ten nanoseconds, so a million schedules
// take seconds.

#ifndef MXRT_TEST_ENGINE_FIBER_H
#define MXRT_TEST_ENGINE_FIBER_H

#include <cstddef>
#include <cstdint>

namespace mxrt::test {

/// A stack and where it stopped. Reused for many executions; what stood on an
/// abandoned stack is forgotten, not unwound.
class Fiber {
public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;

  /// The next resume() calls entry(argument) from the beginning. entry must
  /// not return: it ends with suspend().
  void start(void (*entry)(void *), void *argument);
  /// Runs the fiber until it suspends. From outside any fiber.
  void resume();
  /// Back to where this fiber was resumed. From inside it.
  void suspend();

private:
  static void trampoline();

  char *stack;
  void *stackPointer = nullptr;  // of the fiber, while it is suspended
  void *callerPointer = nullptr; // of the one who resumed it
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
  // For the sanitizers, which track stacks.
  [[maybe_unused]] void *shadow = nullptr;
  [[maybe_unused]] void *callerShadow = nullptr;
  [[maybe_unused]] const void *callerStack = nullptr;
  [[maybe_unused]] size_t callerStackSize = 0;
};

} // namespace mxrt::test

#endif // MXRT_TEST_ENGINE_FIBER_H
