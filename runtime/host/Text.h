// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A growing text whose growth can fail, and a few facts about UTF-8.

#ifndef MXRT_HOST_TEXT_H
#define MXRT_HOST_TEXT_H

#include "host/Value.h"

#include <cstring>

namespace mxrt::host {

/// Failure is remembered: append as often as needed, ask failed() once.
class Text {
public:
  explicit Text(Heap &heap) : heap(heap) {}
  Text(const Text &) = delete;
  Text &operator=(const Text &) = delete;
  ~Text() {
    if (items != small)
      heap.release(items, room);
  }

  void append(std::string_view text) {
    if (text.empty())
      return;
    if (char *at = grow(text.size()))
      std::memcpy(at, text.data(), text.size());
  }
  void append(char c) {
    if (char *at = grow(1))
      *at = c;
  }
  void repeat(std::string_view text, size_t times) {
    if (!text.empty() && times > maxStrBytes / text.size()) {
      broken = true;
      return;
    }
    for (size_t i = 0; i < times && !broken; ++i)
      append(text);
  }
  void appendInt(int64_t number);
  void clear() { used = 0; }
  /// For a part that could not be made elsewhere.
  void fail() { broken = true; }

  bool failed() const { return broken; }
  std::string_view view() const { return {items, used}; }
  size_t size() const { return used; }
  Heap &owner() { return heap; }

private:
  /// Room for `bytes` more, or nullptr.
  char *grow(size_t bytes) {
    if (broken)
      return nullptr;
    if (bytes > room - used && !enlarge(bytes))
      return nullptr;
    char *at = items + used;
    used += bytes;
    return at;
  }
  bool enlarge(size_t bytes);

  Heap &heap;
  size_t used = 0;
  size_t room = sizeof(small);
  bool broken = false;
  char *items = small;
  char small[240]; // most texts of a program fit: no allocation
};

/// Code points; a malformed byte counts as one.
size_t countCodePoints(std::string_view text);
/// Bytes of the code point that starts at text[0]; 0 if it is malformed
/// (overlong, a surrogate, above 10FFFF, cut short). text is not empty.
size_t codePointLength(std::string_view text);
bool isUtf8(std::string_view text);
/// Writes `code` in UTF-8 to out[4]; 0 if it is not a code point.
size_t encodeCodePoint(uint64_t code, char *out);

} // namespace mxrt::host

#endif // MXRT_HOST_TEXT_H
