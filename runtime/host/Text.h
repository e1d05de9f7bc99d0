// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A growable text whose growth can fail, and UTF-8 helpers.

#ifndef MXRT_HOST_TEXT_H
#define MXRT_HOST_TEXT_H

#include "host/Value.h"

#include <cstring>

namespace mxrt::host {

/// Failure is sticky: append as often as needed, check failed() once.
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
  /// Marks the text as failed, for a part that could not be made elsewhere.
  void fail() { broken = true; }

  bool failed() const { return broken; }
  std::string_view view() const { return {items, used}; }
  size_t size() const { return used; }
  Heap &owner() { return heap; }

private:
  /// Appends `bytes` uninitialised bytes and returns them, or nullptr.
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
  char small[240]; // small-buffer optimisation: most texts of a program fit
};

/// Number of code points; a malformed byte counts as one.
size_t countCodePoints(std::string_view text);
/// Bytes of the code point that starts at text[0]; 0 if it is malformed (overlong, a surrogate,
/// above 10FFFF, truncated). text is not empty.
size_t codePointLength(std::string_view text);
bool isUtf8(std::string_view text);
/// Encodes `code` as UTF-8 in out[4]; 0 if it is not a code point.
size_t encodeCodePoint(uint64_t code, char *out);

} // namespace mxrt::host

#endif // MXRT_HOST_TEXT_H
