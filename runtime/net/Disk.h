// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File operations of a replicated log, behind an interface so that the
// simulator can lose writes that were not synced. Names are plain file names
// inside of the disk's folder; anything with a slash is refused.
//
// Thread rule: one thread at a time for each object.

#ifndef MXRT_NET_DISK_H
#define MXRT_NET_DISK_H

#include "base/Allocator.h"

namespace mxrt::net {

class Disk {
public:
  virtual ~Disk() = default;
  /// Adds to the end of a file, which is created if needed. After a failure any
  /// prefix of the bytes may be there.
  virtual Status append(const char *name, const void *data, size_t bytes) = 0;
  /// Returns once the bytes and the name of the file survive a crash.
  virtual Status sync(const char *name) = 0;
  /// Replaces `to` in one step. Durable once it returns; sync `from` first.
  virtual Status rename(const char *from, const char *to) = 0;
  /// The whole file. R0601 if there is none, R0103 if it has more than `maxBytes`.
  virtual Status read(const char *name, size_t maxBytes, Vec<char> &into) = 0;
};

/// R0002 for a name that is empty, has a slash, or is `.` or `..`.
Status checkDiskName(const mxrt_allocator *alloc, const char *name);

/// Files of a folder of the operating system.
class FolderDisk final : public Disk {
public:
  /// `folder` exists, and outlives the disk.
  FolderDisk(const mxrt_allocator *alloc, const char *folder) : alloc(alloc), folder(folder) {}
  Status append(const char *name, const void *data, size_t bytes) override;
  Status sync(const char *name) override;
  Status rename(const char *from, const char *to) override;
  Status read(const char *name, size_t maxBytes, Vec<char> &into) override;

private:
  Status pathOf(const char *name, char *path, size_t capacity) const;
  const mxrt_allocator *alloc;
  const char *folder;
};

} // namespace mxrt::net

#endif // MXRT_NET_DISK_H
