// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts that were made to break a compiler. Each ends in time, with a diagnostic that has a location.
#include "Parsed.h"
#include "Support/Limits.h"
#include <ctime>
#include <gtest/gtest.h>

using namespace mx;

namespace {

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

struct Hostile {
  const char *name;
  std::string (*text)();
  const char *code; ///< the first error; empty: a good program
};

constexpr size_t kMega = 1 << 20;

const Hostile kTable[] = {
    {"open_round_100k", [] { return std::string(100'000, '('); }, "E0104"},
    {"open_square_100k", [] { return std::string(100'000, '['); }, "E0104"},
    {"open_brace_100k", [] { return std::string(100'000, '{'); }, "E0101"},
    {"close_round_100k", [] { return std::string(100'000, ')'); }, "E0101"},
    {"close_brace_100k", [] { return std::string(100'000, '}'); }, "E0107"},
    {"mixed_brackets_300k", [] { return repeat("([{", 100'000); }, "E0101"},
    {"if_100k", [] { return repeat("if ", 100'000); }, "E0104"},
    {"minus_100k", [] { return std::string(100'000, '-'); }, "E0104"},
    {"at_100k", [] { return std::string(100'000, '@'); }, "E0101"},
    {"line_10mb_name", [] { return std::string(10 * kMega, 'a'); }, ""},
    {"line_10mb_digits", [] { return std::string(10 * kMega, '9'); }, "E0106"},
    {"line_10mb_string", [] { return "let s = \"" + std::string(10 * kMega, 's') + "\""; }, ""},
    {"line_10mb_open_string", [] { return "let s = \"" + std::string(10 * kMega, 's'); }, "E0102"},
    {"line_10mb_comment", [] { return "# " + std::string(10 * kMega, 'c'); }, ""},
    {"line_10mb_spaces", [] { return std::string(10 * kMega, ' ') + "x"; }, ""},
    {"line_3mb_list", [] { return "[" + repeat("1, ", kMega) + "]"; }, ""},
    {"line_1mb_statements", [] { return repeat("x;", kMega / 2); }, ""},
    {"line_1mb_functions", [] { return "## d\n" + repeat("fn f() { };", kMega / 11); }, ""},
    {"line_1mb_indented", [] { return "if a:\n " + repeat("x;", kMega / 2); }, "E0101"},
    {"line_10mb_bad_characters", [] { return std::string(10 * kMega, '$'); }, "E0003"},
    {"line_10mb_quotes", [] { return repeat("\"\" ", 3 * kMega); }, "E0101"},
    {"lines_5m_empty", [] { return std::string(5 * kMega, '\n'); }, ""},
    {"comments_1m", [] { return repeat("#\n", kMega); }, ""},
    {"docs_1m", [] { return repeat("##\n", kMega) + "fn f() { }"; }, ""},
    {"doc_before_many", [] { return repeat("## d\nfn f() { }\n", 100'000); }, ""},
    {"nul", [] { return std::string("let x = \0 1", 11); }, "E0003"},
    {"nul_only", [] { return std::string(1000, '\0'); }, "E0003"},
    {"bad_utf8", [] { return std::string("let x = \"\xFF\xFE\""); }, "E0001"},
    {"bad_utf8_in_comment", [] { return std::string("# \x80"); }, "E0001"},
    {"overlong_utf8", [] { return std::string("\xC0\xAF"); }, "E0001"},
    {"bidi", [] { return std::string("let a = 1 # \xE2\x80\xAE"); }, "E0003"},
    {"bom", [] { return std::string("\xEF\xBB\xBFlet a = 1"); }, "E0003"},
    {"size_2_63_minus_1", [] { return std::string("let x: f32[9223372036854775807] = y"); }, ""},
    {"size_2_63", [] { return std::string("let x: f32[9223372036854775808] = y"); }, "E0106"},
    {"size_2_64", [] { return std::string("let x: f32[18446744073709551616] = y"); }, "E0106"},
    {"size_hex", [] { return std::string("let x: f32[0xFFFFFFFFFFFFFFFF] = y"); }, "E0106"},
    {"exponent", [] { return std::string("let x = 1e999999999999"); }, ""},
    {"fstring_nest", [] { return repeat("f\"{", 100'000); }, "E0104"},
    {"fstring_braces", [] { return "f\"" + repeat("{x}", 100'000) + "\""; }, ""},
    {"fstring_quotes", [] { return "f\"" + repeat("{\"\"}", kMega) + "\""; }, ""},
    {"fstring_open", [] { return "f\"" + std::string(100'001, '{'); }, "E0105"},
    {"escapes", [] { return "\"" + repeat("\\q", 100'000) + "\""; }, "E0105"},
    {"colons", [] { return "x[" + std::string(100'000, ':') + "]"; }, "E0101"},
    {"dots", [] { return "x" + std::string(100'000, '.'); }, "E0101"},
    {"commas", [] { return "f(" + std::string(100'000, ',') + ")"; }, "E0101"},
    {"else_100k", [] { return repeat("else ", 100'000); }, "E0101"},
    {"lambda_100k", [] { return repeat("lambda x: ", 100'000); }, "E0108"},
    {"elif_100k", [] { return "if a { }" + repeat(" elif a { }", 100'000); }, "E0108"},
};

class HostileText : public testing::TestWithParam<Hostile> {};

TEST_P(HostileText, EndsInTimeWithALocation) {
  std::string text = GetParam().text();
  // The processor's time, not the clock's: other work on the machine must not matter.
  std::clock_t start = std::clock();
  Parsed p(std::move(text));
  std::string rendered = p.rendered();
  std::optional<std::string> formatted = p.format();
  double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  // Far more than a sanitizer build needs; a quadratic step takes hours.
  EXPECT_LT(seconds, 60);
  EXPECT_EQ(p.codes().substr(0, 5), GetParam().code) << p.messages().substr(0, 500);
  EXPECT_LE(p.diagnostics.errorCount(), size_t(limits::kMaxErrors));
  EXPECT_EQ(formatted.has_value(), p.good());
  EXPECT_LT(rendered.size(), 400'000u) << "a message repeats the text";
}

INSTANTIATE_TEST_SUITE_P(Syntax, HostileText, testing::ValuesIn(kTable),
                         [](const auto &info) { return info.param.name; });

TEST(HostileSize, AFileOver64MiBIsRefused) {
  Parsed p(std::string((64u << 20) + 1, ' '));
  EXPECT_EQ(p.codes(), "E0002");
  EXPECT_TRUE(Parsed(std::string(64u << 20, ' ')).good());
}

TEST(HostileSize, TooManyTokensAreRefused) {
  Parsed p(std::string(limits::kMaxTokens + 2, '('));
  EXPECT_EQ(p.codes().substr(0, 5), "E0104"); // the location of the first bracket that is too deep
  EXPECT_NE(p.codes().find("E0002"), std::string::npos);
}

} // namespace
