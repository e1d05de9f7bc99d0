// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs written to exhaust the solver: each test ends because work is bounded, and lit's time
// limit is the only clock. None of the answers may be wrong, but all may be "unknown".
#include "Support/DimSolver.h"
#include "Support/Limits.h"
#include <gtest/gtest.h>
#include <random>

using namespace mx;

namespace {

class DimStress : public ::testing::Test {
protected:
  DimContext dims;
  DimFacts facts{dims};
  std::vector<Dim> s;

  Dim symbol(bool nonNegative = true) {
    s.push_back(
        dims.newSymbolDim({"s" + std::to_string(s.size()), SymbolRole::Generic, nonNegative, {}}));
    return s.back();
  }
  void askEverything(Dim a, Dim b) {
    for (Relation r : {Relation::Equal, Relation::NotEqual, Relation::LessEqual}) {
      facts.ask({r, a, b, {}});
      facts.ask({r, b, a, {}});
    }
  }
};

TEST_F(DimStress, SharedDivisionsDoNotExplode) {
  // Each level uses the one before sixteen times; written out, the last would have 16^16 symbols.
  Dim a = symbol(false), x = symbol(false), level = a;
  for (int depth = 0; level && depth < 20; ++depth) {
    Dim power = dims.constant(1);
    for (int i = 0; i < limits::kMaxDimDegree; ++i)
      power = dims.mul(power, level);
    Dim next = dims.floorDiv(dims.add(power, dims.constant(1)), x);
    if (next) {
      EXPECT_LE(next->leaves, limits::kMaxDimLeaves);
      EXPECT_LT(dims.print(next).size(), 100000u);
      std::vector<AtomId> found;
      dims.symbols(next, found);
      EXPECT_EQ(found.size(), 2u);
      dims.evaluate(next, {{0, 1}, {1, 1}});
      dims.substitute(next, {{0, dims.add(x, dims.constant(1))}});
      askEverything(next, a);
    }
    level = next;
  }
  EXPECT_FALSE(level);
}

TEST_F(DimStress, DoubledDivisionsDoNotExplode) {
  Dim x = symbol(false), level = symbol();
  int depth = 0;
  for (; level; ++depth) {
    ASSERT_LT(depth, 100);
    level =
        dims.floorDiv(dims.add(dims.mul(level, level), level), dims.add(x, dims.constant(depth)));
    if (level)
      askEverything(level, x);
  }
}

TEST_F(DimStress, LongDivisionOfWidePolynomials) {
  Dim wide = dims.constant(1), other = dims.constant(2);
  for (int i = 0; i < 30; ++i) {
    wide = dims.add(wide, dims.mul(dims.constant(i + 2), symbol()));
    other = dims.add(other, dims.mul(dims.constant(3 * i + 1), symbol(false)));
  }
  Dim power = s[0];
  for (int i = 0; i < limits::kMaxDimDegree - 1; ++i)
    power = dims.mul(power, s[2]);
  for (Dim divisor : {wide, other, dims.add(s[0], s[1]), dims.sub(s[2], s[1])})
    for (Dim whole : {power, dims.add(power, wide), other}) {
      Dim q = dims.floorDiv(whole, divisor);
      if (q)
        askEverything(q, wide);
    }
}

TEST_F(DimStress, WideQuestionsAndFacts) {
  for (int i = 0; i < 60; ++i)
    symbol(i % 3 != 0);
  std::mt19937 random(7);
  auto sum = [&](int terms) {
    Dim d = dims.constant(static_cast<int64_t>(random() % 100));
    for (int i = 0; i < terms; ++i) {
      Dim t = dims.mul(s[random() % s.size()], s[random() % s.size()]);
      d = dims.add(d, dims.mul(dims.constant(static_cast<int64_t>(random() % 19) - 9), t));
    }
    return d;
  };
  for (int i = 0; i < 100; ++i)
    facts.assume({static_cast<Relation>(random() % 3), sum(20), sum(20), {}});
  for (int i = 0; i < 5; ++i)
    askEverything(sum(30), sum(30));
}

TEST_F(DimStress, ManyFactsAboutFewSymbols) {
  for (int i = 0; i < 6; ++i)
    symbol();
  std::mt19937 random(8);
  auto small = [&] {
    Dim a = s[random() % 6], b = s[random() % 6];
    switch (random() % 4) {
    case 0:
      return dims.mul(a, b);
    case 1:
      return dims.floorDiv(a, dims.add(b, dims.constant(2)));
    case 2:
      return dims.mod(a, dims.constant(2 + random() % 5));
    default:
      return dims.add(a, dims.constant(static_cast<int64_t>(random() % 9)));
    }
  };
  for (int i = 0; i < 2000; ++i)
    facts.assume({static_cast<Relation>(random() % 3), small(), small(), {}});
  for (int i = 0; i < 5; ++i)
    askEverything(small(), small());
}

TEST_F(DimStress, EquationsThatFeedEachOther) {
  // a = b*c, b = c*d, …: eliminating one makes the next longer.
  for (int i = 0; i < 40; ++i)
    symbol();
  for (size_t i = 0; i + 2 < s.size(); ++i)
    facts.assume({Relation::Equal, s[i], dims.add(dims.mul(s[i + 1], s[i + 2]), s[i + 2]), {}});
  for (size_t i = 0; i + 2 < s.size(); ++i)
    facts.assume({Relation::Equal, dims.mod(s[i + 2], s[i]), dims.constant(0), {}});
  askEverything(s[0], s[39]);
  askEverything(s[20], dims.mul(s[21], s[22]));
}

TEST_F(DimStress, HugeCoefficients) {
  symbol();
  symbol();
  symbol(false);
  const int64_t kHuge[] = {
      INT64_MAX,        INT64_MIN,           INT64_MIN + 1,          INT64_MAX - 1,
      int64_t{1} << 62, -(int64_t{1} << 62), (int64_t{1} << 48) + 1, 3037000500};
  std::vector<Dim> sizes;
  for (int64_t c : kHuge)
    for (size_t i = 0; i < 3; ++i) {
      sizes.push_back(dims.mul(dims.constant(c), s[i]));
      sizes.push_back(dims.add(sizes.back(), dims.constant(c)));
      sizes.push_back(dims.floorDiv(sizes.back(), dims.constant(7)));
      sizes.push_back(dims.floorDiv(s[(i + 1) % 3], dims.add(s[i], dims.constant(c))));
      sizes.push_back(dims.mod(s[i], dims.constant(c)));
    }
  std::mt19937 random(9);
  auto pick = [&] { return sizes[random() % sizes.size()]; };
  for (int round = 0; round < 300; ++round) {
    facts.truncate(0);
    for (int i = 0; i < 4; ++i)
      facts.assume({static_cast<Relation>(random() % 3), pick(), pick(), {}});
    facts.ask({static_cast<Relation>(random() % 3), pick(), pick(), {}});
  }
}

TEST_F(DimStress, ALongScopeOfFacts) {
  // Entering and leaving scopes, a question in each, as a deep function body does.
  Dim bound = symbol();
  for (int i = 0; i < 200; ++i) {
    Dim index = symbol();
    facts.assume({Relation::LessEqual, dims.add(index, dims.constant(1)), bound, {}});
    EXPECT_TRUE(facts.lessEqual(index, bound).proved()) << i;
  }
  while (facts.size() > 0)
    facts.truncate(facts.size() - 1);
  EXPECT_FALSE(facts.lessEqual(s[1], bound).proved());
}

} // namespace
