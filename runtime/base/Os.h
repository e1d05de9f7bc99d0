// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every call to the operating system that the runtime makes (apart from libc's
// memory and string functions) is behind this header and implemented in
// base/Os.cpp. Part of mxrt_core: no C++ runtime.

#ifndef MXRT_BASE_OS_H
#define MXRT_BASE_OS_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mxrt::os {

// -- memory ------------------------------------------------------------------

/// Zeroed pages aligned to `align` (a power of two, at least the page size),
/// or nullptr. `huge` asks for large pages where the system has them.
void *mapPages(size_t bytes, size_t align, bool huge);
void unmapPages(void *memory, size_t bytes);
size_t pageSize();
/// Physical memory of the machine in bytes; 0 if unknown.
int64_t physicalMemory();

// -- time --------------------------------------------------------------------

/// Nanoseconds of the monotonic clock.
int64_t monotonicNs();
void sleepNs(int64_t nanoseconds);

// -- waiting -----------------------------------------------------------------

/// Sleeps while `word` holds `expected`, at most `timeoutNs` (negative: no
/// limit). May wake for no reason; the caller looks at the word again. False
/// only when the time is up. Gives no memory order: use the atomic's.
bool futexWait(const std::atomic<uint32_t> &word, uint32_t expected,
               int64_t timeoutNs = -1);
/// Wakes up to `count` sleepers.
void futexWake(const std::atomic<uint32_t> &word, uint32_t count);
void yieldThread();
/// Tells the processor that this is a spin loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// -- threads -----------------------------------------------------------------

/// A joinable thread. Not an owner: whoever starts it must join it, and keeps
/// it at its address until then.
struct Thread {
  unsigned long handle = 0;
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
  char name[16] = {};
  bool started = false;
};
/// False if the system refuses (the error is in *errorNumber). `name` is cut
/// to 15 characters. All signals are blocked in the new thread: they belong to
/// the host's threads. Needs no memory but the stack the system maps.
bool startThread(Thread &thread, void (*entry)(void *), void *argument,
                 const char *name, int *errorNumber = nullptr);
void joinThread(Thread &thread);
/// Small number naming the calling thread (the kernel's id).
int64_t currentThreadId();
/// Processors this process may use (its affinity mask), at least 1.
int processorCount();

// -- processor ---------------------------------------------------------------

/// Asks for the right to use a state component of x86 that is not everybody's
/// (mxrt/cpu.h), for all threads of the process. False where there is none.
bool requestState(int component);

// -- surroundings ------------------------------------------------------------

/// nullptr if not set. The caller copies what it keeps.
const char *environment(const char *name);
/// Whether there is a file, folder or anything else of this name.
bool fileExists(const char *path);
/// Opens a shared library for the rest of the process; nullptr if there is
/// none. While it is loaded `variable` has `value`, unless the user set it.
void *openLibrary(const char *name, const char *variable, const char *value);
/// nullptr if the library has no such function.
void *librarySymbol(void *library, const char *name);

} // namespace mxrt::os

#endif // MXRT_BASE_OS_H
