// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of a folder: append, fsync, atomic rename, read.

#include "net/Disk.h"

#include "base/Files.h"

#include <climits>
#include <cstdio>
#include <cstring>

namespace mxrt::net {
namespace {

Status diskError(const mxrt_allocator *alloc, const char *verb, const char *path, int number) {
  char buffer[128];
  return error(alloc, MXRT_FILE_ACCESS, noLocation, "cannot %s `%s`: %s", verb, path,
               os::errorText(number, buffer, sizeof buffer));
}

} // namespace

Status checkDiskName(const mxrt_allocator *alloc, const char *name) {
  if (!*name || std::strchr(name, '/') || !std::strcmp(name, ".") || !std::strcmp(name, ".."))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "`%s` is not a plain file name", name);
  return success();
}

Status FolderDisk::pathOf(const char *name, char *path, size_t capacity) const {
  MXRT_CHECK(checkDiskName(alloc, name));
  if (std::snprintf(path, capacity, "%s/%s", folder, name) >= int(capacity))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "the path of `%s` is too long", name);
  return success();
}

Status FolderDisk::append(const char *name, const void *data, size_t bytes) {
  char path[PATH_MAX];
  MXRT_CHECK(pathOf(name, path, sizeof path));
  int descriptor;
  int failure = os::openForAppending(path, descriptor);
  if (!failure) {
    failure = os::writeAll(descriptor, data, bytes);
    os::closeFile(descriptor);
  }
  return failure ? diskError(alloc, "append to", path, failure) : success();
}

Status FolderDisk::sync(const char *name) {
  char path[PATH_MAX];
  MXRT_CHECK(pathOf(name, path, sizeof path));
  int descriptor;
  int64_t size;
  int failure = os::openForReading(path, descriptor, size);
  if (!failure) {
    failure = os::syncFile(descriptor);
    os::closeFile(descriptor);
  }
  if (!failure)
    failure = os::syncFolderOf(path);
  return failure ? diskError(alloc, "sync", path, failure) : success();
}

Status FolderDisk::rename(const char *from, const char *to) {
  char source[PATH_MAX], target[PATH_MAX];
  MXRT_CHECK(pathOf(from, source, sizeof source));
  MXRT_CHECK(pathOf(to, target, sizeof target));
  int failure = os::renameFile(source, target);
  if (!failure)
    failure = os::syncFolderOf(target);
  return failure ? diskError(alloc, "rename", source, failure) : success();
}

Status FolderDisk::read(const char *name, size_t maxBytes, Vec<char> &into) {
  char path[PATH_MAX];
  MXRT_CHECK(pathOf(name, path, sizeof path));
  int descriptor;
  int64_t size;
  if (int failure = os::openForReading(path, descriptor, size))
    return diskError(alloc, "read", path, failure);
  Status status;
  size_t got = 0;
  into.clear();
  if (uint64_t(size) > maxBytes)
    status = error(alloc, MXRT_SIZE_OVERFLOW, noLocation, "`%s` has %lld bytes, the limit is %zu",
                   path, static_cast<long long>(size), maxBytes);
  else if (!into.resize(size_t(size)))
    status = outOfMemory(alloc);
  else if (int failure = os::readAt(descriptor, into.data(), into.size(), 0, &got))
    status = diskError(alloc, "read", path, failure);
  while (into.size() > got) // it is shorter now than it was
    into.pop();
  os::closeFile(descriptor);
  return status;
}

} // namespace mxrt::net
