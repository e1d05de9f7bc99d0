// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token kinds and their properties.
#pragma once
#include "Support/Source.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mx {

enum class Tok : uint8_t {
#define MX_TOKEN(NAME, TEXT) NAME,
#define MX_PUNCT(NAME, TEXT, CONTINUES) NAME,
#define MX_KEYWORD(NAME, TEXT, CONTINUES, STARTS) Kw##NAME,
#include "Syntax/Tokens.def"
};

struct Token {
  Tok kind = Tok::EndOfFile;
  uint32_t begin = 0, end = 0;
};

struct TokenInfo {
  Tok kind;
  std::string_view spelling; ///< the text, or its name in messages
  bool fixed;                ///< the spelling is fixed
  bool keyword;
  bool continues;  ///< a line that ends in it continues
  bool startsStmt; ///< never inside ( or [
};

const TokenInfo &tokenInfo(Tok kind);
const std::vector<TokenInfo> &allTokens();
const std::vector<std::string_view> &contextualWords();
/// The name of a token in messages: "`{`", "a name", "`let`".
std::string describe(Tok kind);
/// The keyword with this spelling, or Tok::Name.
Tok keywordKind(std::string_view word);

} // namespace mx
