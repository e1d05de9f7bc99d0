// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Parsed.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

struct Lexed {
  SourceManager sources;
  Diagnostics diagnostics{sources};
  LexedSource source;
  std::string text;
  explicit Lexed(std::string input) : text(input) {
    source = lex(sources.add("t.mx", "", std::move(input)), diagnostics);
  }
  /// Kinds and texts: `name:x =:= int:1 newline eof`.
  std::string tokens() const {
    std::string out;
    for (const Token &t : source.tokens) {
      std::string spelled = text.substr(t.begin, t.end - t.begin);
      const TokenInfo &info = tokenInfo(t.kind);
      std::string shown;
      if (t.kind == Tok::EndOfFile)
        continue;
      else if (t.kind == Tok::Newline)
        shown = "NL";
      else if (info.fixed)
        shown = std::string(info.spelling);
      else
        shown = kindName(t.kind) + ":" + spelled;
      out += (out.empty() ? "" : " ") + shown;
    }
    return out;
  }
  static std::string kindName(Tok kind) {
    switch (kind) {
    case Tok::Name:
      return "name";
    case Tok::Int:
      return "int";
    case Tok::Float:
      return "float";
    case Tok::String:
      return "string";
    case Tok::FStringBegin:
      return "begin";
    case Tok::FStringText:
      return "text";
    case Tok::FStringOpen:
      return "open";
    case Tok::FStringFormat:
      return "format";
    case Tok::FStringClose:
      return "close";
    case Tok::FStringEnd:
      return "end";
    default:
      return "?";
    }
  }
  std::string codes() const {
    std::string out;
    for (const Diagnostic *d : diagnostics.sorted())
      out += (out.empty() ? "" : " ") + std::string(codeInfo(d->code).id);
    return out;
  }
};

std::string tokens(const std::string &text) { return Lexed(text).tokens(); }
std::string codes(const std::string &text) { return Lexed(text).codes(); }
bool complete(const std::string &text) { return Lexed(text).source.complete; }

TEST(Lexer, EveryFixedTokenIsReadAsItself) {
  for (const TokenInfo &info : allTokens()) {
    if (!info.fixed)
      continue;
    Lexed lexed{std::string(info.spelling)};
    ASSERT_FALSE(lexed.source.tokens.empty()) << info.spelling;
    EXPECT_EQ(lexed.source.tokens[0].kind, info.kind) << info.spelling;
    EXPECT_EQ(lexed.source.tokens[0].end, info.spelling.size()) << info.spelling;
    EXPECT_EQ(lexed.codes(), "") << info.spelling;
  }
}

TEST(Lexer, ThereAre35ReservedWordsAnd7ContextualOnes) {
  size_t reserved = 0;
  for (const TokenInfo &info : allTokens())
    reserved += info.keyword;
  EXPECT_EQ(reserved, 35u);
  EXPECT_EQ(contextualWords().size(), 7u);
  for (std::string_view word : contextualWords())
    EXPECT_EQ(keywordKind(word), Tok::Name) << word;
}

TEST(Lexer, LongestOperatorWins) {
  EXPECT_EQ(tokens("a**b*=c//d/=e"), "name:a ** name:b *= name:c // name:d /= name:e NL");
  EXPECT_EQ(tokens("...x..y.z"), "... name:x .. name:y . name:z NL");
  EXPECT_EQ(tokens("a->b-=c|>d"), "name:a -> name:b -= name:c |> name:d NL");
  EXPECT_EQ(tokens("a<=b==c!=d>=e"), "name:a <= name:b == name:c != name:d >= name:e NL");
}

TEST(Lexer, AWordBehindADotIsAName) {
  EXPECT_EQ(tokens("x.import.graph"), "name:x . name:import . name:graph NL");
  EXPECT_EQ(tokens("x .\nfn"), "name:x . NL fn NL"); // a `.` does not continue a line
}

TEST(Lexer, NewlineEndsAStatement) {
  EXPECT_EQ(tokens("a\nb"), "name:a NL name:b NL");
  EXPECT_EQ(tokens("a\n\n\nb\n"), "name:a NL name:b NL");
  EXPECT_EQ(tokens("\n\n"), "");
  EXPECT_EQ(tokens("a # c\r\nb"), "name:a NL name:b NL");
}

TEST(Lexer, NewlineInRoundAndSquareBracketsIsNothing) {
  EXPECT_EQ(tokens("f(\na\n)\nb"), "name:f ( name:a ) NL name:b NL");
  EXPECT_EQ(tokens("[1\n2]"), "[ int:1 int:2 ] NL");
  // A block inside a call is a block again.
  EXPECT_EQ(tokens("f({\na\nb\n})"), "name:f ( { name:a NL name:b NL } ) NL");
}

TEST(Lexer, ALineGoesOnBehindTheTokensTheTableNames) {
  for (const TokenInfo &info : allTokens()) {
    if (!info.fixed || info.kind == Tok::LBrace || info.kind == Tok::LParen ||
        info.kind == Tok::LBracket)
      continue;
    std::string text = "x " + std::string(info.spelling) + "\ny";
    bool ends = Lexed(text).tokens().find("NL name:y") != std::string::npos;
    EXPECT_EQ(ends, !info.continues) << info.spelling;
  }
}

TEST(Lexer, TellsWhetherAnInputIsComplete) {
  EXPECT_TRUE(complete(""));
  EXPECT_TRUE(complete("let x = 1"));
  EXPECT_TRUE(complete("f(a) { b }\n"));
  EXPECT_FALSE(complete("f(a"));
  EXPECT_FALSE(complete("[1, 2"));
  EXPECT_FALSE(complete("if a {"));
  EXPECT_FALSE(complete("let x ="));
  EXPECT_FALSE(complete("a +\n"));
  EXPECT_FALSE(complete("a and"));
  EXPECT_FALSE(complete("f(a, {\n  b\n"));
  EXPECT_TRUE(complete("f(a))"));         // wrong, but more lines will not mend it
  EXPECT_TRUE(complete("let s = \"abc")); // a string ends with its line
}

TEST(Lexer, CommentsKnowTheirLocation) {
  Lexed lexed("# own\nx # behind\n  ## doc  \ny");
  const auto &c = lexed.source.comments;
  ASSERT_EQ(c.size(), 3u);
  EXPECT_TRUE(c[0].ownLine && !c[0].doc);
  EXPECT_TRUE(!c[1].ownLine && !c[1].doc);
  EXPECT_TRUE(c[2].ownLine && c[2].doc);
  EXPECT_EQ(lexed.text.substr(c[2].begin, c[2].end - c[2].begin), "## doc");
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(tokens("0 1_000 0xff 0XFF_00 1.0 1e-3 2E+5 1.5e3"),
            "int:0 int:1_000 int:0xff int:0XFF_00 float:1.0 float:1e-3 float:2E+5 float:1.5e3 NL");
  EXPECT_EQ(tokens("0..5 1.x 1.5.x"), "int:0 .. int:5 int:1 . name:x float:1.5 . name:x NL");
  EXPECT_EQ(codes("0..5 1.x 0xf 1e5"), "");
  EXPECT_EQ(codes("1."), "E0103");
  EXPECT_EQ(codes("12px"), "E0103");
  EXPECT_EQ(codes("0x"), "E0103");
  EXPECT_EQ(codes("1_"), "E0103");
}

TEST(Lexer, NumbersNearTheLimitOf64Bits) {
  EXPECT_EQ(codes("9223372036854775806 9223372036854775807 0x7fffffffffffffff"), "");
  EXPECT_EQ(codes("9223372036854775808"), "E0106");
  EXPECT_EQ(codes("0x8000000000000000"), "E0106");
  EXPECT_EQ(codes("18446744073709551616"), "E0106"); // 2^64: wraps to 0 if nobody looks
  EXPECT_EQ(codes("4294967296 2147483648"), "");
  EXPECT_EQ(codes(std::string(1000, '9')), "E0106");
  EXPECT_EQ(codes(std::string(1000, '0') + "1"), "");
}

TEST(Lexer, StringsAndEscapes) {
  EXPECT_EQ(tokens("\"a\\\"b\" \"\""), "string:\"a\\\"b\" string:\"\" NL");
  EXPECT_EQ(unescape("a\\n\\t\\r\\\\\\\"\\x41\\u{e9}\\u{1F600}"),
            "a\n\t\r\\\"A\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(unescape(std::string("\\0")), std::string(1, '\0'));
  EXPECT_EQ(codes("\"\\n\\t\\r\\0\\\\\\\"\\{\\}\\x7f\\u{10FFFF}\""), "");
  EXPECT_EQ(codes("\"\\q\""), "E0105");
  EXPECT_EQ(codes("\"\\x80\""), "E0105"); // not one character
  EXPECT_EQ(codes("\"\\xg1\""), "E0105");
  EXPECT_EQ(codes("\"\\u{110000}\""), "E0105");
  EXPECT_EQ(codes("\"\\u{d800}\""), "E0105");
  EXPECT_EQ(codes("\"\\u{}\""), "E0105");
  EXPECT_EQ(codes("\"abc\nx"), "E0102");
  EXPECT_EQ(codes("\"abc\\"), "E0102 E0105");
  EXPECT_EQ(codes("'abc'"), "E0003");
}

TEST(Lexer, FStrings) {
  EXPECT_EQ(tokens("f\"a {x:.2f} b\""),
            "begin:f\" text:a  open:{ name:x format:.2f close:} text: b end:\" NL");
  EXPECT_EQ(tokens("f\"{{}}\""), "begin:f\" text:{{}} end:\" NL");
  EXPECT_EQ(tokens("f\"{a[1:2]}\""), "begin:f\" open:{ name:a [ int:1 : int:2 ] close:} end:\" NL");
  EXPECT_EQ(tokens("f\"{f\"{x}\"}\""),
            "begin:f\" open:{ begin:f\" open:{ name:x close:} end:\" close:} end:\" NL");
  EXPECT_EQ(codes("f\"{x\""), "E0105"); // the last quote of a line ends the string
  EXPECT_EQ(codes("f\"{\"a\"}\""), "");
  EXPECT_EQ(codes("f\"a } b\""), "E0105");
  EXPECT_EQ(codes("f\"abc"), "E0102");
  EXPECT_EQ(codes("f\"{x # c}\""), "E0105");
}

TEST(Lexer, FStringsNestEightDeep) {
  auto nested = [](int depth) {
    std::string text = "x";
    for (int i = 0; i < depth; ++i)
      text = "f\"{" + text + "}\"";
    return text;
  };
  EXPECT_EQ(codes(nested(8)), "");
  EXPECT_EQ(codes(nested(9)), "E0104");
  EXPECT_EQ(codes(nested(1000)), "E0104");
}

TEST(Lexer, ForeignOperatorsAreNamed) {
  EXPECT_EQ(tokens("a && b || !c"), "name:a and name:b or not name:c NL");
  EXPECT_EQ(codes("a && b || !c"), "E0003 E0003 E0003");
  EXPECT_EQ(codes("a & b"), "E0003");
  EXPECT_EQ(codes("caf\xC3\xA9"), "E0003");
}

TEST(Lexer, AForgottenBracketEndsAtTheNextStatement) {
  EXPECT_EQ(tokens("f(a,\nlet x = 1"), "name:f ( name:a , NL let name:x = int:1 NL");
}

TEST(Lexer, BadTextIsRefusedWithItsLocation) {
  EXPECT_EQ(codes("let x = \"\xFF\""), "E0001");
  EXPECT_EQ(codes("\xC0\x80"), "E0001");         // overlong
  EXPECT_EQ(codes("\xED\xA0\x80"), "E0001");     // surrogate
  EXPECT_EQ(codes("\xF4\x90\x80\x80"), "E0001"); // past U+10FFFF
  EXPECT_EQ(codes("\xE2\x82"), "E0001");         // cut short
  EXPECT_EQ(codes(std::string("a\0b", 3)), "E0003");
  EXPECT_EQ(codes("# \xE2\x80\xAE"), "E0003");   // right-to-left override, in a comment
  EXPECT_EQ(codes("\"\xE2\x81\xA6\""), "E0003"); // isolate, in a string
  EXPECT_EQ(codes("# \xE4\xBD\xA0\xE5\xA5\xBD"), "");
}

} // namespace
