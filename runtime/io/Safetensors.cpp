// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reader of safetensors files.

#include "io/Safetensors.h"
#include "base/CheckedMath.h"
#include "base/Crc32.h"
#include "io/Json.h"
#include "io/SafetensorsFormat.h"

#include <algorithm>
#include <cstring>

namespace mxrt::io {

namespace {

/// The limit of the reference implementation.
constexpr int64_t maxHeader = 100'000'000;

int64_t readLength(const unsigned char *bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | bytes[i];
  return value > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(value);
}

struct Entry {
  int64_t bits = 0; // of an element
  int64_t begin = 0, end = 0;
  bool hasType = false, hasShape = false, hasOffsets = false;
};

Status readList(JsonReader &json, int64_t *numbers, int32_t capacity, int32_t &count,
                const char *what) {
  count = 0;
  MXRT_CHECK(json.expect('['));
  if (json.next(']'))
    return success();
  do {
    if (count == capacity)
      return json.fault("%s has more than %d numbers", what, capacity);
    MXRT_CHECK(json.natural(numbers[count++]));
  } while (json.next(','));
  return json.expect(']');
}

Status readEntry(JsonReader &json, SafeTensor &tensor, Entry &entry) {
  MXRT_CHECK(json.expect('{'));
  bool first = true;
  while (!json.next('}')) {
    if (!first)
      MXRT_CHECK(json.expect(','));
    first = false;
    std::string_view key, type;
    bool escaped = false;
    MXRT_CHECK(json.string(key, escaped));
    MXRT_CHECK(json.expect(':'));
    if (key == "dtype" && !entry.hasType) {
      entry.hasType = true;
      MXRT_CHECK(json.string(type, escaped));
      const SafeType *known = findSafeType(type);
      if (!known)
        return json.fault("`%.*s` is not an element type", int(std::min<size_t>(type.size(), 40)),
                          type.data());
      tensor.type = known->type;
      entry.bits = known->bits;
    } else if (key == "shape" && !entry.hasShape) {
      entry.hasShape = true;
      MXRT_CHECK(readList(json, tensor.sizes, MXRT_MAX_RANK, tensor.rank, "a shape"));
    } else if (key == "data_offsets" && !entry.hasOffsets) {
      entry.hasOffsets = true;
      int64_t pair[2];
      int32_t count = 0;
      MXRT_CHECK(readList(json, pair, 2, count, "data_offsets"));
      if (count != 2)
        return json.fault("data_offsets has two numbers");
      entry.begin = pair[0];
      entry.end = pair[1];
    } else {
      return json.fault("`%.*s` is unknown or there twice", int(std::min<size_t>(key.size(), 40)),
                        key.data());
    }
  }
  if (!entry.hasType || !entry.hasShape || !entry.hasOffsets)
    return json.fault("a tensor has dtype, shape and data_offsets");
  int64_t bits = entry.bits;
  for (int32_t i = 0; i < tensor.rank; ++i)
    if (!checkedMul(bits, tensor.sizes[i], bits))
      return json.fault("the sizes of a tensor multiply to more than 63 bits");
  if (entry.end < entry.begin || bits % 8 != 0 || bits / 8 != entry.end - entry.begin)
    return json.fault("shape and element type need %lld bytes, data_offsets give %lld",
                      static_cast<long long>(bits / 8),
                      static_cast<long long>(entry.end - entry.begin));
  tensor.begin = entry.begin;
  tensor.bytes = entry.end - entry.begin;
  return success();
}

} // namespace

SafetensorsIndex::SafetensorsIndex(Input &input)
    : input(input), tensors(input.alloc), header(input.alloc), names(input.alloc) {}

Status SafetensorsIndex::read() {
  unsigned char length[8];
  if (input.size < 8)
    return input.truncated(0, "the length of the header", 8, input.size);
  MXRT_CHECK(input.read(0, length, 8));
  int64_t bytes = readLength(length);
  if (bytes > maxHeader)
    return input.malformed(0, "header-length", "a header of %lld bytes, at most %lld are read",
                           static_cast<long long>(bytes), static_cast<long long>(maxHeader));
  if (bytes > input.size - 8)
    return input.truncated(8, "the header", bytes, input.size - 8);
  // A decoded name is never longer than its source, so this capacity suffices for both. Names must
  // not be reallocated while tensors refer to them.
  if (!header.resize(static_cast<size_t>(bytes)) || !names.reserve(static_cast<size_t>(bytes) + 1))
    return outOfMemory(input.alloc);
  MXRT_CHECK(input.read(8, header.data(), header.size()));
  if (header.empty() || header[0] != '{')
    return input.malformed(8, "header", "the header begins with `{`");
  JsonReader json(input, {header.data(), header.size()}, 8);
  MXRT_CHECK(json.expect('{'));
  bool first = true, metadata = false;
  while (!json.next('}')) {
    if (!first)
      MXRT_CHECK(json.expect(','));
    first = false;
    std::string_view key;
    bool escaped = false;
    MXRT_CHECK(json.string(key, escaped));
    size_t begin = names.size();
    MXRT_CHECK(unescape(json, key, names));
    std::string_view name(names.data() + begin, names.size() - begin);
    MXRT_CHECK(json.expect(':'));
    if (name == "__metadata__") {
      if (metadata)
        return json.fault("`__metadata__` is there twice");
      metadata = true;
      MXRT_CHECK(json.expect('{'));
      bool firstPair = true;
      while (!json.next('}')) {
        if (!firstPair)
          MXRT_CHECK(json.expect(','));
        firstPair = false;
        std::string_view what, value;
        MXRT_CHECK(json.string(what, escaped));
        MXRT_CHECK(json.expect(':'));
        MXRT_CHECK(json.string(value, escaped));
        if (what == checksumKey && value.size() == checksumDigits)
          checksumAt = value.data() - header.data();
      }
      continue;
    }
    SafeTensor tensor;
    tensor.name = name;
    Entry entry;
    MXRT_CHECK(readEntry(json, tensor, entry));
    if (!tensors.push(tensor))
      return outOfMemory(input.alloc);
  }
  if (!json.atEnd())
    return json.fault("something follows the header's JSON");
  // The tensors are contiguous and fill the rest of the file.
  std::sort(tensors.begin(), tensors.end(), [](const SafeTensor &a, const SafeTensor &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.bytes < b.bytes;
  });
  int64_t next = 0, rest = input.size - 8 - bytes;
  for (SafeTensor &tensor : tensors) {
    if (tensor.begin != next)
      return input.malformed(8, "gaps", "`%.*s` begins at %lld of the elements, not at %lld",
                             int(std::min<size_t>(tensor.name.size(), 80)), tensor.name.data(),
                             static_cast<long long>(tensor.begin), static_cast<long long>(next));
    next += tensor.bytes; // below 2^63: at most the file's size, or rejected here
    if (next > rest)
      return input.truncated(8 + bytes + tensor.begin, "a tensor", tensor.bytes,
                             rest - tensor.begin);
    tensor.begin += 8 + bytes;
  }
  if (next != rest)
    return input.malformed(8 + bytes + next, "trailing", "%lld bytes follow the last tensor",
                           static_cast<long long>(rest - next));
  std::sort(tensors.begin(), tensors.end(),
            [](const SafeTensor &a, const SafeTensor &b) { return a.name < b.name; });
  for (size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i].name == tensors[i - 1].name)
      return input.malformed(8, "names", "`%.*s` is there twice",
                             int(std::min<size_t>(tensors[i].name.size(), 80)),
                             tensors[i].name.data());
  return success();
}

Status SafetensorsIndex::verify() {
  if (checksumAt < 0)
    return success();
  char written[checksumDigits + 1] = {};
  std::memcpy(written, header.data() + checksumAt, checksumDigits);
  constexpr size_t piece = 256 << 10;
  Vec<unsigned char> buffer(input.alloc);
  if (!buffer.resize(piece))
    return outOfMemory(input.alloc);
  uint32_t sum = 0;
  for (int64_t at = 0; at < input.size;) {
    auto count = std::min<int64_t>(static_cast<int64_t>(piece), input.size - at);
    MXRT_CHECK(input.read(at, buffer.data(), static_cast<size_t>(count)));
    // The checksum digits themselves count as zeros.
    for (int64_t i = 0; i < static_cast<int64_t>(checksumDigits); ++i)
      if (int64_t digit = 8 + checksumAt + i - at; digit >= 0 && digit < count)
        buffer[static_cast<size_t>(digit)] = '0';
    sum = crc32(sum, buffer.data(), static_cast<size_t>(count));
    at += count;
  }
  char digits[checksumDigits + 1];
  formatChecksum(sum, digits);
  if (std::memcmp(written, digits, checksumDigits) != 0)
    return input.malformed(8 + checksumAt, "checksum",
                           "the file says its checksum is %s, but it is %s: the file is damaged",
                           written, digits);
  return success();
}

const SafeTensor *SafetensorsIndex::find(std::string_view name) const {
  const SafeTensor *found =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const SafeTensor &t, std::string_view n) { return t.name < n; });
  return found != tensors.end() && found->name == name ? found : nullptr;
}

Status SafetensorsIndex::readTensor(const SafeTensor &tensor, void *into) {
  return input.read(tensor.begin, into, static_cast<size_t>(tensor.bytes));
}

} // namespace mxrt::io
