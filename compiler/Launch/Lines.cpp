// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prefixes lines of output with the rank.
#include "Launch/Lines.h"

namespace mx::launch {

std::string Lines::prefix(int rank) const {
  std::string name = "[" + std::to_string(rank) + "]";
  if (!colour)
    return name + " ";
  constexpr int kColours[] = {36, 33, 32, 35, 34, 31}; // of a terminal: cyan, yellow, green, …
  return "\x1b[" + std::to_string(kColours[rank % 6]) + "m" + name + "\x1b[0m ";
}

void Lines::write(int rank, std::string_view text) {
  std::string before = prefix(rank);
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    out << before << text.substr(at, end - at) << '\n';
    at = end + 1;
  }
  out << std::flush;
  out.clear(); // a failed write affects this line only
}

void Lines::add(int rank, std::string_view text) {
  std::string &line = started[static_cast<size_t>(rank)];
  size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    line += text;
  } else {
    line += text.substr(0, end + 1);
    write(rank, line);
    line = text.substr(end + 1);
  }
  if (line.size() > kMaxLine)
    finish(rank);
}

void Lines::finish(int rank) {
  std::string &line = started[static_cast<size_t>(rank)];
  if (!line.empty())
    write(rank, line);
  line.clear();
}

} // namespace mx::launch
