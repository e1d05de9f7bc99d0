// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic replacement of a file by a temporary file, a lock and a rename.

#include "base/Replacement.h"
#include "base/Files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mxrt::os {

namespace {

constexpr char ending[] = ".tmp";

int openToWrite(const char *path, int flags, mode_t mode, int &descriptor) {
  do
    descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor < 0 ? errno : 0;
}

bool sameFile(const struct stat &a, const struct stat &b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/// Whether this process holds the lock and the name still refers to this file: 0, or an error
/// number; EAGAIN if another process removed or renamed the file in between.
int lockNamed(int descriptor, const char *path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? writtenByAnother : errno;
  struct stat opened, named;
  if (fstat(descriptor, &opened) != 0)
    return errno;
  if (lstat(path, &named) != 0)
    return errno == ENOENT ? EAGAIN : errno;
  return sameFile(opened, named) ? 0 : EAGAIN;
}

/// Removes the leftover of a dead process. Nothing is written to it: its other hard links, if
/// any, belong to others.
int removeLeftover(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0)
    return errno == ENOENT ? 0 : errno;
  if (!S_ISREG(info.st_mode))
    return temporaryNameTaken;
  int descriptor = -1;
  if (int failure = openToWrite(path, 0, 0, descriptor))
    return failure == ENOENT ? 0 : failure;
  int failure = lockNamed(descriptor, path);
  if (!failure && unlink(path) != 0)
    failure = errno;
  close(descriptor);
  return failure == EAGAIN ? 0 : failure;
}

/// Resolves `path`. `exists` false: no such file. Follows links: the file they name is replaced.
int findTarget(const char *path, char *target, struct stat &info, bool &exists) {
  exists = lstat(path, &info) == 0;
  if (!exists && errno != ENOENT)
    return errno;
  if (exists && S_ISLNK(info.st_mode)) {
    if (!realpath(path, target) || stat(target, &info) != 0)
      return errno;
  } else {
    size_t length = strlen(path);
    if (length >= PATH_MAX)
      return ENAMETOOLONG;
    memcpy(target, path, length + 1);
  }
  if (!exists)
    return 0;
  if (!S_ISREG(info.st_mode))
    return notARegularFile;
  if (faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0 && errno != ETXTBSY)
    return errno;
  return 0;
}

/// Sets the owner first: changing it clears mode bits.
int keepOwnerAndMode(int descriptor, const struct stat &old) {
  struct stat made;
  if (fstat(descriptor, &made) != 0)
    return errno;
  bool same = made.st_uid == old.st_uid && made.st_gid == old.st_gid;
  if (!same)
    same = fchown(descriptor, old.st_uid, old.st_gid) == 0;
  // A setuid or setgid program must not run as another owner.
  mode_t mode = old.st_mode & (same ? 07777 : 0777);
  return fchmod(descriptor, mode) == 0 ? 0 : errno;
}

} // namespace

int beginReplacement(const char *path, unsigned newMode, Replacement &made) {
  made.descriptor = -1;
  struct stat old;
  bool exists = false;
  if (int failure = findTarget(path, made.target, old, exists))
    return failure;
  size_t length = strlen(made.target);
  if (length + sizeof ending > PATH_MAX)
    return ENAMETOOLONG;
  memcpy(made.temporary, made.target, length);
  memcpy(made.temporary + length, ending, sizeof ending);
  for (;;) {
    // Private until it has the mode of the old file.
    int failure =
        openToWrite(made.temporary, O_CREAT | O_EXCL, exists ? 0600 : newMode, made.descriptor);
    if (failure == EEXIST) {
      if ((failure = removeLeftover(made.temporary)))
        return failure;
      continue;
    }
    if (failure)
      return failure;
    failure = lockNamed(made.descriptor, made.temporary);
    // Another process took it for a leftover between its creation and its lock.
    if (failure == EAGAIN || failure == writtenByAnother) {
      close(made.descriptor);
      made.descriptor = -1;
      continue;
    }
    if (!failure && exists)
      failure = keepOwnerAndMode(made.descriptor, old);
    if (failure)
      abandonReplacement(made);
    return failure;
  }
}

int finishReplacement(Replacement &made, bool durable, int &late) {
  late = 0;
  int failure = durable ? syncFile(made.descriptor) : 0;
  if (!failure)
    failure = renameFile(made.temporary, made.target);
  if (failure) {
    abandonReplacement(made);
    return failure;
  }
  closeFile(made.descriptor);
  made.descriptor = -1;
  if (durable)
    late = syncFolderOf(made.target);
  return 0;
}

void abandonReplacement(Replacement &made) {
  if (made.descriptor < 0)
    return;
  // Remove the name before unlocking: afterwards it may belong to the next writer.
  removeFile(made.temporary);
  closeFile(made.descriptor);
  made.descriptor = -1;
}

int replaceFile(const char *path, const void *data, size_t bytes, unsigned newMode) {
  Replacement made;
  if (int failure = beginReplacement(path, newMode, made))
    return failure;
  if (int failure = writeAll(made.descriptor, data, bytes)) {
    abandonReplacement(made);
    return failure;
  }
  int late = 0;
  return finishReplacement(made, false, late);
}

} // namespace mxrt::os
