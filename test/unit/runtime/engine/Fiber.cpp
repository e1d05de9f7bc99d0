// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fiber.h"

#include <cstdlib>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MXRT_TEST_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define MXRT_TEST_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace mxrt::test {

constexpr size_t stackBytes = 256 * 1024;
static Fiber *starting = nullptr;

#if defined(__x86_64__)
// Saves what a call must preserve, puts the stack pointer into *save and goes
// on with the stack at `load`.
extern "C" void mxrtTestSwitch(void **save, void *load);
asm(R"(
  .text
  .globl mxrtTestSwitch
  .type mxrtTestSwitch,@function
mxrtTestSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size mxrtTestSwitch,.-mxrtTestSwitch
)");
#endif

Fiber::Fiber() {
  stack = static_cast<char *>(mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (stack == MAP_FAILED)
    std::abort();
#ifdef MXRT_TEST_TSAN
  shadow = __tsan_create_fiber(0);
#endif
#if !defined(__x86_64__)
  stackPointer = new ucontext_t;
  callerPointer = new ucontext_t;
#endif
}

Fiber::~Fiber() {
#ifdef MXRT_TEST_TSAN
  __tsan_destroy_fiber(shadow);
#endif
#if !defined(__x86_64__)
  delete static_cast<ucontext_t *>(stackPointer);
  delete static_cast<ucontext_t *>(callerPointer);
#endif
  munmap(stack, stackBytes);
}

void Fiber::trampoline() {
  Fiber *self = starting;
#ifdef MXRT_TEST_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->callerStack,
                                  &self->callerStackSize);
#endif
  self->entry(self->argument);
  std::abort(); // entry must not return
}

void Fiber::start(void (*newEntry)(void *), void *newArgument) {
  entry = newEntry;
  argument = newArgument;
#ifdef MXRT_TEST_ASAN
  // An abandoned stack left its red zones behind.
  __asan_unpoison_memory_region(stack, stackBytes);
  shadow = nullptr;
#endif
#ifdef MXRT_TEST_TSAN
  // Likewise the list of calls it was in.
  __tsan_destroy_fiber(shadow);
  shadow = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
  // At the entry of a function the stack is 8 off a multiple of 16.
  auto *top = reinterpret_cast<void **>(stack + stackBytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(&Fiber::trampoline);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  stackPointer = top;
#else
  auto *context = static_cast<ucontext_t *>(stackPointer);
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = stackBytes;
  context->uc_link = nullptr;
  makecontext(context, &Fiber::trampoline, 0);
#endif
}

void Fiber::resume() {
  starting = this;
#ifdef MXRT_TEST_ASAN
  void *fakeStack = nullptr;
  __sanitizer_start_switch_fiber(&fakeStack, stack, stackBytes);
#endif
#ifdef MXRT_TEST_TSAN
  callerShadow = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(shadow, 0);
#endif
#if defined(__x86_64__)
  mxrtTestSwitch(&callerPointer, stackPointer);
#else
  swapcontext(static_cast<ucontext_t *>(callerPointer),
              static_cast<ucontext_t *>(stackPointer));
#endif
#ifdef MXRT_TEST_ASAN
  __sanitizer_finish_switch_fiber(fakeStack, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
#ifdef MXRT_TEST_ASAN
  __sanitizer_start_switch_fiber(&shadow, callerStack, callerStackSize);
#endif
#ifdef MXRT_TEST_TSAN
  __tsan_switch_to_fiber(callerShadow, 0);
#endif
#if defined(__x86_64__)
  mxrtTestSwitch(&stackPointer, callerPointer);
#else
  swapcontext(static_cast<ucontext_t *>(stackPointer),
              static_cast<ucontext_t *>(callerPointer));
#endif
#ifdef MXRT_TEST_ASAN
  __sanitizer_finish_switch_fiber(shadow, &callerStack, &callerStackSize);
#endif
}

} // namespace mxrt::test
