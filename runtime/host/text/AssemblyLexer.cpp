// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lexer of the bytecode assembler.

#include "host/text/AssemblyLexer.h"

#include <charconv>

namespace mxrt::host {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool isWord(char c) { return isWordStart(c) || isDigit(c) || c == '.'; }

bool AssemblyLexer::readString(std::string &out) {
  ++at;
  while (at < text.size() && text[at] != '"' && text[at] != '\n') {
    char c = text[at++];
    if (c == '\\') {
      c = peek();
      ++at;
      if (c == 'n') {
        c = '\n';
      } else if (c == 't') {
        c = '\t';
      } else if (c == 'x') {
        unsigned code = 0;
        if (at + 2 > text.size() ||
            std::from_chars(text.data() + at, text.data() + at + 2, code, 16)
                    .ptr != text.data() + at + 2)
          return false;
        at += 2;
        c = char(code);
      } else if (c != '"' && c != '\\') {
        return false;
      }
    }
    out += c;
  }
  if (at >= text.size() || text[at] != '"')
    return false;
  ++at;
  return true;
}

AssemblyToken AssemblyLexer::next() {
  while (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == ';') {
    if (peek() == ';')
      while (at < text.size() && text[at] != '\n')
        ++at;
    else
      ++at;
  }
  using Type = AssemblyToken::Type;
  AssemblyToken token;
  token.line = line;
  token.column = unsigned(at - lineStart + 1);
  if (at >= text.size())
    return token;
  char c = text[at];
  size_t begin = at;
  if (c == '\n') {
    ++at;
    ++line;
    lineStart = at;
    token.type = Type::Newline;
    return token;
  }
  if (c == '"') {
    token.type = readString(token.text) ? Type::String : Type::Bad;
    return token;
  }
  if (text.substr(at, 3) == "..." || text.substr(at, 2) == "->") {
    at += c == '.' ? 3 : 2;
    token.type = Type::Word;
  } else if (isWordStart(c)) {
    while (isWord(peek()))
      ++at;
    token.type = Type::Word;
  } else if (isDigit(c) || c == '#' || (c == '-' && isDigit(peek(1)))) {
    ++at;
    // A sign inside a number occurs only after the e of its exponent.
    while (isWord(peek()) ||
           ((peek() == '-' || peek() == '+') && text[at - 1] == 'e' &&
            c != '#'))
      ++at;
    token.type = Type::Number;
  } else if (std::string_view("(){}[],:@").find(c) != std::string_view::npos) {
    ++at;
    token.type = Type::Punct;
  } else {
    ++at;
    token.type = Type::Bad;
  }
  token.text = text.substr(begin, at - begin);
  return token;
}

} // namespace mxrt::host
