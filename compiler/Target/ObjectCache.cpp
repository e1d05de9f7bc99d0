// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Format of a cache entry, all numbers little-endian:
//
//   offset  bytes
//        0      8  magic
//        8      4  version of this format
//       12      4  ABI version
//       16      8  length of the build id
//       24      8  length of the key
//       32      8  length of the payload
//       40     32  BLAKE3 of everything else
//       72         build id, key, payload
//
// The key is stored in full: the file's name is only a hash, and files can be renamed.
#include "Target/ObjectCache.h"
#include "Target/Hasher.h"
#include "Target/PrivateFolder.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <tuple>
#include <vector>

namespace mx::target {

namespace {

constexpr std::string_view kMagic("mxcache\n", 8);
constexpr uint32_t kFormat = 1;
constexpr size_t kDigestAt = 40, kHeaderBytes = 72;
constexpr std::string_view kEnding = ".mxo";
/// No object is this large; such a file would only be read to be rejected.
constexpr uint64_t kMaxEntryBytes = uint64_t(1) << 32;
/// Other processes store too, so the known size of the folder gets stale.
constexpr unsigned kStoresBetweenScans = 64;

namespace endian = llvm::support::endian;

Digest checksum(std::string_view head, std::string_view body) {
  return Hasher().add(head).add(body).digest();
}

std::string pack(const CacheOptions &options, std::string_view key, std::string_view payload) {
  std::string entry(kHeaderBytes, '\0');
  entry.reserve(kHeaderBytes + options.buildId.size() + key.size() + payload.size());
  std::memcpy(entry.data(), kMagic.data(), kMagic.size());
  endian::write32le(&entry[8], kFormat);
  endian::write32le(&entry[12], options.abiVersion);
  endian::write64le(&entry[16], options.buildId.size());
  endian::write64le(&entry[24], key.size());
  endian::write64le(&entry[32], payload.size());
  entry.append(options.buildId).append(key).append(payload);
  const std::string_view all = entry;
  const Digest digest = checksum(all.substr(0, kDigestAt), all.substr(kHeaderBytes));
  std::memcpy(&entry[kDigestAt], digest.data(), digest.size());
  return entry;
}

/// The payload, or nullopt if the entry differs in any way from what pack() makes for this key.
std::optional<std::string_view> unpack(const CacheOptions &options, std::string_view key,
                                       std::string_view entry) {
  if (entry.size() < kHeaderBytes || !entry.starts_with(kMagic))
    return std::nullopt;
  const char *head = entry.data();
  if (endian::read32le(head + 8) != kFormat || endian::read32le(head + 12) != options.abiVersion ||
      endian::read64le(head + 16) != options.buildId.size() ||
      endian::read64le(head + 24) != key.size())
    return std::nullopt;
  std::string_view body = entry.substr(kHeaderBytes);
  const size_t named = options.buildId.size() + key.size();
  if (body.size() < named || body.size() - named != endian::read64le(head + 32) ||
      body.substr(0, options.buildId.size()) != options.buildId ||
      body.substr(options.buildId.size(), key.size()) != key)
    return std::nullopt;
  const Digest digest = checksum(entry.substr(0, kDigestAt), body);
  if (std::memcmp(head + kDigestAt, digest.data(), digest.size()) != 0)
    return std::nullopt;
  return body.substr(named);
}

/// Empty for programs that run with more rights than their caller.
std::string environment(const char *name) {
  const char *value = ::secure_getenv(name);
  return value ? value : "";
}

} // namespace

std::string ObjectCache::defaultFolder() {
  if (std::string own = environment("MX_CACHE_DIR"); !own.empty())
    return own;
  // The XDG specification wants relative paths ignored.
  if (std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with("/"))
    return xdg + "/mx";
  if (std::string home = environment("HOME"); home.starts_with("/"))
    return home + "/.cache/mx";
  return {};
}

struct ObjectCache::State {
  CacheOptions options;
  std::optional<PrivateFolder> folder;
  std::atomic<uint64_t> hits{0}, misses{0}, rejected{0}, stored{0}, evicted{0};

  /// Guards the members below.
  mutable std::mutex lock;
  std::string whyOff;
  bool writable = true;
  uint64_t knownBytes = 0; ///< of all entries at the last scan and stored since
  unsigned storesToScan = 0;

  void turnOff(std::string reason) {
    std::lock_guard guard(lock);
    writable = false;
    whyOff = std::move(reason);
  }

  std::string fileName(std::string_view key) const {
    return Hasher().add(options.buildId).add(options.abiVersion).add(key).hex() +
           std::string(kEnding);
  }

  /// True if the folder must be scanned before it is trusted to be small enough.
  bool countStored(uint64_t bytes) {
    std::lock_guard guard(lock);
    knownBytes += bytes;
    if (storesToScan > 0 && knownBytes <= options.maxBytes) {
      --storesToScan;
      return false;
    }
    storesToScan = kStoresBetweenScans;
    return true;
  }

  /// LRU eviction: removes entries until an eighth of the space is free again, so that not every
  /// store must scan. `justStored` stays.
  void evict(const std::string &justStored) {
    folder->sweep();
    std::vector<PrivateFolder::Entry> entries = folder->list();
    std::erase_if(entries, [](const auto &entry) { return !entry.name.ends_with(kEnding); });
    uint64_t total = 0;
    for (const PrivateFolder::Entry &entry : entries)
      total += entry.bytes;
    if (total > options.maxBytes) {
      std::sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
        return std::tie(a.usedNs, a.name) < std::tie(b.usedNs, b.name);
      });
      for (const PrivateFolder::Entry &entry : entries) {
        if (total <= options.maxBytes - options.maxBytes / 8)
          break;
        if (entry.name == justStored)
          continue;
        folder->remove(entry.name);
        total -= entry.bytes;
        ++evicted;
      }
    }
    std::lock_guard guard(lock);
    knownBytes = total;
  }
};

ObjectCache::ObjectCache(CacheOptions options) : state(std::make_unique<State>()) {
  state->options = std::move(options);
  if (state->options.folder.empty())
    state->options.folder = defaultFolder();
  if (state->options.folder.empty()) {
    state->turnOff("neither MX_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder");
    return;
  }
  auto folder = PrivateFolder::open(state->options.folder);
  if (folder)
    state->folder.emplace(folder.take());
  else
    state->turnOff(folder.message());
}

ObjectCache::~ObjectCache() = default;

std::optional<std::string> ObjectCache::load(std::string_view key) noexcept try {
  if (!state->folder) {
    ++state->misses;
    return std::nullopt;
  }
  const std::string name = state->fileName(key);
  std::string entry;
  switch (state->folder->read(name, kMaxEntryBytes, entry)) {
  case PrivateFolder::ReadState::Missing:
    ++state->misses;
    return std::nullopt;
  case PrivateFolder::ReadState::Read:
    if (auto payload = unpack(state->options, key, entry)) {
      ++state->hits;
      entry.erase(0, entry.size() - payload->size());
      return entry;
    }
    break;
  case PrivateFolder::ReadState::Refused:
    break;
  }
  ++state->rejected;
  ++state->misses;
  state->folder->remove(name);
  return std::nullopt;
} catch (...) { // out of memory
  ++state->misses;
  return std::nullopt;
}

bool ObjectCache::store(std::string_view key, std::string_view bytes) noexcept try {
  if (!on())
    return false;
  {
    std::lock_guard guard(state->lock);
    if (!state->writable)
      return false;
  }
  const std::string entry = pack(state->options, key, bytes);
  if (entry.size() > std::min(state->options.maxBytes, kMaxEntryBytes))
    return false;
  const std::string name = state->fileName(key);
  if (auto fault = state->folder->write(name, entry)) {
    // A disk that is full or read-only stays so for a while: no more attempts.
    state->turnOff(state->options.folder + ": " + fault->message);
    return false;
  }
  ++state->stored;
  if (state->countStored(entry.size()))
    state->evict(name);
  return true;
} catch (...) { // out of memory
  return false;
}

bool ObjectCache::on() const { return state->folder.has_value(); }

std::string ObjectCache::whyOff() const {
  std::lock_guard guard(state->lock);
  return state->whyOff;
}

const std::string &ObjectCache::folder() const { return state->options.folder; }

ObjectCache::Statistics ObjectCache::statistics() const {
  return {state->hits, state->misses, state->rejected, state->stored, state->evicted};
}

} // namespace mx::target
