// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ptx/Lexer.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace mxemu {

static bool isWordStart(char c) {
  return std::isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}
static bool isWord(char c) { return std::isalnum((unsigned char)c) || c == '_' || c == '$'; }

/// The end of the number that starts at `at`: 0x1F, 12U, 0f3F800000, 1.5e-3.
static size_t endOfNumber(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && std::isalnum((unsigned char)text[end])) {
    ++end;
    bool exponent = (text[end - 1] == 'e' || text[end - 1] == 'E') && text[at + 1] != 'x' &&
                    text[at + 1] != 'f' && text[at + 1] != 'F' && text[at + 1] != 'd' &&
                    text[at + 1] != 'D' && text[at + 1] != 'X';
    if (exponent && end < text.size() && (text[end] == '-' || text[end] == '+'))
      ++end;
    if (end + 1 < text.size() && text[end] == '.' && std::isdigit((unsigned char)text[end + 1]))
      ++end;
  }
  return end;
}

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  unsigned line = 1;
  size_t at = 0, lastEnd = size_t(-1);
  auto add = [&](Token::Kind kind, size_t begin, size_t end) {
    tokens.push_back({kind, begin == lastEnd, line, text.substr(begin, end - begin)});
    at = lastEnd = end;
  };
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++line, ++at;
    } else if (std::isspace((unsigned char)c)) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else if (text.substr(at, 2) == "/*") {
      size_t end = text.find("*/", at + 2);
      if (end == text.npos)
        throw PtxError(line, "comment without end");
      for (; at < end + 2; ++at)
        line += text[at] == '\n';
    } else if (c == '"') {
      size_t end = text.find('"', at + 1);
      if (end == text.npos)
        throw PtxError(line, "string without end");
      add(Token::String, at + 1, end);
      at = end + 1;
    } else if (std::isdigit((unsigned char)c)) {
      add(Token::Number, at, endOfNumber(text, at));
    } else if (isWordStart(c) || (c == '.' && at + 1 < text.size() && isWord(text[at + 1]))) {
      size_t end = at + 1;
      while (end < text.size() && isWord(text[end]))
        ++end;
      // ".shared::cta" is one word
      if (c == '.' && text.substr(end, 2) == "::")
        for (end += 2; end < text.size() && (isWord(text[end]) || text[end] == ':');)
          ++end;
      add(c == '.' ? Token::Dotted : Token::Word, at, end);
    } else if (std::strchr(",;:{}()[]<>+-=@!|&~*/", c)) {
      add(Token::Symbol, at, at + 1);
    } else {
      throw PtxError(line, std::string("unexpected character '") + c + "'");
    }
  }
  tokens.push_back({Token::End, false, line, "the end"});
  return tokens;
}

Literal parseLiteral(const Token &token) {
  std::string text(token.text);
  auto bad = [&] { return PtxError(token.line, "bad number '" + text + "'"); };
  char *end = nullptr;
  errno = 0;
  if (text.size() > 2 && text[0] == '0' && std::strchr("fFdD", text[1])) {
    bool single = text[1] == 'f' || text[1] == 'F';
    uint64_t bits = std::strtoull(text.c_str() + 2, &end, 16);
    if (*end || text.size() != (single ? 10u : 18u))
      throw bad();
    return {single ? Literal::Single : Literal::Double, bits};
  }
  bool hex = text.size() > 1 && (text[1] == 'x' || text[1] == 'X');
  if (!hex && text.find_first_of(".eE") != text.npos) {
    double value = std::strtod(text.c_str(), &end);
    if (*end)
      throw bad();
    Literal result{Literal::Double, 0};
    std::memcpy(&result.bits, &value, 8);
    return result;
  }
  bool binary = text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
  uint64_t bits = std::strtoull(text.c_str() + (binary ? 2 : 0), &end, binary ? 2 : 0);
  if (*end == 'U' || *end == 'u')
    ++end;
  if (*end || errno)
    throw bad();
  return {Literal::Integer, bits};
}

} // namespace mxemu
