// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML escaping.
#include "Support/Page.h"

namespace mx {

std::string escapedForPage(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

} // namespace mx
