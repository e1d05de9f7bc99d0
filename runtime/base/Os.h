// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All system calls of the runtime (apart from libc's memory and string functions) are behind
// this header and implemented in base/Os.cpp. Part of mxrt_core: no C++ runtime.

#ifndef MXRT_BASE_OS_H
#define MXRT_BASE_OS_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mxrt::os {

// -- memory ------------------------------------------------------------------

/// Zeroed pages aligned to `align` (a power of two, at least the page size), or nullptr. `huge`
/// requests huge pages where the system has them.
void *mapPages(size_t bytes, size_t align, bool huge);
void unmapPages(void *memory, size_t bytes);
size_t pageSize();
/// Maximum bytes of memory and swap that this process can use: those of the machine, or of its
/// control group (cgroup) if that has a limit. 0 if unknown.
int64_t usableMemory();

// -- time --------------------------------------------------------------------

/// Nanoseconds of the monotonic clock.
int64_t monotonicNs();
void sleepNs(int64_t nanoseconds);

// -- waiting -----------------------------------------------------------------

/// Sleeps while `word` holds `expected`, at most `timeoutNs` (negative: no limit). Wake-ups may
/// be spurious; the caller rechecks the word. False only on timeout. Implies no memory order:
/// use the atomic's.
bool futexWait(const std::atomic<uint32_t> &word, uint32_t expected,
               int64_t timeoutNs = -1);
/// Wakes up to `count` sleepers.
void futexWake(const std::atomic<uint32_t> &word, uint32_t count);
void yieldThread();
/// Spin-loop hint to the processor (pause, yield).
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// -- threads -----------------------------------------------------------------

/// A joinable thread. Not an owner: the code that starts it must join it, and keeps it at its
/// address until then.
struct Thread {
  unsigned long handle = 0;
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
  char name[16] = {};
  bool started = false;
};
/// False if the system refuses (the error is in *errorNumber). `name` is truncated to 15
/// characters. All signals are blocked in the new thread: they belong to the host's threads.
/// Needs no memory but the stack that the system maps.
bool startThread(Thread &thread, void (*entry)(void *), void *argument,
                 const char *name, int *errorNumber = nullptr);
void joinThread(Thread &thread);
/// Small integer id of the calling thread (the kernel's id).
int64_t currentThreadId();
/// Processors this process may use (its affinity mask), at least 1.
int processorCount();

// -- processor ---------------------------------------------------------------

/// Requests permission to use an x86 state component that is not enabled by default
/// (mxrt/cpu.h), for all threads of the process. False if it is not available.
bool requestState(int component);

// -- environment -------------------------------------------------------------

/// nullptr if not set. The caller copies what it keeps.
const char *environment(const char *name);
/// Whether a file, folder or anything else of this name exists.
bool fileExists(const char *path);
/// Opens a shared library for the rest of the process; nullptr if there is none. During
/// loading, the environment variable `variable` has `value`, unless the user set it.
void *openLibrary(const char *name, const char *variable, const char *value);
void *openLibrary(const char *name);
/// Why the last openLibrary() of this thread failed.
const char *libraryError();
/// The file of the program that runs. False if it is unknown or longer than this.
bool programPath(char *out, size_t capacity);
/// nullptr if the library has no such function.
void *librarySymbol(void *library, const char *name);

} // namespace mxrt::os

#endif // MXRT_BASE_OS_H
