// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a safetensors file atomically: writes a temporary file beside the target, syncs it to
// disk, and renames it.

#include "base/Crc32.h"
#include "base/Files.h"
#include "base/Replacement.h"
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

/// The length and the JSON, padded with blanks; `digitsAt` is the offset of the checksum.
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

} // namespace

Status writeSafetensors(const mxrt_allocator *alloc, const char *path, Vec<SafeEntry> &entries) {
  // Multiples of the alignment first, then by descending element size: each tensor is aligned to
  // its element size.
  std::sort(entries.begin(), entries.end(), [](const SafeEntry &a, const SafeEntry &b) {
    bool evenA = a.bytes % int64_t(alignment) == 0, evenB = b.bytes % int64_t(alignment) == 0;
    if (evenA != evenB)
      return evenA;
    int64_t sizeA = mxrt_dtype_size(a.type), sizeB = mxrt_dtype_size(b.type);
    return sizeA != sizeB ? sizeA > sizeB : a.name < b.name;
  });
  Vec<char> header(alloc);
  size_t digitsAt = 0;
  if (!makeHeader(header, entries, digitsAt))
    return outOfMemory(alloc);
  uint32_t sum = crc32(0, header.data(), header.size());
  for (const SafeEntry &entry : entries)
    sum = crc32(sum, entry.data, static_cast<size_t>(entry.bytes));
  char digits[checksumDigits + 1];
  formatChecksum(sum, digits);
  std::memcpy(header.data() + digitsAt, digits, checksumDigits);

  os::Replacement made;
  if (int failure = os::beginReplacement(path, 0666, made))
    return fileError(alloc, "write", path, failure);
  int failure = os::writeAll(made.descriptor, header.data(), header.size());
  for (size_t i = 0; i < entries.size() && !failure; ++i)
    failure = os::writeAll(made.descriptor, entries[i].data, static_cast<size_t>(entries[i].bytes));
  int late = 0;
  if (failure)
    os::abandonReplacement(made);
  else
    failure = os::finishReplacement(made, true, late);
  if (failure)
    return fileError(alloc, "write", path, failure);
  if (late)
    return fileError(alloc, "make durable", path, late);
  return success();
}

} // namespace mxrt::io
