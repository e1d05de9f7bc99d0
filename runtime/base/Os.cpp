// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "base/Os.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace mxrt::os {

size_t pageSize() {
  long size = sysconf(_SC_PAGESIZE);
  return size > 0 ? static_cast<size_t>(size) : 4096;
}

int64_t physicalMemory() {
  long pages = sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<int64_t>(pages) *
                         static_cast<int64_t>(pageSize())
                   : 0;
}

void *mapPages(size_t bytes, size_t align, bool huge) {
  size_t page = pageSize();
  if (bytes == 0 || bytes > SIZE_MAX / 2 || align > SIZE_MAX / 4)
    return nullptr;
  bytes = (bytes + page - 1) & ~(page - 1);
  // Map enough to find an aligned start inside, then give the ends back.
  size_t extra = align > page ? align - page : 0;
  void *raw = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return nullptr;
  uintptr_t begin = reinterpret_cast<uintptr_t>(raw);
  uintptr_t start = (begin + align - 1) & ~(align - 1);
  if (align <= page)
    start = begin;
  if (start != begin)
    munmap(raw, start - begin);
  if (uintptr_t tail = begin + bytes + extra - (start + bytes))
    munmap(reinterpret_cast<void *>(start + bytes), tail);
  void *memory = reinterpret_cast<void *>(start);
  if (huge)
    madvise(memory, bytes, MADV_HUGEPAGE); // advice only; refusal is fine
  return memory;
}

void unmapPages(void *memory, size_t bytes) {
  size_t page = pageSize();
  munmap(memory, (bytes + page - 1) & ~(page - 1));
}

int64_t monotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void sleepNs(int64_t nanoseconds) {
  if (nanoseconds <= 0)
    return;
  timespec left = {static_cast<time_t>(nanoseconds / 1000000000),
                   static_cast<long>(nanoseconds % 1000000000)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

static long futexCall(const std::atomic<uint32_t> &word, int operation,
                      uint32_t value, const timespec *timeout) {
  static_assert(sizeof(std::atomic<uint32_t>) == 4, "futexes are 32 bits");
  // errno belongs to the host: a wait that ends early must not disturb it.
  int saved = errno;
  long result = syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value,
                        timeout, nullptr, 0);
  long failure = result < 0 ? errno : 0;
  errno = saved;
  return failure;
}

bool futexWait(const std::atomic<uint32_t> &word, uint32_t expected,
               int64_t timeoutNs) {
  timespec timeout;
  if (timeoutNs >= 0) {
    timeout.tv_sec = static_cast<time_t>(timeoutNs / 1000000000);
    timeout.tv_nsec = static_cast<long>(timeoutNs % 1000000000);
  }
  return futexCall(word, FUTEX_WAIT, expected,
                   timeoutNs >= 0 ? &timeout : nullptr) != ETIMEDOUT;
}

void futexWake(const std::atomic<uint32_t> &word, uint32_t count) {
  futexCall(word, FUTEX_WAKE, count > INT_MAX ? INT_MAX : count, nullptr);
}

void yieldThread() { sched_yield(); }

static void *threadMain(void *raw) {
  auto *thread = static_cast<Thread *>(raw);
  pthread_setname_np(pthread_self(), thread->name);
  thread->entry(thread->argument);
  return nullptr;
}

bool startThread(Thread &thread, void (*entry)(void *), void *argument,
                 const char *name, int *errorNumber) {
  thread.entry = entry;
  thread.argument = argument;
  strncpy(thread.name, name, sizeof(thread.name) - 1);

  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_t handle;
  int failure = pthread_create(&handle, nullptr, threadMain, &thread);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (failure != 0) {
    if (errorNumber)
      *errorNumber = failure;
    return false;
  }
  static_assert(sizeof(pthread_t) <= sizeof(unsigned long));
  thread.handle = static_cast<unsigned long>(handle);
  thread.started = true;
  return true;
}

void joinThread(Thread &thread) {
  if (!thread.started)
    return;
  pthread_join(static_cast<pthread_t>(thread.handle), nullptr);
  thread.started = false;
}

int64_t currentThreadId() { return syscall(SYS_gettid); }

int processorCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    int count = CPU_COUNT(&set);
    if (count > 0)
      return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 && online < INT_MAX ? static_cast<int>(online) : 1;
}

bool requestState(int component) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  constexpr int requestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM, Linux 5.16
  int saved = errno;                        // it belongs to the host
  long failed = syscall(SYS_arch_prctl, requestPermission, component);
  errno = saved;
  return failed == 0;
#else
  (void)component;
  return false;
#endif
}

const char *environment(const char *name) { return getenv(name); }

bool fileExists(const char *path) { return access(path, F_OK) == 0; }

void *openLibrary(const char *name, const char *variable, const char *value) {
  bool given = getenv(variable) != nullptr;
  if (!given)
    setenv(variable, value, 0);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!given)
    unsetenv(variable);
  return library;
}

void *librarySymbol(void *library, const char *name) { return dlsym(library, name); }

} // namespace mxrt::os
