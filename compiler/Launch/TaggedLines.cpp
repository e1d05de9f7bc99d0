// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the tags of mpirun's output.
#include "Launch/TaggedLines.h"
#include <charconv>

namespace mx::launch {

void TaggedLines::add(std::string_view text) {
  begun += text;
  size_t at = 0;
  for (size_t end; (end = begun.find('\n', at)) != std::string::npos; at = end + 1)
    line(std::string_view(begun).substr(at, end + 1 - at));
  begun.erase(0, at);
}

void TaggedLines::finish() {
  if (!begun.empty())
    line(begun + "\n");
  begun.clear();
}

void TaggedLines::line(std::string_view text) {
  size_t comma = text.find(','), end = text.find("]<std");
  if (text.starts_with('[') && comma < end && end != std::string_view::npos) {
    int rank = -1;
    auto number = text.substr(comma + 1, end - comma - 1);
    bool isNumber = std::from_chars(number.data(), number.data() + number.size(), rank).ptr ==
                    number.data() + number.size();
    size_t colon = text.find(">:", end);
    if (isNumber && rank >= 0 && rank < ranks && colon != std::string_view::npos)
      return out.add(rank, text.substr(colon + 2));
  }
  out.stream() << text << std::flush;
}

} // namespace mx::launch
