// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A private folder with atomic writes.
#include "Target/PrivateFolder.h"
#include <atomic>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace mx::target {

namespace {

constexpr std::string_view kTemporary = ".writing-";
constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kStaleNs = 3600 * kNsPerSecond;

/// A file descriptor, closed on destruction.
class File {
public:
  explicit File(int handle) : handle(handle) {}
  File(const File &) = delete;
  ~File() {
    if (handle >= 0)
      ::close(handle);
  }
  int get() const { return handle; }
  bool valid() const { return handle >= 0; }
  int release() { return std::exchange(handle, -1); }

private:
  int handle;
};

int64_t nanoseconds(const timespec &time) {
  return int64_t(time.tv_sec) * kNsPerSecond + time.tv_nsec;
}

/// Owned by this user and not writable by others: its contents can only be from this user.
bool writtenByUs(const struct stat &status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Differs from names of other threads, other processes and other machines on the same disk.
/// O_EXCL guarantees that no two writers collide; this only makes retries rare.
std::string temporaryName() {
  static std::atomic<uint64_t> counter{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::string(kTemporary) + std::to_string(::getpid()) + "-" +
         std::to_string(nanoseconds(now)) + "-" + std::to_string(counter++);
}

/// Creates missing parents. Does not check whether the result may be used.
void makeFolders(const std::string &path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
}

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return true;
}

} // namespace

Result<PrivateFolder> PrivateFolder::open(const std::string &given) {
  std::string path = given;
  // With a trailing slash, a symbolic link would be followed.
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  if (path.empty() || path.find('\0') != std::string::npos)
    return Fault{"the folder has no name"};
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int opened = ::open(path.c_str(), flags);
  if (opened < 0 && errno == ENOENT) {
    makeFolders(path);
    opened = ::open(path.c_str(), flags);
  }
  if (opened < 0) {
    const std::string reason = std::strerror(errno);
    struct stat link;
    if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
      return Fault{path + " is a symbolic link"};
    return Fault{path + " cannot be opened or made: " + reason};
  }
  File folder(opened);
  struct stat status;
  if (::fstat(folder.get(), &status) != 0)
    return Fault{path + " cannot be examined: " + std::strerror(errno)};
  if (status.st_uid != ::geteuid())
    return Fault{path + " belongs to another user"};
  if (!writtenByUs(status))
    return Fault{path + " can be written by others"};
  return PrivateFolder(folder.release());
}

PrivateFolder::~PrivateFolder() {
  if (handle >= 0)
    ::close(handle);
}

PrivateFolder::ReadState PrivateFolder::read(const std::string &name, uint64_t maxBytes,
                                             std::string &bytes) const {
  // O_NONBLOCK: a pipe of that name must not block.
  File file(::openat(handle, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // Other failures (no more descriptors, say) do not mean that the entry is bad.
  if (!file.valid())
    return errno == ELOOP ? ReadState::Refused : ReadState::Missing;
  struct stat status;
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !writtenByUs(status) ||
      static_cast<uint64_t>(status.st_size) > maxBytes)
    return ReadState::Refused;
  bytes.resize(static_cast<size_t>(status.st_size));
  size_t filled = 0;
  while (filled < bytes.size()) {
    ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  // If it fails, only the LRU order is lost.
  ::futimens(file.get(), nullptr);
  return ReadState::Read;
}

std::optional<Fault> PrivateFolder::write(const std::string &name, std::string_view bytes) const {
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::string temporary = temporaryName();
    File file(::openat(handle, temporary.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid() && errno == EEXIST)
      continue;
    if (!file.valid())
      return Fault{std::string("a file cannot be made: ") + std::strerror(errno)};
    // Not synced to the disk: after a power cut a file may be truncated, and its checksum detects
    // it. fchmod: the user's umask may remove even our own read permission.
    if (::fchmod(file.get(), 0600) == 0 && writeAll(file.get(), bytes) &&
        ::renameat(handle, temporary.c_str(), handle, name.c_str()) == 0)
      return std::nullopt;
    Fault fault{std::string("a file cannot be written: ") + std::strerror(errno)};
    ::unlinkat(handle, temporary.c_str(), 0);
    return fault;
  }
  return Fault{"no name is free for a temporary file"};
}

void PrivateFolder::remove(const std::string &name) const { ::unlinkat(handle, name.c_str(), 0); }

template <typename Visit> void PrivateFolder::forEachFile(Visit visit) const {
  // A file description of its own: duplicates share the position in a folder.
  File again(::openat(handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again.valid())
    return;
  std::unique_ptr<DIR, int (*)(DIR *)> folder(::fdopendir(again.get()), ::closedir);
  if (!folder)
    return;
  again.release();
  while (const dirent *found = ::readdir(folder.get())) {
    struct stat status;
    if (::fstatat(handle, found->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode))
      visit(std::string(found->d_name), status);
  }
}

std::vector<PrivateFolder::Entry> PrivateFolder::list() const {
  std::vector<Entry> entries;
  forEachFile([&](std::string name, const struct stat &status) {
    if (!name.starts_with(kTemporary))
      entries.push_back(
          {std::move(name), static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim)});
  });
  return entries;
}

void PrivateFolder::sweep() const {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  forEachFile([&](const std::string &name, const struct stat &status) {
    if (name.starts_with(kTemporary) && nanoseconds(now) - nanoseconds(status.st_mtim) > kStaleNs)
      remove(name);
  });
}

} // namespace mx::target
