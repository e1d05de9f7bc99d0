// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The token table, expanded from Tokens.def.
#include "Syntax/Token.h"
#include <unordered_map>

namespace mx {

const std::vector<TokenInfo> &allTokens() {
  static const std::vector<TokenInfo> table = {
#define MX_TOKEN(NAME, TEXT) {Tok::NAME, TEXT, false, false, false, false},
#define MX_PUNCT(NAME, TEXT, CONTINUES) {Tok::NAME, TEXT, true, false, CONTINUES, false},
#define MX_KEYWORD(NAME, TEXT, CONTINUES, STARTS)                                                  \
  {Tok::Kw##NAME, TEXT, true, true, CONTINUES, STARTS},
#include "Syntax/Tokens.def"
  };
  return table;
}

const TokenInfo &tokenInfo(Tok kind) { return allTokens()[static_cast<size_t>(kind)]; }

const std::vector<std::string_view> &contextualWords() {
  static const std::vector<std::string_view> words = {
#define MX_CONTEXTUAL(TEXT) TEXT,
#include "Syntax/Tokens.def"
  };
  return words;
}

std::string describe(Tok kind) {
  const TokenInfo &info = tokenInfo(kind);
  return info.fixed ? "`" + std::string(info.spelling) + "`" : std::string(info.spelling);
}

Tok keywordKind(std::string_view word) {
  static const std::unordered_map<std::string_view, Tok> keywords = [] {
    std::unordered_map<std::string_view, Tok> map;
    for (const TokenInfo &info : allTokens())
      if (info.keyword)
        map.emplace(info.spelling, info.kind);
    return map;
  }();
  auto it = keywords.find(word);
  return it == keywords.end() ? Tok::Name : it->second;
}

} // namespace mx
