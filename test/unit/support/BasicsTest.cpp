// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked arithmetic, byte counts, UTF-8, near names, positions.
#include "Support/Arena.h"
#include "Support/Bytes.h"
#include "Support/CheckedMath.h"
#include "Support/Source.h"
#include "Support/Suggest.h"
#include "Support/Unicode.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;

TEST(Bytes, FormatsWithOneDecimalUnlessItIsZero) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1024), "1 KiB");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(512.0 * 1024), "512 KiB");
  EXPECT_EQ(formatBytes(1.6 * 1024 * 1024), "1.6 MiB");
  EXPECT_EQ(formatBytes(double(kMax)), "8 EiB");
  // Several counts in the unit of the largest.
  int unit = byteUnitOf(3 << 20);
  EXPECT_EQ(bytesIn(3 << 20, unit), "3");
  EXPECT_EQ(bytesIn(512 << 10, unit), "0.5");
  EXPECT_EQ(bytesIn(64, unit), "0");
}

/// The same text means the same to the compiler and to the runtime.
TEST(Bytes, ReadsWhatTheRuntimeReads) {
  EXPECT_EQ(parseBytes("512MiB"), int64_t(512) << 20);
  EXPECT_EQ(parseBytes("512mib"), int64_t(512) << 20);
  EXPECT_EQ(parseBytes("2 GB"), 2000000000);
  EXPECT_EQ(parseBytes("1.5K"), 1536);
  EXPECT_EQ(parseBytes("9223372036854775807"), kMax);
  for (const char *text : {"", "0", "-1", "1e3", "0x10", "inf", "1Q", "1.", "9223372036854775808"})
    EXPECT_EQ(parseBytes(text), std::nullopt) << text;
}

TEST(CheckedMath, SizesDivideByAnything) {
  for (int64_t a = -13; a <= 13; ++a)
    for (int64_t b = -5; b <= 5; ++b)
      EXPECT_EQ(floorDivide(a, b), checkedFloorDiv(a, b).value_or(0)) << a << " " << b;
  EXPECT_EQ(floorDivide(kMin, -1), kMin);
  EXPECT_EQ(floorDivide(kMin, 0), 0);
}

TEST(CheckedMath, ReportsOverflowAtTheEdges) {
  EXPECT_EQ(checkedAdd(kMax, 0), kMax);
  EXPECT_EQ(checkedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(checkedAdd(kMin, -1), std::nullopt);
  EXPECT_EQ(checkedSub(kMin, 0), kMin);
  EXPECT_EQ(checkedSub(kMin, 1), std::nullopt);
  EXPECT_EQ(checkedSub(0, kMin), std::nullopt);
  EXPECT_EQ(checkedMul(kMax, 1), kMax);
  EXPECT_EQ(checkedMul(kMax, 2), std::nullopt);
  EXPECT_EQ(checkedMul(kMin, -1), std::nullopt);
  EXPECT_EQ(checkedMul(int64_t(1) << 31, int64_t(1) << 31), int64_t(1) << 62);
  EXPECT_EQ(checkedMul(int64_t(1) << 32, int64_t(1) << 31), std::nullopt);
  EXPECT_EQ(checkedMul(3037000500, 3037000500), std::nullopt);
  EXPECT_EQ(checkedMul(3037000499, 3037000499), 9223372030926249001);
}

TEST(CheckedMath, DivisionRoundsDown) {
  for (int64_t a = -13; a <= 13; ++a)
    for (int64_t b = -5; b <= 5; ++b) {
      if (b == 0) {
        EXPECT_EQ(checkedFloorDiv(a, b), std::nullopt);
        EXPECT_EQ(checkedFloorMod(a, b), std::nullopt);
        continue;
      }
      int64_t q = *checkedFloorDiv(a, b), r = *checkedFloorMod(a, b);
      EXPECT_EQ(q * b + r, a) << a << " " << b;
      EXPECT_TRUE(r == 0 || (r < 0) == (b < 0)) << a << " " << b;
      EXPECT_LT(std::abs(r), std::abs(b));
    }
  EXPECT_EQ(checkedFloorDiv(kMin, -1), std::nullopt);
  EXPECT_EQ(checkedFloorMod(kMin, -1), 0);
  EXPECT_EQ(checkedFloorDiv(kMin, 1), kMin);
}

TEST(Unicode, DecodesExactlyTheValidForms) {
  auto decode = [](const std::string &s) { return decodeUtf8(s, 0); };
  EXPECT_EQ(decode("a").value, 'a');
  EXPECT_EQ(decode("\xC2\x80").value, 0x80u);
  EXPECT_EQ(decode("\xDF\xBF").value, 0x7FFu);
  EXPECT_EQ(decode("\xE0\xA0\x80").value, 0x800u);
  EXPECT_EQ(decode("\xEF\xBF\xBF").value, 0xFFFFu);
  EXPECT_EQ(decode("\xF0\x90\x80\x80").value, 0x10000u);
  EXPECT_EQ(decode("\xF4\x8F\xBF\xBF").value, 0x10FFFFu);
  for (const char *bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xFF", "\xC2", "\xE2\x82", "\xF0\x9F\x98", "\xC2z"})
    EXPECT_EQ(decode(bad).bytes, 0u) << bad;
}

TEST(Unicode, EncodingAndDecodingAgree) {
  for (uint32_t c = 0; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 97) {
    if (c >= 0xD800 && c <= 0xDFFF)
      continue;
    std::string s;
    appendUtf8(s, c);
    CodePoint back = decodeUtf8(s, 0);
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.bytes, s.size());
  }
}

TEST(Unicode, WidthsAsTerminalsShowThem) {
  EXPECT_EQ(displayWidth("abc"), 3);
  EXPECT_EQ(displayWidth("\t"), 4);
  EXPECT_EQ(displayWidth("\xE4\xBD\xA0\xE5\xA5\xBD"), 4); // two Chinese characters
  EXPECT_EQ(displayWidth("e\xCC\x81"), 1);                // e with a combining accent
  EXPECT_EQ(displayWidth("\xF0\x9F\x98\x80"), 2);         // a face
  EXPECT_EQ(displayWidth("\xEF\xBD\xB1"), 1);             // half-width kana
  EXPECT_EQ(countCodePoints("e\xCC\x81\xFF"), 3u);        // a bad byte counts as one
}

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(editDistance("", ""), 0);
  EXPECT_EQ(editDistance("abc", "abc"), 0);
  EXPECT_EQ(editDistance("abc", "abd"), 1);
  EXPECT_EQ(editDistance("abc", "ab"), 1);
  EXPECT_EQ(editDistance("abc", "acb"), 1); // a swap of neighbours is one
  EXPECT_EQ(editDistance("kitten", "sitting"), 3);
  EXPECT_EQ(editDistance("", "abcd"), 4);
  EXPECT_EQ(editDistance("relu", "gelu"), editDistance("gelu", "relu"));
  EXPECT_GT(editDistance(std::string(100'000, 'a'), "a"), 3);
}

TEST(Suggest, FindsWhatAReaderCouldMean) {
  EXPECT_EQ(nearest("sofmax", {"softmax", "sigmoid", "sum"}), "softmax");
  EXPECT_EQ(nearest("Relu", {"relu", "gelu"}), "relu");
  EXPECT_EQ(nearest("maen", {"mean", "max"}), "mean");
  EXPECT_EQ(nearest("xyz", {"softmax", "relu"}), "");
  EXPECT_EQ(nearest("a", {"b", "c"}), ""); // all short words are close; that says nothing
  EXPECT_EQ(nearest("", {"a"}), "");
  EXPECT_FALSE(looksLike("same", "same"));
}

TEST(Source, LinesAndColumns) {
  SourceManager sources;
  const SourceFile &f = sources.add("t.mx", "", "ab\n\xC3\xA9x\r\n\nend");
  EXPECT_EQ(f.lineCount(), 4u);
  EXPECT_EQ(f.line(1), "ab");
  EXPECT_EQ(f.line(2), "\xC3\xA9x");
  EXPECT_EQ(f.line(3), "");
  EXPECT_EQ(f.line(4), "end");
  EXPECT_EQ(f.line(0), "");
  EXPECT_EQ(f.line(5), "");
  auto at = [&](uint32_t o) { return std::pair(f.lineColumn(o).line, f.lineColumn(o).column); };
  EXPECT_EQ(at(0), std::pair(1u, 1u));
  EXPECT_EQ(at(2), std::pair(1u, 3u));
  EXPECT_EQ(at(3), std::pair(2u, 1u));
  EXPECT_EQ(at(5), std::pair(2u, 2u)); // columns count characters, not bytes
  EXPECT_EQ(at(1000), std::pair(4u, 4u));
  for (uint32_t o = 0; o <= f.text().size(); ++o)
    EXPECT_EQ(f.lineNumber(o), f.lineColumn(o).line) << o;
  EXPECT_EQ(sources.location({f.id(), 5, 6}), "t.mx:2:2");
  EXPECT_EQ(sources.locationLine({f.id(), 5, 6}), "t.mx:2");
  EXPECT_EQ(sources.location({}), "<builtin>");
}

TEST(Source, SpansJoin) {
  Span a{1, 2, 4}, b{1, 7, 9}, other{2, 0, 1};
  EXPECT_EQ(a.to(b), (Span{1, 2, 9}));
  EXPECT_EQ(b.to(a), (Span{1, 2, 9}));
  EXPECT_EQ(a.to(other), a);
  EXPECT_EQ(Span{}.to(a), a);
}

TEST(Source, ReadingWhatIsNotAFile) {
  std::string error;
  EXPECT_FALSE(readFile("/nonexistent/x.mx", 100, error).has_value());
  EXPECT_FALSE(error.empty());
  EXPECT_FALSE(readFile("/", 100, error).has_value());
  EXPECT_EQ(error, "it is a directory");
  EXPECT_FALSE(readFile("/dev/zero", 1000, error).has_value());
  EXPECT_EQ(error, "it is not a regular file");
}

TEST(Arena, KeepsWhatItGives) {
  Arena arena;
  std::vector<std::string_view> kept;
  for (int i = 0; i < 10'000; ++i)
    kept.push_back(arena.copy(std::to_string(i)));
  std::string big(1 << 20, 'x');
  EXPECT_EQ(arena.copy(big), big);
  for (int i = 0; i < 10'000; ++i)
    ASSERT_EQ(kept[i], std::to_string(i));
  for (size_t align : {1, 2, 8, 16, 64})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.allocate(3, align)) % align, 0u);
}

} // namespace
