// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a safetensors file beside the one it replaces, makes it durable, and
// gives it the name in one step.

#include "base/Crc32.h"
#include "base/Files.h"
#include "io/Json.h"
#include "io/Safetensors.h"
#include "io/SafetensorsFormat.h"

#include <algorithm>
#include <cstring>

namespace mxrt::io {

namespace {

constexpr size_t alignment = 64;

bool appendNumber(Vec<char> &out, int64_t number) {
  char digits[24];
  int length = std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number));
  return append(out, {digits, static_cast<size_t>(length)});
}

/// The length and the JSON, padded with blanks; `digitsAt` is where the
/// checksum goes.
bool makeHeader(Vec<char> &out, const Vec<SafeEntry> &entries, size_t &digitsAt) {
  bool room = out.resize(8) && append(out, "{\"__metadata__\":{\"format\":\"mx\",\"") &&
              append(out, checksumKey) && append(out, "\":\"");
  digitsAt = out.size();
  room = room && append(out, "00000000\"}");
  int64_t at = 0;
  for (const SafeEntry &entry : entries) {
    room = room && append(out, ",") && appendQuoted(out, entry.name) &&
           append(out, ":{\"dtype\":\"") && append(out, safeTypeName(entry.type)) &&
           append(out, "\",\"shape\":[");
    for (int32_t i = 0; i < entry.rank; ++i)
      room = room && (i == 0 || append(out, ",")) && appendNumber(out, entry.sizes[i]);
    room = room && append(out, "],\"data_offsets\":[") && appendNumber(out, at) &&
           append(out, ",") && appendNumber(out, at + entry.bytes) && append(out, "]}");
    at += entry.bytes;
  }
  room = room && append(out, "}");
  while (room && out.size() % alignment != 0)
    room = out.push(' ');
  if (!room)
    return false;
  uint64_t length = out.size() - 8;
  for (size_t i = 0; i < 8; ++i)
    out[i] = static_cast<char>(length >> (8 * i));
  return true;
}

/// Gives up: closes and removes what was begun.
Status abandon(const mxrt_allocator *alloc, const char *path, const char *temporary, int descriptor,
               int failure) {
  os::closeFile(descriptor);
  os::removeFile(temporary);
  return fileError(alloc, "write", path, failure);
}

} // namespace

Status writeSafetensors(const mxrt_allocator *alloc, const char *path, Vec<SafeEntry> &entries) {
  // Whole multiples of the alignment first, then by falling element size: each tensor lies at a
  // multiple of its element.
  std::sort(entries.begin(), entries.end(), [](const SafeEntry &a, const SafeEntry &b) {
    bool evenA = a.bytes % int64_t(alignment) == 0, evenB = b.bytes % int64_t(alignment) == 0;
    if (evenA != evenB)
      return evenA;
    int64_t sizeA = mxrt_dtype_size(a.type), sizeB = mxrt_dtype_size(b.type);
    return sizeA != sizeB ? sizeA > sizeB : a.name < b.name;
  });
  Vec<char> header(alloc), temporary(alloc);
  size_t digitsAt = 0;
  if (!makeHeader(header, entries, digitsAt) || !append(temporary, path) ||
      !append(temporary, ".tmp") || !temporary.push(0))
    return outOfMemory(alloc);
  uint32_t sum = crc32(0, header.data(), header.size());
  for (const SafeEntry &entry : entries)
    sum = crc32(sum, entry.data, static_cast<size_t>(entry.bytes));
  char digits[checksumDigits + 1];
  formatChecksum(sum, digits);
  std::memcpy(header.data() + digitsAt, digits, checksumDigits);

  int descriptor = -1;
  if (int failure = os::createReplacement(temporary.data(), descriptor))
    return fileError(alloc, "write", path, failure);
  int failure = os::writeAll(descriptor, header.data(), header.size());
  for (size_t i = 0; i < entries.size() && !failure; ++i)
    failure = os::writeAll(descriptor, entries[i].data, static_cast<size_t>(entries[i].bytes));
  if (!failure)
    failure = os::syncFile(descriptor);
  if (!failure)
    failure = os::renameFile(temporary.data(), path);
  if (failure)
    return abandon(alloc, path, temporary.data(), descriptor, failure);
  os::closeFile(descriptor);
  if (int late = os::syncFolderOf(path))
    return fileError(alloc, "make durable", path, late);
  return success();
}

} // namespace mxrt::io
