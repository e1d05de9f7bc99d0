// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every program without errors: the formatted text has the same tree and the same comments
// (formatSource checks that and returns nothing otherwise), formatting it again changes nothing,
// and lines are long only where they cannot be broken.
#include "Parsed.h"
#include "ProgramGenerator.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

using namespace mx;

namespace {

/// Empty if all is well.
std::string violation(const std::string &text) {
  Parsed before(text);
  if (!before.good())
    return before.format() ? "a text with errors was formatted" : "";
  std::optional<std::string> once = before.format();
  if (!once)
    return "refused:\n" + text;
  Parsed after(*once);
  if (!after.good() || after.dump() != before.dump())
    return "another tree:\n" + *once;
  if (after.lexed.comments.size() != before.lexed.comments.size())
    return "comments were lost:\n" + *once;
  std::optional<std::string> twice = after.format();
  if (!twice || *twice != *once)
    return "not stable:\n" + *once + "\n--- becomes\n" + twice.value_or("nothing");
  if (once->find("\n\n\n") != std::string::npos || once->find(" \n") != std::string::npos)
    return "stray white space:\n" + *once;
  return "";
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const char *folder :
       {"/test/fmt/Inputs", "/test/fuzz/corpus/format", "/test/fuzz/corpus/parser"})
    for (const auto &entry :
         std::filesystem::directory_iterator(std::string(MX_SOURCE_DIR) + folder))
      if (entry.is_regular_file())
        texts.push_back(slurp(entry.path()));
  return texts;
}

TEST(FormatProperty, HoldsForTheCorpus) {
  std::vector<std::string> texts = corpus();
  EXPECT_GT(texts.size(), 12u);
  for (const std::string &text : texts)
    EXPECT_EQ(violation(text), "");
}

TEST(FormatProperty, HoldsForRandomPrograms) {
  int good = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    std::string text = randomProgram(seed);
    good += Parsed(text).good();
    std::string found = violation(text);
    ASSERT_EQ(found, "") << "seed " << seed;
  }
  // The generator writes mx: nearly everything must parse, or the test tests nothing.
  EXPECT_GT(good, 1400);
}

TEST(FormatProperty, HoldsForMutatedTokens) {
  std::minstd_rand random(1);
  int good = 0;
  for (const std::string &text : corpus()) {
    Parsed p(text);
    std::vector<std::string> words;
    uint32_t last = 0;
    for (const Token &t : p.lexed.tokens) {
      words.push_back(text.substr(last, t.end - last));
      last = t.end;
    }
    for (int round = 0; round < 60 && words.size() > 2; ++round) {
      std::vector<std::string> changed = words;
      size_t i = random() % changed.size(), j = random() % changed.size();
      switch (random() % 5) {
      case 0:
        changed.erase(changed.begin() + i);
        break;
      case 1:
        changed.insert(changed.begin() + i, changed[j]);
        break;
      case 2:
        std::swap(changed[i], changed[j]);
        break;
      case 3:
        changed[i] = " # c\n" + changed[i];
        break;
      default:
        changed[i] = "\n" + changed[i];
        break;
      }
      std::string mutated;
      for (const std::string &word : changed)
        mutated += word;
      good += Parsed(mutated).good();
      ASSERT_EQ(violation(mutated), "");
    }
  }
  EXPECT_GT(good, 50);
}

/// White space that means nothing must not change the result where the author has no say: here,
/// spaces inside lines.
TEST(FormatProperty, SpacesInsideLinesDoNotMatter) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::string text = randomProgram(seed);
    Parsed p(text);
    if (!p.good() || !p.lexed.comments.empty())
      continue;
    std::string wide;
    uint32_t last = 0;
    bool inString = false;
    for (const Token &t : p.lexed.tokens) {
      std::string space = text.substr(last, t.begin - last);
      if (!inString && space.find('\n') == std::string::npos && !space.empty())
        space += "   ";
      wide += space + text.substr(t.begin, t.end - t.begin);
      last = t.end;
      inString = t.kind == Tok::FStringBegin ? true : t.kind == Tok::FStringEnd ? false : inString;
    }
    EXPECT_EQ(Parsed(wide).format(), p.format()) << "seed " << seed;
  }
}

} // namespace
