// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Support/DimSolver.h"
#include <gtest/gtest.h>

using namespace mx;

namespace {

class DimSolver : public ::testing::Test {
protected:
  DimContext dims;
  DimFacts facts{dims};

  Dim symbol(const char *name, bool nonNegative = true) {
    return dims.newSymbolDim({name, SymbolRole::Generic, nonNegative, {}});
  }
  Dim n(int64_t value) { return dims.constant(value); }
  Dim add(Dim a, Dim b) { return dims.add(a, b); }
  Dim sub(Dim a, Dim b) { return dims.sub(a, b); }
  Dim mul(Dim a, Dim b) { return dims.mul(a, b); }
  Dim div(Dim a, Dim b) { return dims.floorDiv(a, b); }
  void assumeEqual(Dim a, Dim b) { facts.assume({Relation::Equal, a, b, {}}); }
  void assumeLessEqual(Dim a, Dim b) { facts.assume({Relation::LessEqual, a, b, {}}); }
  void assumeNotEqual(Dim a, Dim b) { facts.assume({Relation::NotEqual, a, b, {}}); }
  void assumeDivides(Dim divisor, Dim whole) { assumeEqual(dims.mod(whole, divisor), n(0)); }

  std::string show(const Answer &answer) {
    if (answer.proved())
      return "proved";
    if (!answer.refuted())
      return "unknown";
    std::string out = "refuted";
    for (auto &[atom, value] : answer.example)
      out += " " + dims.symbolInfo(atom).name + "=" + std::to_string(value);
    return out;
  }
  std::string equal(Dim a, Dim b) { return show(facts.equal(a, b)); }
  std::string lessEqual(Dim a, Dim b) { return show(facts.lessEqual(a, b)); }
  std::string notEqual(Dim a, Dim b) { return show(facts.ask({Relation::NotEqual, a, b, {}})); }
};

TEST_F(DimSolver, DivisibilityMakesDivisionExact) {
  Dim d = symbol("D"), nh = symbol("NH");
  EXPECT_EQ(equal(mul(nh, div(d, nh)), d), "refuted D=2 NH=3");
  assumeDivides(nh, d);
  EXPECT_EQ(equal(mul(nh, div(d, nh)), d), "proved");
  EXPECT_EQ(equal(mul(mul(n(3), nh), div(d, nh)), mul(n(3), d)), "proved");
}

TEST_F(DimSolver, DivisibilityByANumber) {
  Dim b = symbol("B");
  assumeDivides(n(4), b);
  EXPECT_EQ(equal(mul(n(4), div(b, n(4))), b), "proved");
  EXPECT_EQ(equal(mul(n(2), div(b, n(2))), b), "proved");
  EXPECT_EQ(equal(div(b, n(2)), mul(n(2), div(b, n(4)))), "proved");
  EXPECT_EQ(equal(dims.mod(b, n(2)), n(0)), "proved");
  EXPECT_EQ(equal(mul(n(3), div(b, n(3))), b).substr(0, 7), "refuted");
  EXPECT_EQ(dims.print(facts.simplify(mul(n(4), div(b, n(4))))), "B");
  assumeLessEqual(b, n(7));
  EXPECT_EQ(lessEqual(b, n(4)), "proved");
  EXPECT_EQ(lessEqual(b, n(3)), "refuted B=4");
}

TEST_F(DimSolver, CommonFactorsOfADivisionCancel) {
  Dim d = symbol("D"), nh = symbol("NH");
  EXPECT_EQ(equal(div(mul(n(3), d), mul(n(3), nh)), div(d, nh)), "proved");
}

TEST_F(DimSolver, MicroBatchesStayInsideTheBatch) {
  Dim b = symbol("B"), micro = symbol("micro"), m = symbol("M"), i = symbol("i", false);
  assumeEqual(m, div(b, micro));
  assumeDivides(micro, b);
  assumeLessEqual(n(0), i);
  assumeLessEqual(i, sub(micro, n(1)));
  EXPECT_EQ(lessEqual(add(mul(i, m), m), b), "proved");
  EXPECT_EQ(lessEqual(n(0), mul(i, m)), "proved");
  EXPECT_EQ(lessEqual(add(mul(i, m), add(m, n(1))), b).substr(0, 7), "refuted");
  EXPECT_EQ(equal(mul(micro, m), b), "proved");
}

TEST_F(DimSolver, MicroBatchesNeedNotDivideTheBatch) {
  Dim b = symbol("B"), micro = symbol("micro"), i = symbol("i");
  Dim m = div(b, micro);
  assumeLessEqual(i, sub(micro, n(1)));
  EXPECT_EQ(lessEqual(add(mul(i, m), m), b), "proved");
  EXPECT_EQ(equal(mul(micro, m), b), "refuted B=2 micro=3");
}

TEST_F(DimSolver, InequalitiesAddUp) {
  Dim t = symbol("T"), l = symbol("L"), k = symbol("K");
  assumeLessEqual(t, l);
  EXPECT_EQ(lessEqual(t, add(l, n(1))), "proved");
  EXPECT_EQ(lessEqual(add(t, n(1)), l), "refuted T=2 L=2");
  EXPECT_EQ(lessEqual(t, k), "refuted T=3 K=2");
  assumeLessEqual(l, sub(k, n(2)));
  EXPECT_EQ(lessEqual(add(t, n(2)), k), "proved");
  EXPECT_EQ(notEqual(t, k), "proved");
  EXPECT_EQ(equal(t, k), "refuted T=2 K=4");
  assumeLessEqual(l, t);
  EXPECT_EQ(equal(t, l), "proved");
}

TEST_F(DimSolver, NextIndexOfALoop) {
  Dim big = symbol("T"), t = symbol("t", false);
  assumeLessEqual(n(0), t);
  assumeLessEqual(t, sub(big, n(2)));
  EXPECT_EQ(lessEqual(add(t, n(1)), sub(big, n(1))), "proved");
  EXPECT_EQ(lessEqual(n(2), big), "proved");
  EXPECT_EQ(lessEqual(add(t, n(2)), sub(big, n(1))).substr(0, 7), "refuted");
}

TEST_F(DimSolver, SizesOfConvolutions) {
  Dim h = symbol("H"), k = symbol("K"), pad = symbol("pad"), stride = symbol("stride");
  EXPECT_EQ(equal(add(div(sub(add(h, n(2)), n(3)), n(1)), n(1)), h), "proved");
  EXPECT_EQ(equal(add(div(sub(n(24), n(2)), n(2)), n(1)), n(12)), "proved");
  Dim out = add(div(sub(add(h, mul(n(2), pad)), k), stride), n(1));
  EXPECT_EQ(lessEqual(n(1), out).substr(0, 7), "refuted");
  assumeLessEqual(k, add(h, mul(n(2), pad)));
  EXPECT_EQ(lessEqual(n(1), out), "proved");
  EXPECT_EQ(lessEqual(n(2), out).substr(0, 7), "refuted");
}

TEST_F(DimSolver, BoundsRoundToWholeNumbers) {
  Dim h = symbol("H");
  assumeLessEqual(n(5), h);
  EXPECT_EQ(lessEqual(n(1), add(div(sub(h, n(5)), n(1)), n(1))), "proved");
  EXPECT_EQ(lessEqual(n(0), div(sub(h, n(5)), n(2))), "proved");
  EXPECT_EQ(lessEqual(n(2), div(h, n(2))), "proved");
  EXPECT_EQ(lessEqual(n(3), div(h, n(2))), "refuted H=5");
  facts.truncate(0);
  assumeLessEqual(n(5), mul(n(2), h));
  EXPECT_EQ(lessEqual(n(3), h), "proved");
}

TEST_F(DimSolver, EqualitiesChain) {
  Dim a = symbol("N"), b = symbol("M"), c = symbol("K");
  assumeEqual(a, b);
  assumeEqual(b, c);
  EXPECT_EQ(equal(a, c), "proved");
  EXPECT_EQ(equal(div(a, n(2)), div(c, n(2))), "proved");
  EXPECT_EQ(equal(mul(a, b), mul(c, c)), "proved");
  EXPECT_EQ(equal(a, add(c, n(1))).substr(0, 7), "refuted");
}

TEST_F(DimSolver, AnEquationReachesFactsAndDivisions) {
  Dim d = symbol("D"), nh = symbol("NH"), hd = symbol("HD");
  assumeDivides(nh, d);
  assumeEqual(d, n(64));
  EXPECT_EQ(equal(mul(nh, div(n(64), nh)), n(64)), "proved");
  EXPECT_EQ(equal(mul(nh, div(d, nh)), n(64)), "proved");
  facts.truncate(0);
  assumeEqual(d, mul(nh, hd));
  EXPECT_EQ(equal(div(d, nh), hd), "proved");
  EXPECT_EQ(equal(dims.mod(d, hd), n(0)), "proved");
}

TEST_F(DimSolver, EquationsWithFactors) {
  Dim a = symbol("N"), b = symbol("M"), k = symbol("K");
  assumeEqual(mul(n(2), a), add(mul(n(2), b), n(4)));
  EXPECT_EQ(equal(a, add(b, n(2))), "proved");
  facts.truncate(0);
  assumeEqual(mul(n(2), a), mul(n(3), b));
  assumeEqual(mul(n(2), k), mul(n(3), b));
  EXPECT_EQ(equal(a, k), "proved");
}

TEST_F(DimSolver, NestedDivisions) {
  Dim a = symbol("N"), k = symbol("K");
  EXPECT_EQ(equal(div(div(a, n(2)), n(2)), div(a, n(4))), "proved");
  EXPECT_EQ(equal(div(div(a, k), n(2)), div(a, mul(n(2), k))), "proved");
  EXPECT_EQ(equal(div(div(a, n(2)), n(2)), div(a, n(5))).substr(0, 7), "refuted");
}

TEST_F(DimSolver, DifferentSizes) {
  Dim a = symbol("N"), b = symbol("M");
  EXPECT_EQ(notEqual(a, add(a, n(1))), "proved");
  EXPECT_EQ(notEqual(mul(n(2), a), add(mul(n(4), b), n(1))), "proved");
  EXPECT_EQ(notEqual(a, b), "refuted N=2 M=2");
  assumeNotEqual(a, add(b, n(3)));
  EXPECT_EQ(notEqual(mul(n(2), a), add(mul(n(2), b), n(6))), "proved");
  EXPECT_EQ(notEqual(mul(n(2), b), sub(mul(n(2), a), n(6))), "proved");
  EXPECT_EQ(notEqual(a, b), "refuted N=2 M=2");
  assumeNotEqual(a, n(0));
  EXPECT_EQ(lessEqual(n(1), a), "proved");
  assumeLessEqual(b, a);
  assumeNotEqual(a, b);
  EXPECT_EQ(lessEqual(add(b, n(1)), a), "proved");
}

TEST_F(DimSolver, DivisorsAreNotZero) {
  Dim a = symbol("N"), k = symbol("K");
  EXPECT_EQ(lessEqual(div(a, k), a), "proved");
  EXPECT_EQ(lessEqual(n(0), div(a, k)), "proved");
  EXPECT_EQ(equal(div(a, k), n(0)).substr(0, 7), "refuted");
  assumeLessEqual(add(a, n(1)), k);
  EXPECT_EQ(equal(div(a, k), n(0)), "proved");
}

TEST_F(DimSolver, NegativeDivisorsAreNotForgotten) {
  Dim a = symbol("N"), k = symbol("K", false);
  // For K = -1 the remainder is in (K, 0], not in [0, K).
  EXPECT_NE(lessEqual(mul(k, div(a, k)), a), "proved");
  EXPECT_EQ(lessEqual(mul(k, div(a, k)), a).substr(0, 7), "refuted");
  EXPECT_EQ(lessEqual(div(a, k), a), "unknown") << "true, but beyond the solver";
  EXPECT_EQ(lessEqual(n(0), div(a, k)).substr(0, 7), "refuted");
  assumeLessEqual(n(1), k);
  EXPECT_EQ(lessEqual(mul(k, div(a, k)), a), "proved");
  EXPECT_EQ(lessEqual(n(0), div(a, k)), "proved");
}

TEST_F(DimSolver, Products) {
  Dim a = symbol("N"), b = symbol("M"), x = symbol("x", false);
  EXPECT_EQ(lessEqual(n(0), mul(x, x)), "proved");
  EXPECT_EQ(lessEqual(n(0), mul(x, a)), "refuted N=2 x=-1");
  assumeLessEqual(n(1), b);
  EXPECT_EQ(lessEqual(a, mul(a, b)), "proved");
  assumeLessEqual(n(2), a);
  assumeLessEqual(n(2), b);
  EXPECT_EQ(lessEqual(add(a, b), mul(a, b)), "proved");
}

TEST_F(DimSolver, CounterexamplesReadWell) {
  Dim first = symbol("N"), second = symbol("D"), third = symbol("H");
  EXPECT_EQ(equal(second, first), "refuted N=2 D=3");
  EXPECT_EQ(equal(add(first, second), third), "refuted N=2 D=3 H=4");
  EXPECT_EQ(equal(mul(first, n(2)), add(second, n(1))), "refuted N=2 D=4");
  EXPECT_EQ(lessEqual(first, second), "refuted N=3 D=2");
  EXPECT_EQ(equal(first, n(2)), "refuted N=3");
  EXPECT_EQ(equal(n(2), n(3)), "refuted");
  EXPECT_EQ(equal(first, add(first, n(1))), "refuted N=2");
}

TEST_F(DimSolver, CounterexamplesSatisfyFactsAboutOtherSymbols) {
  // N <= M <= K <= 3 leaves no room for N = 4; M and K are not in the question.
  Dim a = symbol("N"), b = symbol("M"), c = symbol("K");
  assumeLessEqual(a, b);
  assumeLessEqual(b, c);
  assumeLessEqual(c, n(3));
  EXPECT_EQ(lessEqual(a, n(3)), "proved");
  EXPECT_EQ(lessEqual(a, n(2)), "refuted N=3");
  // The order in which facts were assumed does not matter.
  facts.truncate(0);
  assumeLessEqual(c, n(3));
  assumeLessEqual(b, c);
  assumeLessEqual(a, b);
  EXPECT_EQ(lessEqual(a, n(3)), "proved");
  EXPECT_EQ(lessEqual(a, n(2)), "refuted N=3");
}

TEST_F(DimSolver, CounterexamplesSatisfyLongChainsOfFacts) {
  // More symbols than can be tried one against the other.
  std::vector<Dim> chain;
  for (int i = 0; i < 20; ++i)
    chain.push_back(symbol(("s" + std::to_string(i)).c_str()));
  for (size_t i = 0; i + 1 < chain.size(); ++i)
    assumeLessEqual(add(chain[i], n(1)), chain[i + 1]);
  assumeLessEqual(chain.back(), n(19));
  EXPECT_EQ(equal(chain[0], n(0)), "proved");
  EXPECT_NE(lessEqual(chain[3], n(3)).substr(0, 7), "refuted");
}

TEST_F(DimSolver, WrittenNumbersAreTried) {
  Dim a = symbol("N"), b = symbol("M");
  assumeLessEqual(n(1000), a);
  EXPECT_EQ(lessEqual(a, n(1000)), "refuted N=1001");
  EXPECT_EQ(equal(a, b), "refuted N=1000 M=2");
}

TEST_F(DimSolver, ImpossibleClaimsAreRefutedWithoutAnExample) {
  Dim a = symbol("N"), b = symbol("M");
  assumeLessEqual(n(int64_t{1} << 40), mul(a, b));
  assumeLessEqual(a, sub(b, n(77777)));
  Answer answer = facts.equal(a, b);
  EXPECT_TRUE(answer.refuted());
}

TEST_F(DimSolver, AFactWithoutASizeForbidsRefuting) {
  Dim a = symbol("N"), b = symbol("M");
  EXPECT_TRUE(facts.equal(a, b).refuted());
  facts.assume({Relation::Equal, a, Dim(), {}});
  EXPECT_EQ(equal(a, b), "unknown");
  EXPECT_EQ(lessEqual(a, add(a, b)), "proved");
  facts.truncate(0);
  EXPECT_TRUE(facts.equal(a, b).refuted());
}

TEST_F(DimSolver, QuestionsWithoutASizeAreUnknown) {
  Dim a = symbol("N");
  EXPECT_EQ(equal(a, Dim()), "unknown");
  EXPECT_EQ(equal(Dim(), Dim()), "unknown");
}

TEST_F(DimSolver, TruncateForgets) {
  Dim a = symbol("N"), b = symbol("M");
  assumeLessEqual(a, b);
  size_t before = facts.size();
  assumeEqual(a, b);
  EXPECT_EQ(equal(a, b), "proved");
  facts.truncate(before);
  EXPECT_EQ(facts.size(), before);
  EXPECT_EQ(equal(a, b), "refuted N=2 M=3");
  EXPECT_EQ(lessEqual(a, b), "proved");
}

TEST_F(DimSolver, CopiesOfFactsAreIndependent) {
  Dim a = symbol("N"), b = symbol("M");
  DimFacts inner = facts;
  inner.assume({Relation::Equal, a, b, {}});
  EXPECT_TRUE(inner.equal(a, b).proved());
  EXPECT_TRUE(facts.equal(a, b).refuted());
}

TEST_F(DimSolver, ContradictionsDoNotCrash) {
  Dim a = symbol("N");
  assumeEqual(a, n(2));
  assumeEqual(a, n(3));
  EXPECT_TRUE(facts.equal(a, n(4)).example.empty());
  assumeEqual(n(0), n(1));
  EXPECT_TRUE(facts.equal(a, n(4)).example.empty());
  EXPECT_TRUE(facts.lessEqual(a, n(-1)).example.empty());
}

TEST_F(DimSolver, SimplifyExplainsLaterNamesByEarlierOnes) {
  Dim a = symbol("N"), b = symbol("M");
  assumeEqual(a, b);
  EXPECT_EQ(dims.print(facts.simplify(mul(b, n(3)))), "3*N");
  EXPECT_EQ(dims.print(facts.simplify(div(b, n(3)))), "N // 3");
  EXPECT_FALSE(facts.simplify(Dim()));
}

} // namespace
