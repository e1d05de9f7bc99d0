// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pictures: labels in a row, labels that hang, lines left out, wide characters, two files.
#include "Support/Diagnostic.h"
#include "Support/Limits.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

class Picture : public testing::Test {
protected:
  SourceManager sources;
  Diagnostics diagnostics{sources};
  const SourceFile *file = nullptr;

  void text(const std::string &name, int firstLine, const std::string &lines) {
    file = &sources.add(name, "", std::string(static_cast<size_t>(firstLine - 1), '\n') + lines);
  }
  /// The n-th occurrence of a text.
  Span at(const std::string &words, int n = 1) const {
    size_t found = std::string_view::npos;
    for (size_t from = 0; n > 0; --n, from = found + 1)
      found = file->text().find(words, from);
    EXPECT_NE(found, std::string_view::npos) << words;
    return {file->id(), static_cast<uint32_t>(found), static_cast<uint32_t>(found + words.size())};
  }
  std::string shown(const Diagnostic &d, ErrorFormat format = ErrorFormat::Text) const {
    RenderOptions options;
    options.format = format;
    return render(d, sources, options);
  }
};

TEST_F(Picture, OneCaret) {
  text("linreg.mx", 21, "  let loss = step(m, x, y, 0.1)\n");
  auto &d = diagnostics.report(Code::E0203, at("m,").start(),
                               "`step` changes its argument `m`; say so with `mut`");
  d.caret("write `mut m`").note("`step` is declared at linreg.mx:9 with `mut m: Linear[D, C]`");
  EXPECT_EQ(shown(d), "error[E0203]: `step` changes its argument `m`; say so with `mut`\n"
                      "  --> linreg.mx:21:19\n"
                      "   |\n"
                      "21 |   let loss = step(m, x, y, 0.1)\n"
                      "   |                   ^ write `mut m`\n"
                      "   |\n"
                      "   = note: `step` is declared at linreg.mx:9 with `mut m: Linear[D, C]`\n");
}

TEST_F(Picture, LinesLeftOutAndLinesForContext) {
  text("mlp.mx", 3,
       "  param w1: f32[D, H] = nn.glorot()\n  param w2: f32[H, C] = nn.glorot()\n\n\n\n    x @ "
       "w2\n");
  auto &d = diagnostics.report(Code::E0301, at("@"), "inner dimensions of `@` differ: H is not D");
  d.caret("`f32[B, D] @ f32[H, C]` needs D == H")
      .show(at("param w1"))
      .label(at("f32[H, C]"), "`w2` declared here");
  d.note("x: f32[B, D] is the parameter of `call` at mlp.mx:7:11")
      .help("did you mean `x @ w1`? it is f32[D, H]");
  EXPECT_EQ(shown(d), "error[E0301]: inner dimensions of `@` differ: H is not D\n"
                      " --> mlp.mx:8:7\n"
                      "  |\n"
                      "3 |   param w1: f32[D, H] = nn.glorot()\n"
                      "4 |   param w2: f32[H, C] = nn.glorot()\n"
                      "  |             --------- `w2` declared here\n"
                      "...\n"
                      "8 |     x @ w2\n"
                      "  |       ^ `f32[B, D] @ f32[H, C]` needs D == H\n"
                      "  |\n"
                      "  = note: x: f32[B, D] is the parameter of `call` at mlp.mx:7:11\n"
                      "  = help: did you mean `x @ w1`? it is f32[D, H]\n");
}

TEST_F(Picture, HangingLabels) {
  text("norm.mx", 5, "  x + bias\n");
  auto &d = diagnostics.report(Code::E0201, at("+"),
                               "`+` takes one element type: f16[B, D] and f32[D] differ");
  d.caret("mx never converts between tensor types by itself")
      .label(at("x"), "f16[B, D]")
      .label(at("bias"), "f32[D]");
  d.help("to compute in f32 write `f32(x) + bias`").help("to compute in f16 write `x + f16(bias)`");
  EXPECT_EQ(shown(d), "error[E0201]: `+` takes one element type: f16[B, D] and f32[D] differ\n"
                      " --> norm.mx:5:5\n"
                      "  |\n"
                      "5 |   x + bias\n"
                      "  |   - ^ ---- f32[D]\n"
                      "  |   | |\n"
                      "  |   | mx never converts between tensor types by itself\n"
                      "  |   f16[B, D]\n"
                      "  |\n"
                      "  = help: to compute in f32 write `f32(x) + bias`\n"
                      "  = help: to compute in f16 write `x + f16(bias)`\n");
}

TEST_F(Picture, TwoLabelsInARow) {
  text("mnist.mx", 31, "    let (loss, acc) = step(mut net, mut opt, x[0:64], y)\n");
  auto &d = diagnostics.report(Code::E0303, at("y)").start(), "arguments of `step` disagree on N");
  d.caret("i32[128] gives N = 128").label(at("x[0:64]"), "f32[64, 784] gives N = 64");
  EXPECT_EQ(shown(d),
            "error[E0303]: arguments of `step` disagree on N\n"
            "  --> mnist.mx:31:55\n"
            "   |\n"
            "31 |     let (loss, acc) = step(mut net, mut opt, x[0:64], y)\n"
            "   |                                              -------  ^ i32[128] gives N = 128\n"
            "   |                                              |\n"
            "   |                                              f32[64, 784] gives N = 64\n");
}

TEST_F(Picture, NumbersOfTwoWidthsShareAGutter) {
  text("solve.mx", 8, "  let (z, g) = grad(x) {\n\n    while y {\n");
  auto &d =
      diagnostics.report(Code::E0502, at("while"), "`grad` needs a bound on this `while` loop");
  d.label(at("grad"), "here");
  EXPECT_NE(shown(d).find("\n 8 |   let (z, g) = grad(x) {\n"), std::string::npos) << shown(d);
  EXPECT_NE(shown(d).find("\n...\n10 |     while y {\n"), std::string::npos) << shown(d);
}

TEST_F(Picture, NotesOfSeveralLinesAreIndented) {
  text("a.mx", 1, "x\n");
  auto &d = diagnostics.report(Code::E0101, at("x"), "m");
  d.note("first\nsecond");
  EXPECT_NE(shown(d).find("  = note: first\n          second\n"), std::string::npos) << shown(d);
}

TEST_F(Picture, WideCharactersAndTabs) {
  text("w.mx", 1, "let s = \"\xE4\xBD\xA0\xE5\xA5\xBD\" + y\n\tlet t = z\n");
  EXPECT_EQ(shown(diagnostics.report(Code::E0101, at("y"), "m").caret("here")),
            "error[E0101]: m\n --> w.mx:1:16\n  |\n1 | let s = \"\xE4\xBD\xA0\xE5\xA5\xBD\" + y\n"
            "  |                  ^ here\n");
  EXPECT_EQ(shown(diagnostics.report(Code::E0101, at("z"), "m").caret("here")),
            "error[E0101]: m\n --> w.mx:2:10\n  |\n2 |     let t = z\n  |             ^ here\n");
}

TEST_F(Picture, TwoFiles) {
  text("lib.mx", 4, "model Attention[D, NH] where D % NH == 0 {\n");
  Span there = at("D % NH == 0");
  text("train.mx", 12, "var net = Gpt[64, 6]()\n");
  auto &d = diagnostics.report(Code::E0305, at("Gpt[64, 6]"), "needs D % NH == 0");
  d.caret("D = 64, NH = 6").label(there, "required here");
  EXPECT_EQ(shown(d), "error[E0305]: needs D % NH == 0\n"
                      "  --> train.mx:12:11\n"
                      "   |\n"
                      "12 | var net = Gpt[64, 6]()\n"
                      "   |           ^^^^^^^^^^ D = 64, NH = 6\n"
                      "  ::: lib.mx:4:30\n"
                      "   |\n"
                      " 4 | model Attention[D, NH] where D % NH == 0 {\n"
                      "   |                              ----------- required here\n");
}

TEST_F(Picture, AVeryLongLineIsCut) {
  text("l.mx", 1, std::string(100'000, 'a') + "!" + std::string(100'000, 'b') + "\n");
  std::string picture = shown(diagnostics.report(Code::E0003, at("!"), "m").caret("here"));
  EXPECT_LT(picture.size(), 1500u);
  EXPECT_NE(picture.find("^ here"), std::string::npos);
  // The caret stands below its character.
  size_t line = picture.find("1 | "), caret = picture.find('^');
  size_t mark = picture.find('!');
  std::string before = picture.substr(line, mark - line);
  size_t dots = before.find("…") == std::string::npos ? 0 : 2; // one cell in three bytes
  EXPECT_EQ(before.size() - dots, caret - picture.rfind('\n', caret) - 1);
}

TEST_F(Picture, ControlCharactersAreHarmless) {
  text("c.mx", 1, "a\x1b[31mb \xE2\x80\xAE c\n");
  std::string picture = shown(diagnostics.report(Code::E0003, at("b"), "m"));
  EXPECT_EQ(picture.find('\x1b'), std::string::npos);
  EXPECT_EQ(picture.find("\xE2\x80\xAE"), std::string::npos);
}

TEST_F(Picture, ShortForm) {
  text("t.mx", 3, "let x\n");
  EXPECT_EQ(shown(diagnostics.report(Code::E0101, at("x"), "expected `=`"), ErrorFormat::Short),
            "t.mx:3:5: error[E0101]: expected `=`\n");
  EXPECT_EQ(shown(diagnostics.report(Code::E0101, {}, "no location"), ErrorFormat::Short),
            "error[E0101]: no location\n");
}

TEST_F(Picture, JsonForm) {
  text("t.mx", 2, "let \"x\"\n");
  auto &d = diagnostics.report(Code::E0101, at("\"x\""), "expected \"a\"\n\x01");
  d.caret("c").note("n").help("h");
  EXPECT_EQ(shown(d, ErrorFormat::Json), "{\"severity\":\"error\",\"code\":\"E0101\",\"message\":"
                                         "\"expected \\\"a\\\"\\n\\u0001\",\"location\":"
                                         "{\"file\":\"t.mx\",\"line\":2,\"column\":5,\"endLine\":2,"
                                         "\"endColumn\":8,\"begin\":5,\"end\":8},"
                                         "\"labels\":[{\"primary\":true,\"text\":\"c\",\"location\":{"
                                         "\"file\":\"t.mx\",\"line\":2,\"column\":5,"
                                         "\"endLine\":2,\"endColumn\":8,\"begin\":5,\"end\":8}}],"
                                         "\"notes\":[\"n\"],\"help\":[\"h\"]}\n");
  EXPECT_EQ(jsonString("\xFF"), "\"\xEF\xBF\xBD\"");
}

TEST_F(Picture, ColourOnlyWhenAsked) {
  text("t.mx", 1, "x\n");
  auto &d = diagnostics.report(Code::E0101, at("x"), "m");
  EXPECT_EQ(shown(d).find('\x1b'), std::string::npos);
  RenderOptions options;
  options.colour = true;
  EXPECT_NE(render(d, sources, options).find("\x1b[1;31m"), std::string::npos);
}

TEST_F(Picture, TheSinkCountsSilencesAndSorts) {
  text("t.mx", 1, "a b c d\n");
  diagnostics.silence(Code::W0301);
  diagnostics.report(Code::W0301, at("a"), "silent");
  diagnostics.report(Code::E0101, at("c"), "second");
  diagnostics.report(Code::E0101, at("b"), "first");
  diagnostics.report(Code::E0101, at("b"), "again: not kept");
  EXPECT_EQ(diagnostics.errorCount(), 2u);
  ASSERT_EQ(diagnostics.sorted().size(), 2u);
  EXPECT_EQ(diagnostics.sorted()[0]->message, "first");
  diagnostics.truncate(1);
  EXPECT_EQ(diagnostics.errorCount(), 1u);
  diagnostics.report(Code::E0101, at("b"), "again: kept");
  EXPECT_EQ(diagnostics.errorCount(), 2u);
}

TEST_F(Picture, TheSinkKeepsNoMoreThanTheLimit) {
  text("t.mx", 1, std::string(1000, 'x'));
  for (uint32_t i = 0; i < 1000; ++i)
    diagnostics.report(Code::E0101, {file->id(), i, i + 1}, "m").caret("c").note("n");
  EXPECT_EQ(diagnostics.errorCount(), size_t(limits::kMaxErrors));
  EXPECT_EQ(diagnostics.all().size(), size_t(limits::kMaxErrors));
  EXPECT_TRUE(diagnostics.full());
}

TEST(Codes, AreFoundByName) {
  EXPECT_EQ(findCode("e0101")->id, "E0101");
  EXPECT_EQ(findCode("E9999"), nullptr);
  EXPECT_EQ(findCode(""), nullptr);
  EXPECT_EQ(severityOf(Code::W0301), Severity::Warning);
  for (const CodeInfo &info : allCodes()) {
    EXPECT_EQ(findCode(info.id), &info);
    EXPECT_EQ(info.id.size(), 5u);
  }
}

} // namespace
