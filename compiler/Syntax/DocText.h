// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of doc comments: `## text`.
#pragma once
#include <algorithm>
#include <optional>
#include <string_view>

namespace mx {

/// The text of a `##` line without the marker, one space behind it and blanks at its end; nullopt
/// for another line.
inline std::optional<std::string_view> docText(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!line.starts_with("##"))
    return std::nullopt;
  line.remove_prefix(2);
  line = line.substr(0, line.find_last_not_of(" \r\n") + 1);
  if (line.starts_with(' '))
    line.remove_prefix(1);
  return line;
}

} // namespace mx
