// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reader of NumPy's .npz: a zip archive of .npy files, stored or deflated. Only the central
// directory at the end is used. Nothing is unpacked to disk.

#include "io/Arrays.h"

#include <algorithm>
#include <cstring>

namespace mxrt::io {

namespace {

constexpr int64_t endBytes = 22, entryBytes = 46, localBytes = 30;
/// Central directories of array archives are far smaller than this.
constexpr int64_t maxDirectory = int64_t(16) << 20;

uint32_t u16(const unsigned char *p) { return p[0] | p[1] << 8; }
uint32_t u32(const unsigned char *p) { return u16(p) | uint32_t(u16(p + 2)) << 16; }

struct Directory {
  int64_t begin = 0, bytes = 0;
  uint32_t entries = 0;
};

/// Finds the end-of-central-directory record, which a comment may follow.
Status findDirectory(Input &input, Directory &found) {
  if (input.size < endBytes)
    return input.truncated(0, "the directory of an npz file", endBytes, input.size);
  unsigned char tail[endBytes + 0xffff];
  int64_t count = std::min<int64_t>(input.size, static_cast<int64_t>(sizeof tail));
  int64_t base = input.size - count;
  MXRT_CHECK(input.read(base, tail, static_cast<size_t>(count)));
  for (int64_t at = count - endBytes; at >= 0; --at) {
    const unsigned char *p = tail + at;
    if (u32(p) != 0x06054b50 || at + endBytes + u16(p + 20) != count)
      continue;
    found.entries = u16(p + 10);
    found.bytes = u32(p + 12);
    found.begin = u32(p + 16);
    if (u16(p + 4) != 0 || u16(p + 6) != 0 || u16(p + 8) != found.entries)
      return input.malformed(base + at, "archive", "an archive in several parts cannot be read");
    if (found.begin == 0xffffffff || found.entries == 0xffff)
      return input.malformed(base + at, "archive", "an archive above 4 GiB cannot be read");
    if (found.begin + found.bytes > base + at)
      return input.malformed(base + at + 12, "archive", "the directory does not lie in the file");
    if (found.bytes > maxDirectory)
      return input.malformed(base + at + 12, "archive", "a directory of %lld bytes is too large",
                             static_cast<long long>(found.bytes));
    return success();
  }
  return input.malformed(input.size, "archive", "there is no directory at the end");
}

Status openEntry(Input &input, const unsigned char *entry, int64_t at, Stream &stream) {
  uint32_t flags = u16(entry + 8), method = u16(entry + 10);
  int64_t packed = u32(entry + 20), offset = u32(entry + 42);
  if (flags & 1)
    return input.malformed(at + 8, "archive", "the array is encrypted");
  if (method != 0 && method != 8)
    return input.malformed(at + 10, "archive", "method %u is neither stored nor deflated", method);
  if (packed == 0xffffffff || offset == 0xffffffff)
    return input.malformed(at + 20, "archive", "an array above 4 GiB cannot be read");
  if (offset > input.size - localBytes)
    return input.malformed(at + 42, "archive", "the array does not lie in the file");
  unsigned char local[localBytes];
  MXRT_CHECK(input.read(offset, local, localBytes));
  if (u32(local) != 0x04034b50)
    return input.malformed(offset, "archive", "there is no array where the directory says");
  int64_t begin = offset + localBytes + u16(local + 26) + u16(local + 28);
  if (begin > input.size || packed > input.size - begin)
    return input.malformed(at + 20, "archive", "the array does not lie in the file");
  return stream.open(begin, begin + packed, method == 0 ? Coding::Plain : Coding::Deflate);
}

} // namespace

Status openNpz(Input &input, std::string_view name, Stream &stream) {
  Directory directory;
  MXRT_CHECK(findDirectory(input, directory));
  Vec<unsigned char> bytes(input.alloc);
  if (!bytes.resize(static_cast<size_t>(directory.bytes)))
    return outOfMemory(input.alloc);
  MXRT_CHECK(input.read(directory.begin, bytes.data(), bytes.size()));
  int64_t at = 0, chosen = -1;
  char names[300] = {};
  for (uint32_t i = 0; i < directory.entries; ++i) {
    int64_t left = directory.bytes - at;
    if (left < entryBytes)
      return input.truncated(directory.begin + at, "an entry of the directory", entryBytes, left);
    const unsigned char *entry = bytes.data() + at;
    if (u32(entry) != 0x02014b50)
      return input.malformed(directory.begin + at, "archive",
                             "an entry of the directory begins "
                             "with PK 01 02");
    int64_t length = entryBytes + u16(entry + 28) + u16(entry + 30) + u16(entry + 32);
    if (length > left)
      return input.truncated(directory.begin + at, "an entry of the directory", length, left);
    std::string_view file(reinterpret_cast<const char *>(entry) + entryBytes, u16(entry + 28));
    if (file.size() > 4 && file.substr(file.size() - 4) == ".npy")
      file.remove_suffix(4);
    bool only = name.empty() && directory.entries == 1;
    if (chosen < 0 && (only || (!name.empty() && file == name)))
      chosen = at;
    size_t used = std::strlen(names);
    if (used + file.size() + 3 < sizeof names) {
      if (used)
        std::memcpy(names + used, ", ", 2), used += 2;
      std::memcpy(names + used, file.data(), file.size());
    }
    at += length;
  }
  if (chosen < 0)
    return input.malformed(directory.begin, "name",
                           name.empty() ? "the archive has %u arrays%.*s, name one: %s"
                                        : "of %u arrays none is `%.*s`; there are: %s",
                           directory.entries, int(std::min<size_t>(name.size(), 80)), name.data(),
                           names);
  return openEntry(input, bytes.data() + chosen, directory.begin + chosen, stream);
}

} // namespace mxrt::io
