// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Syntax/EditorGrammar.h"
#include "Syntax/Token.h"
#include <gtest/gtest.h>
#include <regex>

using namespace mx;

namespace {

TEST(EditorGrammar, KnowsEveryWordOfTheTable) {
  std::string grammar = vscodeGrammar(), table = tokenTableMarkdown(), sitter = treeSitterGrammar();
  for (const TokenInfo &info : allTokens()) {
    if (!info.keyword)
      continue;
    std::regex asAlternative("[(|]" + std::string(info.spelling) + "[|)]");
    EXPECT_TRUE(std::regex_search(grammar, asAlternative)) << info.spelling;
    EXPECT_NE(table.find("| `" + std::string(info.spelling) + "` |"), std::string::npos)
        << info.spelling;
    EXPECT_NE(sitter.find("\"" + std::string(info.spelling) + "\""), std::string::npos)
        << info.spelling;
  }
  for (std::string_view word : contextualWords()) {
    EXPECT_TRUE(std::regex_search(grammar, std::regex("[(|]" + std::string(word) + "[|)]")))
        << word;
    EXPECT_NE(table.find("`" + std::string(word) + "`"), std::string::npos) << word;
  }
}

TEST(EditorGrammar, IsBalancedJson) {
  std::string grammar = vscodeGrammar();
  std::string open;
  bool inString = false;
  for (size_t i = 0; i < grammar.size(); ++i) {
    char c = grammar[i];
    if (inString) {
      if (c == '\\')
        ++i;
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      open += c;
    } else if (c == '}' || c == ']') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), c == '}' ? '{' : '[');
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty() && !inString);
}

TEST(EditorGrammar, OperatorsAreLongestFirst) {
  std::string grammar = vscodeGrammar();
  auto at = [&](const char *text) {
    size_t found = grammar.find(text);
    EXPECT_NE(found, std::string::npos) << text;
    return found;
  };
  size_t list = at("keyword.operator.mx");
  std::string operators = grammar.substr(list, grammar.find('\n', list) - list);
  EXPECT_LT(operators.find("\\\\*\\\\*"), operators.find("|\\\\*|"));
  EXPECT_LT(operators.find("\\\\.\\\\.\\\\."), operators.find("|\\\\.\\\\.|"));
}

TEST(EditorGrammar, TheTableEscapesBars) {
  EXPECT_NE(tokenTableMarkdown().find("| `\\|>` | yes |"), std::string::npos);
  EXPECT_NE(tokenTableMarkdown().find("| `let` | yes | no |"), std::string::npos);
}

} // namespace
