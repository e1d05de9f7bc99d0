// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Support/Dim.h"
#include "Support/Limits.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

class DimTest : public ::testing::Test {
protected:
  DimContext dims;
  Dim symbol(const char *name, bool nonNegative = true) {
    return dims.newSymbolDim({name, SymbolRole::Generic, nonNegative, {}});
  }
  Dim n(int64_t value) { return dims.constant(value); }
  Dim add(Dim a, Dim b) { return dims.add(a, b); }
  Dim sub(Dim a, Dim b) { return dims.sub(a, b); }
  Dim mul(Dim a, Dim b) { return dims.mul(a, b); }
  Dim div(Dim a, Dim b) { return dims.floorDiv(a, b); }
  Dim mod(Dim a, Dim b) { return dims.mod(a, b); }
  std::string print(Dim d) { return dims.print(d); }
};

TEST_F(DimTest, Constants) {
  EXPECT_EQ(n(7), n(7));
  EXPECT_NE(n(7), n(8));
  EXPECT_EQ(n(0).constant(), 0);
  EXPECT_EQ(n(-3).constant(), -3);
  EXPECT_TRUE(n(1).isConstant(1));
  EXPECT_EQ(symbol("N").constant(), std::nullopt);
  EXPECT_EQ(Dim().constant(), std::nullopt);
  EXPECT_FALSE(Dim());
}

TEST_F(DimTest, SymbolsOfOneNameDiffer) { EXPECT_NE(symbol("N"), symbol("N")); }

TEST_F(DimTest, SumsAndProductsAreInterned) {
  Dim a = symbol("A"), b = symbol("B");
  EXPECT_EQ(add(a, b), add(b, a));
  EXPECT_EQ(sub(add(a, b), b), a);
  EXPECT_EQ(sub(a, a), n(0));
  EXPECT_EQ(mul(a, n(0)), n(0));
  EXPECT_EQ(mul(a, n(1)), a);
  EXPECT_EQ(mul(add(a, b), sub(a, b)), sub(mul(a, a), mul(b, b)));
  EXPECT_EQ(dims.term(3, {1, 0}), mul(n(3), mul(a, b)));
  EXPECT_EQ(dims.term(0, {1, 0}), n(0));
}

TEST_F(DimTest, FloorDivisionOfNumbers) {
  EXPECT_EQ(div(n(7), n(2)), n(3));
  EXPECT_EQ(div(n(-7), n(2)), n(-4));
  EXPECT_EQ(div(n(7), n(-2)), n(-4));
  EXPECT_EQ(div(n(-7), n(-2)), n(3));
  EXPECT_EQ(mod(n(-7), n(2)), n(1));
  EXPECT_EQ(mod(n(7), n(-2)), n(-1));
  EXPECT_FALSE(div(n(7), n(0)));
  EXPECT_FALSE(mod(n(7), n(0)));
  EXPECT_FALSE(div(symbol("N"), n(0)));
  EXPECT_FALSE(mod(symbol("N"), n(0)));
}

TEST_F(DimTest, DivisionTakesOutWholeMultiples) {
  Dim a = symbol("A"), b = symbol("B"), c = symbol("C");
  EXPECT_EQ(div(a, n(1)), a);
  EXPECT_EQ(div(n(0), a), n(0));
  EXPECT_EQ(div(a, a), n(1));
  EXPECT_EQ(div(mul(a, b), b), a);
  EXPECT_EQ(div(add(mul(a, b), c), b), add(a, div(c, b)));
  EXPECT_EQ(div(add(a, n(5)), n(2)), add(div(add(a, n(1)), n(2)), n(2)));
  EXPECT_EQ(div(mul(n(5), a), n(2)), add(mul(n(2), a), div(a, n(2))));
  EXPECT_EQ(div(mul(a, add(b, n(1))), add(b, n(1))), a);
  EXPECT_EQ(div(sub(mul(a, a), n(1)), sub(a, n(1))), add(a, n(1)));
  EXPECT_EQ(mod(mul(a, b), a), n(0));
  EXPECT_EQ(mod(add(mul(n(6), a), n(7)), n(3)), n(1));
}

TEST_F(DimTest, DivisionCancelsCommonFactors) {
  Dim a = symbol("A"), b = symbol("B"), c = symbol("C");
  EXPECT_EQ(div(mul(n(3), a), mul(n(3), b)), div(a, b));
  EXPECT_EQ(div(mul(a, c), mul(b, c)), div(a, b));
  EXPECT_EQ(div(mul(mul(n(6), c), mul(c, a)), mul(mul(n(4), c), b)),
            div(mul(mul(n(3), c), a), mul(n(2), b)));
  EXPECT_EQ(div(dims.negate(a), dims.negate(b)), div(a, b));
  EXPECT_EQ(div(a, n(-2)), div(dims.negate(a), n(2)));
}

TEST_F(DimTest, DivisionDropsWhatCannotMatter) {
  Dim a = symbol("A"), b = symbol("B"), x = symbol("x", false);
  EXPECT_EQ(div(add(mul(n(2), a), n(1)), n(4)), div(a, n(2)));
  EXPECT_EQ(div(n(3), mul(n(4), b)), n(0));
  // For x = -1, 3 // (4*x) is -1.
  EXPECT_NE(div(n(3), mul(n(4), x)), n(0));
}

TEST_F(DimTest, NestedDivisionsBecomeOne) {
  Dim a = symbol("A"), b = symbol("B"), c = symbol("C"), x = symbol("x", false);
  EXPECT_EQ(div(div(a, n(2)), n(2)), div(a, n(4)));
  EXPECT_EQ(div(div(a, n(2)), n(3)), div(div(a, n(3)), n(2)));
  EXPECT_EQ(div(div(a, b), c), div(a, mul(b, c)));
  EXPECT_EQ(div(add(div(a, n(2)), n(1)), n(2)), div(add(a, n(2)), n(4)));
  EXPECT_EQ(div(div(a, x), n(2)), div(a, mul(n(2), x)));
  // floor(floor(1 / 2) / -1) is 0, but floor(1 / -2) is -1.
  EXPECT_NE(div(div(a, n(2)), x), div(a, mul(n(2), x)));
}

TEST_F(DimTest, NullSizesStayNull) {
  Dim a = symbol("A"), none;
  EXPECT_FALSE(add(a, none));
  EXPECT_FALSE(add(none, a));
  EXPECT_FALSE(sub(a, none));
  EXPECT_FALSE(mul(none, a));
  EXPECT_FALSE(dims.negate(none));
  EXPECT_FALSE(div(a, none));
  EXPECT_FALSE(div(none, a));
  EXPECT_FALSE(mod(none, a));
  EXPECT_FALSE(dims.substitute(none, {}));
  EXPECT_EQ(dims.evaluate(none, {}), std::nullopt);
  EXPECT_EQ(dims.asSymbol(none), std::nullopt);
  EXPECT_EQ(print(none), "?");
  EXPECT_FALSE(dims.substitute(a, {{*dims.asSymbol(a), none}}));
}

TEST_F(DimTest, OverflowGivesNoSize) {
  Dim a = symbol("A"), b = symbol("B");
  Dim most = n(INT64_MAX), least = n(INT64_MIN);
  EXPECT_FALSE(add(most, n(1)));
  EXPECT_FALSE(sub(least, n(1)));
  EXPECT_FALSE(dims.negate(least));
  EXPECT_FALSE(mul(most, n(2)));
  EXPECT_FALSE(mul(mul(a, most), n(2)));
  EXPECT_FALSE(div(least, n(-1)));
  EXPECT_EQ(div(most, n(-1)), n(-INT64_MAX));
  EXPECT_EQ(add(sub(most, n(1)), n(1)), most);
  EXPECT_EQ(mul(n(int64_t{1} << 32), n(int64_t{1} << 30)), n(int64_t{1} << 62));
  EXPECT_FALSE(mul(n(int64_t{1} << 32), n(int64_t{1} << 31)));
  // Dividing by a small number: the remainder of the lowest coefficient must not wrap.
  for (int64_t lowest : {INT64_MIN, INT64_MIN + 1, INT64_MIN + 2})
    for (int64_t by : {int64_t{2}, int64_t{3}, int64_t{7}, INT64_MAX, int64_t{-1}, INT64_MIN}) {
      Dim d = div(add(mul(n(lowest), a), b), n(by));
      if (!d)
        continue;
      auto value = dims.evaluate(d, {{0, 1}, {1, 0}});
      if (value) {
        EXPECT_EQ(n(*value), div(n(lowest), n(by))) << lowest << " // " << by;
      }
    }
  EXPECT_EQ(dims.evaluate(mul(a, a), {{0, int64_t{1} << 32}}), std::nullopt);
  EXPECT_EQ(dims.evaluate(add(a, b), {{0, INT64_MAX}, {1, 1}}), std::nullopt);
}

TEST_F(DimTest, TooManyTermsGiveNoSize) {
  Dim sum = n(0);
  for (int i = 0; i < limits::kMaxDimTerms; ++i)
    sum = add(sum, symbol(("s" + std::to_string(i)).c_str()));
  EXPECT_TRUE(sum);
  EXPECT_FALSE(add(sum, symbol("more")));
  EXPECT_FALSE(mul(sum, sum));
}

TEST_F(DimTest, TooHighADegreeGivesNoSize) {
  Dim a = symbol("A"), power = n(1);
  for (int i = 0; i < limits::kMaxDimDegree; ++i)
    power = mul(power, a);
  EXPECT_TRUE(power);
  EXPECT_FALSE(mul(power, a));
  EXPECT_FALSE(dims.term(1, std::vector<AtomId>(limits::kMaxDimDegree + 1, 0)));
}

TEST_F(DimTest, TooDeepDivisionsGiveNoSize) {
  Dim a = symbol("A"), x = symbol("x", false), deep = a;
  int depth = 0;
  while (deep) {
    deep = div(add(deep, n(1)), x); // the sign of x is not known, so these cannot be flattened
    ++depth;
  }
  EXPECT_EQ(depth, limits::kMaxDimAtomDepth + 1);
}

TEST_F(DimTest, Printing) {
  Dim h = symbol("H"), k = symbol("K"), pad = symbol("pad"), stride = symbol("stride");
  Dim b = symbol("B"), d = symbol("D"), nh = symbol("NH"), t = symbol("T");
  Dim window = sub(add(h, mul(n(2), pad)), k);
  EXPECT_EQ(print(window), "H + 2*pad - K");
  EXPECT_EQ(print(add(div(window, stride), n(1))), "(H + 2*pad - K) // stride + 1");
  EXPECT_EQ(print(mul(n(256), b)), "256*B");
  EXPECT_EQ(print(sub(t, n(1))), "T - 1");
  EXPECT_EQ(print(sub(n(1), t)), "1 - T");
  EXPECT_EQ(print(mul(nh, div(d, nh))), "NH*(D // NH)");
  EXPECT_EQ(print(div(d, nh)), "D // NH");
  EXPECT_EQ(print(div(d, mul(n(2), nh))), "D // (2*NH)");
  EXPECT_EQ(print(div(d, mul(b, nh))), "D // (B*NH)");
  EXPECT_EQ(print(div(mul(b, d), nh)), "B*D // NH");
  EXPECT_EQ(print(div(d, add(nh, n(1)))), "D // (NH + 1)");
  EXPECT_EQ(print(dims.negate(div(d, nh))), "-(D // NH)");
  EXPECT_EQ(print(sub(t, div(d, nh))), "T - (D // NH)");
  EXPECT_EQ(print(dims.negate(t)), "-T");
  EXPECT_EQ(print(sub(dims.negate(t), n(1))), "-T - 1");
  EXPECT_EQ(print(mul(t, t)), "T*T");
  EXPECT_EQ(print(n(0)), "0");
  EXPECT_EQ(print(n(-5)), "-5");
  EXPECT_EQ(print(n(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(print(div(n(5), t)), "5 // T");
  EXPECT_EQ(print(mod(d, nh)), "D - NH*(D // NH)");
}

TEST_F(DimTest, PrintingFactors) {
  Dim h = symbol("H"), w = symbol("W");
  EXPECT_EQ(dims.printFactor(h), "H");
  EXPECT_EQ(dims.printFactor(n(3)), "3");
  EXPECT_EQ(dims.printFactor(n(-3)), "(-3)");
  EXPECT_EQ(dims.printFactor(mul(n(3), h)), "3*H");
  EXPECT_EQ(dims.printFactor(add(h, n(1))), "(H + 1)");
  EXPECT_EQ(dims.printFactor(div(h, w)), "(H // W)");
  EXPECT_EQ(dims.printFactor(dims.negate(h)), "(-H)");
}

TEST_F(DimTest, Substitution) {
  Dim a = symbol("A"), b = symbol("B"), c = symbol("C");
  AtomId idA = *dims.asSymbol(a), idB = *dims.asSymbol(b);
  Dim d = add(div(mul(a, a), b), mul(n(2), a));
  EXPECT_EQ(dims.substitute(d, {}), d);
  EXPECT_EQ(dims.substitute(d, {{*dims.asSymbol(c), n(1)}}), d);
  EXPECT_EQ(dims.substitute(d, {{idA, n(6)}, {idB, n(5)}}), n(19));
  EXPECT_EQ(dims.substitute(d, {{idA, mul(b, c)}}), add(mul(b, mul(c, c)), mul(n(2), mul(b, c))));
  EXPECT_FALSE(dims.substitute(d, {{idB, n(0)}}));
  // All at once: A and B change places.
  EXPECT_EQ(dims.substitute(sub(a, b), {{idA, b}, {idB, a}}), sub(b, a));
}

TEST_F(DimTest, Evaluation) {
  Dim a = symbol("A"), b = symbol("B");
  Dim d = add(div(mul(a, a), b), mul(n(2), a));
  EXPECT_EQ(dims.evaluate(d, {{0, 6}, {1, 5}}), 19);
  EXPECT_EQ(dims.evaluate(d, {{0, 6}, {1, -5}}), 4);
  EXPECT_EQ(dims.evaluate(d, {{0, 6}, {1, 0}}), std::nullopt);
  EXPECT_EQ(dims.evaluate(d, {{0, 6}}), std::nullopt);
  EXPECT_EQ(dims.evaluate(n(4), {}), 4);
}

TEST_F(DimTest, SymbolsAreListedOnce) {
  Dim a = symbol("A"), b = symbol("B"), c = symbol("C");
  std::vector<AtomId> found;
  dims.symbols(add(mul(a, a), div(add(a, b), c)), found);
  EXPECT_EQ(found, (std::vector<AtomId>{0, 1, 2}));
  EXPECT_EQ(dims.asSymbol(b), 1u);
  EXPECT_EQ(dims.asSymbol(mul(n(2), b)), std::nullopt);
  EXPECT_EQ(dims.asSymbol(div(a, b)), std::nullopt);
}

TEST_F(DimTest, SignsOfAtoms) {
  Dim a = symbol("A"), b = symbol("B"), x = symbol("x", false);
  auto atom = [&](Dim d) { return DimContext::leadingTerm(d)->atoms.at(0); };
  EXPECT_TRUE(dims.isNonNegativeAtom(atom(a)));
  EXPECT_FALSE(dims.isNonNegativeAtom(atom(x)));
  EXPECT_TRUE(dims.isNonNegativeAtom(atom(div(a, b))));
  EXPECT_FALSE(dims.isNonNegativeAtom(atom(div(a, x))));
  EXPECT_FALSE(dims.isNonNegativeAtom(atom(div(x, b))));
  EXPECT_FALSE(dims.isNonNegativeAtom(atom(div(sub(a, n(1)), b))));
}

} // namespace
