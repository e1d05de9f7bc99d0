// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// System calls: pages, cgroup memory limits, clocks, futexes, threads, shared libraries.

#include "base/Os.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace mxrt::os {

size_t pageSize() {
  long size = sysconf(_SC_PAGESIZE);
  return size > 0 ? static_cast<size_t>(size) : 4096;
}

/// Reads the start of a small file as text; false if there is none.
static bool readText(const char *path, char *text, size_t capacity) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t got = read(file, text, capacity - 1);
  close(file);
  text[got > 0 ? got : 0] = 0;
  return got > 0;
}

/// The number in a file of a control group; -1: "max", or no such file.
static int64_t groupNumber(const char *folder, const char *name) {
  char path[PATH_MAX], text[64];
  if (snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", folder, name) >= int(sizeof path) ||
      !readText(path, text, sizeof text) || text[0] < '0' || text[0] > '9')
    return -1;
  return strtoll(text, nullptr, 10);
}

int64_t usableMemory() {
  int saved = errno; // errno belongs to the host
  struct sysinfo info;
  int64_t ram = 0, swap = 0;
  if (sysinfo(&info) == 0) {
    ram = static_cast<int64_t>(info.totalram) * info.mem_unit;
    swap = static_cast<int64_t>(info.totalswap) * info.mem_unit;
  }
  // The line of cgroup version 2: 0::/folder. Each parent folder may have a limit too.
  char groups[4096];
  char *folder = ram > 0 && readText("/proc/self/cgroup", groups, sizeof groups)
                     ? strstr(groups, "0::/")
                     : nullptr;
  if (folder) {
    folder += 3;
    folder[strcspn(folder, "\n")] = 0;
    for (;;) {
      int64_t limit = groupNumber(folder, "memory.max");
      if (limit > 0 && limit < ram)
        ram = limit;
      int64_t swapped = groupNumber(folder, "memory.swap.max");
      if (swapped >= 0 && swapped < swap)
        swap = swapped;
      char *slash = strrchr(folder, '/');
      if (!slash || !*folder)
        break;
      *slash = 0;
    }
  }
  errno = saved;
  return ram + swap;
}

void *mapPages(size_t bytes, size_t align, bool huge) {
  size_t page = pageSize();
  if (bytes == 0 || bytes > SIZE_MAX / 2 || align > SIZE_MAX / 4)
    return nullptr;
  bytes = (bytes + page - 1) & ~(page - 1);
  // Map enough to contain an aligned start, then unmap both ends.
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
  // errno belongs to the host: a wait that ends early must not change it.
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
  int saved = errno;                        // errno belongs to the host
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

void *openLibrary(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

const char *libraryError() {
  const char *text = dlerror();
  return text ? text : "";
}

bool programPath(char *out, size_t capacity) {
  ssize_t length = readlink("/proc/self/exe", out, capacity);
  if (length <= 0 || static_cast<size_t>(length) >= capacity)
    return false;
  out[length] = 0;
  return true;
}

void *openLibrary(const char *name, const char *variable, const char *value) {
  bool given = getenv(variable) != nullptr;
  if (!given)
    setenv(variable, value, 0);
  void *library = openLibrary(name);
  if (!given)
    unsetenv(variable);
  return library;
}

void *librarySymbol(void *library, const char *name) { return dlsym(library, name); }

} // namespace mxrt::os
