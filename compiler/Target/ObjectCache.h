// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code on disk, so that a program starts fast the second time.
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
  /// Bytes of another build of the compiler or for another ABI are never returned.
  std::string buildId;
  uint32_t abiVersion = 0;
  /// All entries together. The least recently used go first.
  uint64_t maxBytes = uint64_t(1) << 30;
};

/// Bytes by key. Its user's alone; what it returns was checked to be what was stored. It never
/// fails: without a usable folder, without space or without rights it simply finds nothing, and
/// says why if asked. Any thread, any number of processes on one folder.
class ObjectCache {
public:
  explicit ObjectCache(CacheOptions options);
  ~ObjectCache();

  /// Nothing if it is not there. An entry that is damaged, or is not what it claims to be, is
  /// removed and not returned.
  std::optional<std::string> load(std::string_view key) noexcept;
  /// False if it was not stored, which callers may ignore.
  bool store(std::string_view key, std::string_view bytes) noexcept;

  /// False: nothing will be found or stored; whyOff() says why.
  bool on() const;
  /// Why nothing is stored (any more): also after the disk was full, while loads go on.
  std::string whyOff() const;
  /// The folder in use or, if off, the one that would have been.
  const std::string &folder() const;

  struct Statistics {
    uint64_t hits = 0;     ///< loads that returned bytes
    uint64_t misses = 0;   ///< loads that did not, whatever the reason
    uint64_t rejected = 0; ///< of these, because an entry was there but not good
    uint64_t stored = 0;
    uint64_t evicted = 0; ///< removed to make space
  };
  Statistics statistics() const;

  /// The folder that CacheOptions::folder = "" stands for; empty if the environment has none.
  static std::string defaultFolder();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::target
