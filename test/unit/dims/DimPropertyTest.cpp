// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the normal forms and the solver say about random sizes is what computing them shows.
#include "test/unit/dims/RandomClaims.h"
#include <gtest/gtest.h>
#include <random>

using namespace mx;
using namespace mx::testing;

namespace {

/// Normal forms and random numbers of one test.
struct Random {
  std::mt19937 engine;
  explicit Random(uint32_t seed) : engine(seed) {}
  uint32_t operator()(uint32_t below) { return static_cast<uint32_t>(engine() % below); }
};

struct Symbols {
  DimContext dims;
  std::vector<AtomId> ids;
  std::vector<std::vector<int64_t>> domains;
  Symbols(uint32_t count, const Choose &choose) {
    for (uint32_t i = 0; i < count; ++i) {
      bool nonNegative = choose(3) != 0;
      ids.push_back(dims.newSymbol(
          {std::string(1, static_cast<char>('A' + i)), SymbolRole::Generic, nonNegative, {}}));
      domains.emplace_back();
      for (int64_t v = nonNegative ? 0 : -4; v <= 5; ++v)
        domains.back().push_back(v);
    }
  }
};

TEST(DimProperty, NormalFormsHaveTheValueOfTheExpression) {
  size_t compared = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    Choose choose = std::ref(random);
    Symbols s(2, choose);
    ExprPtr e = randomExpr(choose, 2, 4);
    Dim d = toDim(*e, s.dims, s.ids);
    if (!d)
      continue;
    forAllValues(s.domains, [&](const Values &values) {
      auto expected = compute(*e, values);
      if (!expected)
        return true;
      ++compared;
      std::map<AtomId, int64_t> assignment{{s.ids[0], values[0]}, {s.ids[1], values[1]}};
      auto got = s.dims.evaluate(d, assignment);
      EXPECT_EQ(got, expected) << "seed " << seed << ": " << text(*e) << " became "
                               << s.dims.print(d) << " at " << values[0] << ", " << values[1];
      return got == expected;
    });
    if (HasFailure())
      return;
  }
  EXPECT_GT(compared, 50000u);
}

TEST(DimProperty, SubstitutionIsEvaluationInSteps) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    Choose choose = std::ref(random);
    Symbols s(2, choose);
    ExprPtr e = randomExpr(choose, 2, 3), by = randomExpr(choose, 1, 2);
    Dim d = toDim(*e, s.dims, s.ids), value = toDim(*by, s.dims, s.ids);
    Dim replaced = d && value ? s.dims.substitute(d, {{s.ids[1], value}}) : Dim();
    if (!replaced)
      continue;
    for (int64_t a : s.domains[0]) {
      auto inner = compute(*by, {a, 0});
      auto expected = inner ? compute(*e, {a, *inner}) : std::nullopt;
      if (!expected || (*inner < 0 && s.dims.symbolInfo(s.ids[1]).nonNegative))
        continue;
      ASSERT_EQ(s.dims.evaluate(replaced, {{s.ids[0], a}}), expected)
          << "seed " << seed << ": " << text(*e) << " with B = " << text(*by) << " became "
          << s.dims.print(replaced) << " at " << a;
    }
  }
}

TEST(DimProperty, IdentitiesHaveOneNormalForm) {
  size_t compared = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    Choose choose = std::ref(random);
    Symbols s(3, choose);
    DimContext &dims = s.dims;
    auto draw = [&](int depth) { return toDim(*randomExpr(choose, 3, depth), dims, s.ids); };
    Dim a = draw(2), b = draw(2), c = draw(1);
    Dim positive = dims.constant(1 + choose(6)), factor = dims.constant(1 + choose(6));
    auto same = [&](Dim x, Dim y, const char *law) {
      if (!x || !y)
        return;
      ++compared;
      EXPECT_EQ(x.get(), y.get()) << "seed " << seed << ", " << law << ": " << dims.print(x)
                                  << " and " << dims.print(y);
    };
    same(dims.add(a, b), dims.add(b, a), "a + b");
    same(dims.mul(a, b), dims.mul(b, a), "a*b");
    same(dims.sub(dims.add(a, b), b), a, "a + b - b");
    same(dims.mul(a, dims.add(b, c)), dims.add(dims.mul(a, b), dims.mul(a, c)), "a*(b + c)");
    same(dims.mul(dims.mul(a, b), c), dims.mul(a, dims.mul(b, c)), "a*b*c");
    same(dims.floorDiv(dims.add(a, dims.mul(positive, b)), positive),
         dims.add(dims.floorDiv(a, positive), b), "(a + n*b) // n");
    if (c && !c.isConstant(0)) {
      same(dims.floorDiv(dims.mul(a, c), c), a, "a*c // c");
      same(dims.floorDiv(dims.mul(a, factor), dims.mul(c, factor)), dims.floorDiv(a, c),
           "(n*a) // (n*c)");
      same(dims.floorDiv(dims.negate(a), dims.negate(c)), dims.floorDiv(a, c), "-a // -c");
      same(dims.add(dims.mul(c, dims.floorDiv(a, c)), dims.mod(a, c)), a, "c*(a // c) + a % c");
      same(dims.floorDiv(dims.add(a, dims.mul(b, c)), c), dims.add(dims.floorDiv(a, c), b),
           "(a + b*c) // c");
      same(dims.mod(dims.mod(a, c), c), dims.mod(a, c), "a % c % c");
    }
    if (HasFailure())
      return;
  }
  EXPECT_GT(compared, 20000u);
}

TEST(DimProperty, NestedDivisionsBySymbolsAreOne) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Choose choose = std::ref(random);
    Symbols s(2, choose);
    DimContext &dims = s.dims;
    // Plain numerators: a division inside of one may be taken apart in two ways.
    Dim a = dims.add(dims.mul(dims.constant(choose(9)), dims.symbol(s.ids[0])),
                     dims.mul(dims.constant(choose(9)), dims.symbol(s.ids[1])));
    a = dims.add(a, dims.constant(static_cast<int64_t>(choose(20)) - 10));
    Dim m = dims.constant(1 + choose(7)), n = dims.constant(1 + choose(7));
    EXPECT_EQ(dims.floorDiv(dims.floorDiv(a, m), n), dims.floorDiv(a, dims.mul(m, n)))
        << dims.print(a) << " by " << dims.print(m) << " and " << dims.print(n) << ": "
        << dims.print(dims.floorDiv(dims.floorDiv(a, m), n));
  }
}

TEST(DimProperty, VerdictsAgreeWithComputing) {
  size_t verdicts[3] = {0, 0, 0}, unconfirmed = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    ClaimCheck check = checkRandomClaim(std::ref(random), 5);
    ASSERT_EQ(check.problem, "") << "seed " << seed;
    ++verdicts[static_cast<size_t>(check.verdict)];
    unconfirmed += check.unconfirmed;
  }
  // The questions are of all kinds. Most of those that stay open divide by the number 0.
  EXPECT_GT(verdicts[static_cast<size_t>(Verdict::Proved)], 7000u);
  EXPECT_GT(verdicts[static_cast<size_t>(Verdict::Refuted)], 7000u);
  EXPECT_LT(unconfirmed, 400u);
  RecordProperty("proved", static_cast<int>(verdicts[0]));
  RecordProperty("refuted", static_cast<int>(verdicts[1]));
  RecordProperty("unknown", static_cast<int>(verdicts[2]));
}

} // namespace
