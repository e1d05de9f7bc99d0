// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On-disk cache of compiled code, so that a program starts fast the second time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mx::target {

struct CacheOptions {
  /// Empty: $MX_CACHE_DIR, else $XDG_CACHE_HOME/mx, else $HOME/.cache/mx.
  std::string folder;
  /// Entries of another build of the compiler or for another ABI are never returned.
  std::string buildId;
  uint32_t abiVersion = 0;
  /// Max size of all entries together. The least recently used are evicted first.
  uint64_t maxBytes = uint64_t(1) << 30;
};

/// Bytes by key. Private to its user; returned bytes were verified against a checksum. It never
/// fails: without a usable folder, without space or without permission it simply finds nothing, and
/// whyOff() returns the reason. Any thread, any number of processes on one folder.
class ObjectCache {
public:
  explicit ObjectCache(CacheOptions options);
  ~ObjectCache();

  /// Nullopt if it is not there. An entry that is corrupt, or does not match its key, is removed
  /// and not returned.
  std::optional<std::string> load(std::string_view key) noexcept;
  /// False if it was not stored, which callers may ignore.
  bool store(std::string_view key, std::string_view bytes) noexcept;

  /// False: nothing will be found or stored; whyOff() returns the reason.
  bool on() const;
  /// Why nothing is stored (any more): also after the disk was full, while loads continue.
  std::string whyOff() const;
  /// The folder in use or, if off, the one that would have been used.
  const std::string &folder() const;

  struct Statistics {
    uint64_t hits = 0;     ///< loads that returned bytes
    uint64_t misses = 0;   ///< loads that did not, whatever the reason
    uint64_t rejected = 0; ///< misses because an entry was there but invalid
    uint64_t stored = 0;
    uint64_t evicted = 0; ///< removed to make space
  };
  Statistics statistics() const;

  /// The folder of CacheOptions::folder = ""; empty if the environment has none.
  static std::string defaultFolder();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::target
