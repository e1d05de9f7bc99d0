// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File system calls.

#include "base/Files.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mxrt::os {

namespace {

int openRetrying(const char *path, int flags, mode_t mode, int &descriptor) {
  do
    descriptor = open(path, flags | O_CLOEXEC, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor < 0 ? errno : 0;
}

} // namespace

int openForReading(const char *path, int &descriptor, int64_t &size) {
  if (int failure = openRetrying(path, O_RDONLY | O_NONBLOCK, 0, descriptor))
    return failure;
  struct stat info;
  int failure = fstat(descriptor, &info) != 0 ? errno : 0;
  if (!failure && !S_ISREG(info.st_mode))
    failure = notARegularFile;
  if (failure) {
    close(descriptor);
    descriptor = -1;
    return failure;
  }
  size = info.st_size;
  return 0;
}

int readAt(int descriptor, void *into, size_t bytes, int64_t offset, size_t *got) {
  *got = 0;
  while (*got < bytes) {
    size_t wanted = bytes - *got < SSIZE_MAX ? bytes - *got : SSIZE_MAX;
    ssize_t count = pread(descriptor, static_cast<char *>(into) + *got, wanted,
                          offset + static_cast<int64_t>(*got));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno;
    if (count == 0)
      return 0;
    *got += static_cast<size_t>(count);
  }
  return 0;
}

const void *mapFile(int descriptor, size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmapFile(const void *memory, size_t bytes) { munmap(const_cast<void *>(memory), bytes); }

void closeFile(int descriptor) {
  if (descriptor >= 0)
    close(descriptor);
}

int writeAll(int descriptor, const void *data, size_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t count = write(descriptor, next, bytes < SSIZE_MAX ? bytes : SSIZE_MAX);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno;
    if (count == 0)
      return ENOSPC;
    next += count;
    bytes -= static_cast<size_t>(count);
  }
  return 0;
}

int syncFile(int descriptor) {
  int result;
  do
    result = fsync(descriptor);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

int renameFile(const char *from, const char *to) { return rename(from, to) == 0 ? 0 : errno; }

int syncFolderOf(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t length = slash ? static_cast<size_t>(slash - path) : 0;
  if (length >= sizeof folder)
    return ENAMETOOLONG;
  if (!slash) {
    strcpy(folder, ".");
  } else if (length == 0) {
    strcpy(folder, "/");
  } else {
    memcpy(folder, path, length);
    folder[length] = 0;
  }
  int descriptor = -1;
  if (int failure = openRetrying(folder, O_RDONLY | O_DIRECTORY, 0, descriptor))
    return failure;
  int failure = syncFile(descriptor);
  close(descriptor);
  return failure;
}

int removeFile(const char *path) { return unlink(path) == 0 ? 0 : errno; }

int openForAppending(const char *path, int &descriptor) {
  return openRetrying(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0666, descriptor);
}

int makeFolder(const char *path) { return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : errno; }

bool isTerminal(int descriptor) { return isatty(descriptor) == 1; }

const char *errorText(int number, char *buffer, size_t capacity) {
  if (number == notARegularFile)
    return "it is not a regular file";
  if (number == writtenByAnother)
    return "another process is writing it";
  if (number == temporaryNameTaken)
    return "its name with `.tmp`, which is written first, is a link or no regular file";
  // The two variants of strerror_r: one returns the text, one a number.
  auto pick = [&](auto result) -> const char * {
    if constexpr (sizeof(result) == sizeof(char *))
      return reinterpret_cast<const char *>(result);
    else
      return result == 0 ? buffer : "unknown error";
  };
  return pick(strerror_r(number, buffer, capacity));
}

} // namespace mxrt::os
