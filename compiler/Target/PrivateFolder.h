// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder that only its user can write, with atomic writes: a file in it is complete or absent.
#pragma once
#include "Target/Fault.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mx::target {

/// Code is loaded from here, so files that others could have written are never read. The folder is
/// held open: replacing its path later has no effect. Any thread may call; any number of processes
/// may use the same folder, and be killed at any time.
class PrivateFolder {
public:
  /// Opens or creates (0700, with its parents). Rejects a symbolic link, a folder of another user
  /// and one that others may write.
  static Result<PrivateFolder> open(const std::string &path);
  PrivateFolder(PrivateFolder &&other) noexcept : handle(other.handle) { other.handle = -1; }
  PrivateFolder &operator=(PrivateFolder &&) = delete;
  ~PrivateFolder();

  enum class ReadState { Read, Missing, Refused };
  /// Reads a regular file of this user that nobody else may write, and updates its time of last
  /// use. Refused: anything else of that name, or a file larger than `maxBytes`.
  ReadState read(const std::string &name, uint64_t maxBytes, std::string &bytes) const;

  /// Writes a temporary file and renames it, so readers see the old file, the new one, or none.
  /// On failure nothing is left and the reason is returned.
  std::optional<Fault> write(const std::string &name, std::string_view bytes) const;

  void remove(const std::string &name) const;

  struct Entry {
    std::string name;
    uint64_t bytes;
    int64_t usedNs; ///< time of the last write or read
  };
  /// Regular files, without those being written.
  std::vector<Entry> list() const;
  /// Removes temporary files that killed writers left behind more than an hour ago.
  void sweep() const;

private:
  explicit PrivateFolder(int handle) : handle(handle) {}
  int handle;

  template <typename Visit> void forEachFile(Visit visit) const;
};

} // namespace mx::target
