// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Repl/Inputs.h"
#include "Syntax/Lexer.h"

namespace mx::repl {

bool isCommand(std::string_view text) {
  size_t at = text.find_first_not_of(" \t\n");
  return at != std::string_view::npos && (text[at] == ':' || text[at] == '?');
}

bool isComplete(const std::string &text) {
  if (isCommand(text))
    return true;
  // A comment that documents wants what it documents.
  size_t end = text.find_last_not_of(" \t\r\n");
  size_t line = end == std::string::npos ? 0 : text.rfind('\n', end) + 1; // 0 if there is none
  size_t first = text.find_first_not_of(" \t", line);
  if (first != std::string::npos && text.compare(first, 2, "##") == 0)
    return false;
  SourceManager sources; // a guess must leave nothing behind in the session
  Diagnostics quiet(sources);
  return lex(sources.add("<input>", "", text), quiet).complete;
}

std::string cleanPaste(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\r') {
      if (i + 1 >= text.size() || text[i + 1] != '\n')
        plain += '\n';
    } else if (c == '\t') {
      plain += "  ";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n') {
      plain += c;
    }
  }
  constexpr std::string_view kFirst = "mx> ", kMore = "... ";
  size_t begin = plain.find_first_not_of(" \n");
  if (begin == std::string::npos || plain.compare(begin, kFirst.size(), kFirst) != 0)
    return plain;
  // What stands between the prompts was printed.
  std::string typed;
  for (size_t at = begin; at < plain.size();) {
    size_t end = std::min(plain.find('\n', at), plain.size());
    std::string_view line = std::string_view(plain).substr(at, end - at);
    if (line.starts_with(kFirst) || line.starts_with(kMore))
      typed += std::string(line.substr(kFirst.size())) + "\n";
    at = end + 1;
  }
  if (!typed.empty() && plain.back() != '\n')
    typed.pop_back();
  return typed;
}

} // namespace mx::repl
