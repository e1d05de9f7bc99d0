// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detection of complete inputs with the lexer, and cleaning of pasted text.
#include "Repl/Inputs.h"
#include "Syntax/DocText.h"
#include "Syntax/Lexer.h"
#include <algorithm>
#include <charconv>

namespace mx::repl {

bool isCommand(std::string_view text) {
  size_t at = text.find_first_not_of(" \t\n");
  return at != std::string_view::npos && (text[at] == ':' || text[at] == '?');
}

bool isComplete(const std::string &text) {
  if (isCommand(text))
    return true;
  // A doc comment needs the declaration that it documents.
  size_t end = text.find_last_not_of(" \t\r\n");
  size_t line = end == std::string::npos ? 0 : text.rfind('\n', end) + 1; // 0 if there is none
  if (docText(std::string_view(text).substr(line)))
    return false;
  SourceManager sources; // separate, so that speculative lexing leaves no trace in the session
  Diagnostics quiet(sources);
  return lex(sources.add("<input>", "", text), quiet).complete;
}

bool InputLines::mayEnd(std::string_view line) {
  SourceManager sources;
  Diagnostics quiet(sources);
  LexedSource lexed =
      lex(sources.add("<line>", "", std::string(line)), quiet); // string literals do not span lines
  isUnsure |= quiet.hasErrors();
  Tok last = Tok::EndOfFile;
  auto close = [&](char opened) { // as the lexer does
    if (size_t at = open.rfind(opened); at != std::string::npos)
      open.resize(at);
  };
  for (const Token &token : lexed.tokens) {
    bool isFirst = last == Tok::EndOfFile;
    if (token.kind == Tok::Newline || token.kind == Tok::EndOfFile)
      continue;
    // A statement keyword such as `let` at the start of a line never occurs inside ( or [.
    if (isFirst && tokenInfo(token.kind).startsStmt)
      while (!open.empty() && open.back() != '{')
        open.pop_back();
    last = token.kind;
    switch (token.kind) {
    case Tok::LParen:
    case Tok::LBracket:
    case Tok::LBrace:
      open += tokenInfo(token.kind).spelling;
      break;
    case Tok::RParen:
      close('(');
      break;
    case Tok::RBracket:
      close('[');
      break;
    case Tok::RBrace:
      close('{');
      break;
    default:
      break;
    }
  }
  return isUnsure || (open.empty() && (last == Tok::EndOfFile || !tokenInfo(last).continues));
}

namespace {
constexpr std::string_view kMarkBegin = "#: ", kMarkEnd = " lines are one input";
}

std::string markOfOne(const std::string &text) {
  // Read line by line, the input ends at the first complete prefix.
  size_t lines = 0;
  bool isOne = true, mayEnd = false;
  std::string before;
  InputLines read;
  for (size_t at = 0; at < text.size(); ++lines) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    std::string_view line = std::string_view(text).substr(at, end - at);
    bool isBlank = line.find_first_not_of(" \t\r\n") == std::string_view::npos;
    if (!before.empty() && !isBlank)
      isOne &= !mayEnd || !isComplete(before);
    if (!before.empty() || !isBlank) {
      before += line;
      mayEnd = read.mayEnd(line) || isCommand(before);
    }
    at = end;
  }
  return isOne ? ""
               : std::string(kMarkBegin) + std::to_string(lines) + std::string(kMarkEnd) + "\n";
}

size_t linesOfOne(std::string_view line) {
  size_t count = 0;
  if (!line.starts_with(kMarkBegin) || !line.ends_with(kMarkEnd))
    return 0;
  line = line.substr(kMarkBegin.size(), line.size() - kMarkBegin.size() - kMarkEnd.size());
  auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), count);
  return problem == std::errc() && end == line.data() + line.size() ? count : 0;
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
  // Lines without a prompt are output.
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
