// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax highlighting of the shell, C, C++, Python and CMake by their words alone.
#include "Docs/Highlight.h"
#include "Support/Page.h"
#include <algorithm>

namespace mx::docs {
namespace {

struct Language {
  std::string_view names;    ///< between spaces
  std::string_view comment;  ///< begins one, to the end of the line
  std::string_view keywords; ///< between spaces
};

constexpr Language kLanguages[] = {
    {" sh bash console ", "#", " cd export for in do done if then else fi while source "},
    {" c cpp c++ cc h ", "//",
     " alignas auto bool break case catch char class const constexpr continue default delete do "
     "double else enum extern false float for if inline int int32_t int64_t long namespace new "
     "nullptr operator private public return short signed sizeof static struct switch template "
     "this throw true try typedef typename uint32_t uint64_t union unsigned using void while "},
    {" python py ", "#",
     " and as assert break class continue def del elif else except False finally for from global "
     "if import in is lambda None not or pass raise return True try while with yield "},
    {" cmake toml yaml ", "#", " "}};

const Language *languageOf(std::string_view name) {
  std::string word = " " + std::string(name) + " ";
  for (const Language &language : kLanguages)
    if (name.find(' ') == std::string_view::npos && !name.empty() &&
        language.names.find(word) != std::string_view::npos)
      return &language;
  return nullptr;
}

bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The end of a string on its line, or npos: an apostrophe or an inch is not one.
size_t endOfString(std::string_view text, size_t begin, size_t lineEnd) {
  for (size_t i = begin + 1; i < lineEnd; ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == text[begin])
      return i + 1;
  }
  return std::string_view::npos;
}

} // namespace

std::string highlighted(std::string_view text, std::string_view name) {
  const Language *language = languageOf(name);
  if (!language)
    return escapedForPage(text);
  std::string out;
  auto span = [&](const char *style, std::string_view part) {
    out += std::string("<span class=\"") + style + "\">" + escapedForPage(part) + "</span>";
  };
  size_t lineEnd = 0;
  bool hasStrings = true; ///< no string began on this line without an end
  for (size_t at = 0; at < text.size();) {
    if (at >= lineEnd) {
      lineEnd = std::min(text.find('\n', at), text.size());
      hasStrings = true;
    }
    char c = text[at];
    size_t end = at + 1;
    bool isFirst = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '\t';
    if (isFirst && text.substr(at, language->comment.size()) == language->comment) {
      end = lineEnd;
      span("c", text.substr(at, end - at));
    } else if (c == '"' && hasStrings) {
      end = endOfString(text, at, lineEnd);
      hasStrings = end != std::string_view::npos;
      end = hasStrings ? end : at + 1;
      if (hasStrings)
        span("s", text.substr(at, end - at));
      else
        out += escapedForPage(text.substr(at, 1));
    } else if (isWord(c)) {
      while (end < text.size() && isWord(text[end]))
        ++end;
      std::string_view word = text.substr(at, end - at);
      bool isKeyword = word.size() < 16 && language->keywords.find(" " + std::string(word) + " ") !=
                                               std::string_view::npos;
      if (isKeyword)
        span("k", word);
      else
        out += word;
    } else {
      out += escapedForPage(text.substr(at, 1));
    }
    at = end;
  }
  return out;
}

} // namespace mx::docs
