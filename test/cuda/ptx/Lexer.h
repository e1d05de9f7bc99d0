// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens of PTX. Dots belong to the word behind them (".reg", ".f32"), so that an opcode is a word
// followed by dotted words without space between.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mxemu {

/// PTX that is refused: message with the line.
struct PtxError : std::runtime_error {
  PtxError(unsigned line, const std::string &text)
      : std::runtime_error("line " + std::to_string(line) + ": " + text) {}
};

struct Token {
  enum Kind : uint8_t { Word, Dotted, Number, String, Symbol, End } kind = End;
  bool glued = false; // no space before it
  unsigned line = 0;
  std::string_view text;
};

std::vector<Token> tokenize(std::string_view text);

/// An immediate: integer or the bits of a float.
struct Literal {
  enum Kind : uint8_t { Integer, Single, Double } kind = Integer;
  uint64_t bits = 0;
};
Literal parseLiteral(const Token &token);

} // namespace mxemu
