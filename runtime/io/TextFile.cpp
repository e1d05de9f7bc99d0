// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character-level tokenisation: the vocabulary of a text.

#include "io/Arrays.h"

#include <algorithm>

namespace mxrt::io {

Status readVocabulary(const Input &input, std::string_view text, Vec<uint32_t> &vocabulary,
                      int64_t &characters) {
  characters = 0;
  uint32_t latest = UINT32_MAX;
  for (size_t at = 0; at < text.size(); ++characters) {
    size_t begin = at;
    int32_t c = nextCharacter(text, at);
    if (c < 0)
      return input.malformed(static_cast<int64_t>(begin), "utf-8", "the text is not UTF-8");
    auto wanted = static_cast<uint32_t>(c);
    if (wanted == latest)
      continue;
    latest = wanted;
    uint32_t *found = std::lower_bound(vocabulary.begin(), vocabulary.end(), wanted);
    if (found != vocabulary.end() && *found == wanted)
      continue;
    auto position = found - vocabulary.begin();
    if (!vocabulary.push(wanted))
      return outOfMemory(input.alloc);
    std::rotate(vocabulary.begin() + position, vocabulary.end() - 1, vocabulary.end());
  }
  return success();
}

void readCharacters(std::string_view text, const Vec<uint32_t> &vocabulary, int32_t *into) {
  for (size_t at = 0; at < text.size();) {
    auto c = static_cast<uint32_t>(nextCharacter(text, at));
    const uint32_t *found = std::lower_bound(vocabulary.begin(), vocabulary.end(), c);
    *into++ = static_cast<int32_t>(found - vocabulary.begin());
  }
}

} // namespace mxrt::io
