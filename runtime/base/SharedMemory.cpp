// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory segments, futexes in them, and process descriptors.

#include "base/SharedMemory.h"

#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace mxrt::os {

int createShared(const char *name, size_t bytes, int &descriptor) {
  descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return errno;
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) == 0)
    return 0;
  int failure = errno;
  close(descriptor);
  descriptor = -1;
  shm_unlink(name);
  return failure;
}

int openShared(const char *name, int &descriptor, size_t &bytes) {
  descriptor = shm_open(name, O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0)
    return errno;
  struct stat info;
  int failure = fstat(descriptor, &info) != 0 ? errno : info.st_uid != geteuid() ? EPERM : 0;
  if (failure) {
    close(descriptor);
    descriptor = -1;
    return failure;
  }
  bytes = static_cast<size_t>(info.st_size);
  return 0;
}

int removeShared(const char *name) { return shm_unlink(name) == 0 ? 0 : errno; }

void *mapShared(int descriptor, size_t bytes, bool writable) {
  void *memory = mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                      descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmapShared(void *memory, size_t bytes) { munmap(memory, bytes); }

int reserveShared(int descriptor, size_t offset, size_t bytes) {
  int failure;
  do
    failure = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (failure == EINTR);
  return failure;
}

bool futexWaitShared(const std::atomic<uint32_t> &word, uint32_t expected, int64_t timeoutNs) {
  timespec timeout;
  if (timeoutNs >= 0) {
    timeout.tv_sec = static_cast<time_t>(timeoutNs / 1000000000);
    timeout.tv_nsec = static_cast<long>(timeoutNs % 1000000000);
  }
  int saved = errno; // errno belongs to the host
  long result = syscall(SYS_futex, &word, FUTEX_WAIT, expected, timeoutNs >= 0 ? &timeout : nullptr,
                        nullptr, 0);
  bool inTime = result == 0 || errno != ETIMEDOUT;
  errno = saved;
  return inTime;
}

void futexWakeShared(const std::atomic<uint32_t> &word, uint32_t count) {
  int saved = errno;
  syscall(SYS_futex, &word, FUTEX_WAKE, count > INT_MAX ? INT_MAX : count, nullptr, nullptr, 0);
  errno = saved;
}

int64_t processId() { return getpid(); }

int openProcess(int64_t process) {
#ifdef SYS_pidfd_open
  int saved = errno;
  long descriptor = syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0);
  errno = saved;
  return static_cast<int>(descriptor);
#else
  return -1;
#endif
}

bool processEnded(int descriptor) {
  int saved = errno;
  pollfd waiting = {descriptor, POLLIN, 0};
  bool ended = poll(&waiting, 1, 0) == 1 && (waiting.revents & POLLIN);
  errno = saved;
  return ended;
}

} // namespace mxrt::os
