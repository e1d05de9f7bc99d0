// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Support/Shape.h"
#include <gtest/gtest.h>
#include <sstream>

using namespace mx;

namespace {

/// Shapes are written as text: `B T 3`, `...S D`, `_` for a size to be counted.
class ShapeRules : public ::testing::Test {
protected:
  DimContext dims;
  DimFacts facts{dims};
  std::map<std::string, Dim> sizes;
  std::map<std::string, PackId> packs;

  Dim size(const std::string &name) {
    if (std::isdigit(static_cast<unsigned char>(name.back())))
      return dims.constant(std::stoll(name));
    Dim &d = sizes[name];
    if (!d)
      d = dims.newSymbolDim({name, SymbolRole::Generic, true, {}});
    return d;
  }
  Shape shape(const std::string &text) {
    Shape out;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (word == "_")
        out.push_back(Axis{});
      else if (word.rfind("...", 0) == 0)
        out.push_back({Dim(), packs.emplace(word, packs.size() + 1).first->second});
      else
        out.push_back(axisOf(size(word)));
    }
    return out;
  }
  std::string text(const Shape &s) {
    std::string out;
    for (const Axis &axis : s) {
      std::string word = dims.print(axis.dim);
      for (auto &[name, id] : packs)
        if (axis.pack == id)
          word = name;
      out += (out.empty() ? "" : ", ") + word;
    }
    return "[" + out + "]";
  }
  std::string show(const ShapeResult &r) {
    static const char *const kKinds[] = {"",     "mismatch", "ambiguous", "axis range",
                                         "rank", "elements", "overflow",  "indivisible",
                                         "pack", "two holes"};
    if (!r.ok()) {
      std::string out =
          std::string(kKinds[r.problem.kind]) + " at " + std::to_string(r.problem.axis);
      if (r.problem.left && r.problem.right)
        out += ": " + dims.print(r.problem.left) + ", " + dims.print(r.problem.right);
      return out;
    }
    std::string out = text(r.shape);
    for (const DimCondition &c : r.conditions)
      out += " if " + dims.print(c.left) + " == " + dims.print(c.right);
    return out + (r.coincidence ? " by coincidence" : "");
  }
  std::string broadcast(const char *a, const char *b) {
    return show(broadcastShapes(shape(a), shape(b), facts));
  }
  std::string matmul(const char *a, const char *b) {
    return show(matmulShape(shape(a), shape(b), facts));
  }
  std::string reshape(const char *from, const char *to) {
    return show(reshapeShape(shape(from), shape(to), facts));
  }
  std::string reduce(const char *s, std::vector<int64_t> axes, bool keep = false) {
    return show(reduceShape(shape(s), axes, false, keep, dims));
  }
  std::string concat(const std::vector<std::string> &parts, int64_t axis) {
    std::vector<Shape> shapes;
    for (const std::string &p : parts)
      shapes.push_back(shape(p));
    return show(concatShapes(shapes, axis, facts));
  }
  std::string stack(const std::vector<std::string> &parts, int64_t axis) {
    std::vector<Shape> shapes;
    for (const std::string &p : parts)
      shapes.push_back(shape(p));
    return show(stackShapes(shapes, axis, facts));
  }
  std::string split(const char *s, int64_t parts, int64_t axis) {
    return show(splitShape(shape(s), parts, axis, facts));
  }
  void assumeEqual(Dim a, Dim b) { facts.assume({Relation::Equal, a, b, {}}); }
};

TEST_F(ShapeRules, BroadcastOfEqualShapes) {
  EXPECT_EQ(broadcast("", ""), "[]");
  EXPECT_EQ(broadcast("B", "B"), "[B]");
  EXPECT_EQ(broadcast("B T D 3 4", "B T D 3 4"), "[B, T, D, 3, 4]");
}

TEST_F(ShapeRules, BroadcastOfRankZero) {
  EXPECT_EQ(broadcast("", "B T"), "[B, T]");
  EXPECT_EQ(broadcast("B T", ""), "[B, T]");
  EXPECT_EQ(broadcast("...S", ""), "[...S]");
  EXPECT_EQ(broadcast("", "N N"), "[N, N]");
}

TEST_F(ShapeRules, BroadcastAlignsAtTheRight) {
  EXPECT_EQ(broadcast("T D", "B T D"), "[B, T, D]");
  EXPECT_EQ(broadcast("B T D", "D"), "[B, T, D]");
  EXPECT_EQ(broadcast("B T D", "B D").substr(0, 13), "mismatch at 1");
  EXPECT_EQ(broadcast("B T D 3 4", "4"), "[B, T, D, 3, 4]");
}

TEST_F(ShapeRules, BroadcastOfOnes) {
  EXPECT_EQ(broadcast("B 1", "1 T"), "[B, T]");
  EXPECT_EQ(broadcast("B 1 D", "B T 1"), "[B, T, D]");
  EXPECT_EQ(broadcast("1", "N N"), "[N, N]");
  EXPECT_EQ(broadcast("1 1 1 1 1", "5"), "[1, 1, 1, 1, 5]");
  EXPECT_EQ(broadcast("0", "1"), "[0]");
  // A size that happens to be 1 is not a literal 1.
  size("K");
  assumeEqual(size("K"), dims.constant(1));
  EXPECT_EQ(broadcast("K", "T").substr(0, 8), "mismatch");
}

TEST_F(ShapeRules, BroadcastMismatchNamesBothSidesInOrder) {
  EXPECT_EQ(broadcast("B T", "B D"), "mismatch at 1: T, D");
  EXPECT_EQ(broadcast("B D", "B T"), "mismatch at 1: D, T");
  EXPECT_EQ(broadcast("T", "B D"), "mismatch at 1: T, D");
  EXPECT_EQ(broadcast("B D", "T"), "mismatch at 1: D, T");
  EXPECT_EQ(broadcast("3", "4"), "mismatch at 0: 3, 4");
  ShapeResult r = broadcastShapes(shape("B T"), shape("B D"), facts);
  EXPECT_EQ(r.problem.answer.example.size(), 2u);
}

TEST_F(ShapeRules, BroadcastUsesFacts) {
  EXPECT_EQ(broadcast("N", "M"), "mismatch at 0: N, M");
  assumeEqual(size("N"), size("M"));
  EXPECT_EQ(broadcast("N", "M"), "[N]");
  EXPECT_EQ(broadcast("N", "M M"), "ambiguous at 0");
}

TEST_F(ShapeRules, AmbiguousBroadcasts) {
  EXPECT_EQ(broadcast("B", "B 1"), "ambiguous at 0");
  EXPECT_EQ(broadcast("B 1", "B"), "ambiguous at 0");
  EXPECT_EQ(broadcast("N", "N N"), "ambiguous at 0");
  EXPECT_EQ(broadcast("N", "...S N N"), "ambiguous at 1");
  EXPECT_EQ(broadcast("B T", "B T 1 1"), "ambiguous at 0");
  EXPECT_EQ(broadcast("1 B", "B 1"), "[B, B]") << "equal ranks say where they lie";
  EXPECT_EQ(broadcast("B", "1 B"), "[1, B]");
}

TEST_F(ShapeRules, Coincidences) {
  EXPECT_EQ(broadcast("10", "10 10"), "[10, 10] by coincidence");
  EXPECT_EQ(broadcast("10", "B 10"), "[B, 10]");
  EXPECT_EQ(broadcast("10", "10 1"), "ambiguous at 0");
  EXPECT_EQ(broadcast("1", "10 10"), "[10, 10]");
}

TEST_F(ShapeRules, BroadcastWithPacks) {
  EXPECT_EQ(broadcast("...S", "...S"), "[...S]");
  EXPECT_EQ(broadcast("...S D", "D"), "[...S, D]");
  EXPECT_EQ(broadcast("D", "...S D"), "[...S, D]");
  EXPECT_EQ(broadcast("...S D", "...S 1"), "[...S, D]");
  EXPECT_EQ(broadcast("B ...S D", "...S D"), "[B, ...S, D]");
  EXPECT_EQ(broadcast("...S T D", "1 D"), "[...S, T, D]");
  EXPECT_EQ(broadcast("...S D", "B D").substr(0, 4), "pack");
  EXPECT_EQ(broadcast("...S", "...R").substr(0, 4), "pack");
  // If S is empty the result is [1], otherwise it is S.
  EXPECT_EQ(broadcast("1", "...S").substr(0, 4), "pack");
  EXPECT_EQ(broadcast("...S", "1").substr(0, 4), "pack");
}

TEST_F(ShapeRules, Matmul) {
  EXPECT_EQ(matmul("M K", "K N"), "[M, N]");
  EXPECT_EQ(matmul("K", "K N"), "[N]");
  EXPECT_EQ(matmul("M K", "K"), "[M]");
  EXPECT_EQ(matmul("K", "K"), "[]");
  EXPECT_EQ(matmul("B M K", "K N"), "[B, M, N]");
  EXPECT_EQ(matmul("M K", "B K N"), "[B, M, N]");
  EXPECT_EQ(matmul("B M K", "B K N"), "[B, M, N]");
  EXPECT_EQ(matmul("B 1 M K", "H K N"), "[B, H, M, N]");
  EXPECT_EQ(matmul("K", "B K N"), "[B, N]");
  EXPECT_EQ(matmul("B M K", "K"), "[B, M]");
  EXPECT_EQ(matmul("A B C M K", "A B C K N"), "[A, B, C, M, N]");
}

TEST_F(ShapeRules, MatmulProblems) {
  EXPECT_EQ(matmul("", "K N").substr(0, 4), "rank");
  EXPECT_EQ(matmul("M K", "").substr(0, 4), "rank");
  EXPECT_EQ(matmul("M K", "N K"), "mismatch at 1: K, N");
  EXPECT_EQ(matmul("A M K", "B K N"), "mismatch at 0: A, B");
  EXPECT_EQ(matmul("M 3", "4 N"), "mismatch at 1: 3, 4");
}

TEST_F(ShapeRules, MatmulBatchesAreNeverAmbiguous) {
  EXPECT_EQ(matmul("N M K", "N N K N"), "[N, N, M, N]");
  EXPECT_EQ(matmul("10 M K", "10 10 K N"), "[10, 10, M, N]");
}

TEST_F(ShapeRules, MatmulWithPacks) {
  EXPECT_EQ(matmul("...S K", "K N"), "[...S, N]");
  EXPECT_EQ(matmul("...S K", "K"), "[...S]");
  EXPECT_EQ(matmul("...S M K", "...S K N"), "[...S, M, N]");
  EXPECT_EQ(matmul("K", "...S K N"), "[...S, N]");
  EXPECT_EQ(matmul("...S", "K N").substr(0, 4), "rank");
  EXPECT_EQ(matmul("M K", "...S N").substr(0, 4), "rank");
  // S may be [T] or [B, T]: what meets B is not known.
  EXPECT_EQ(matmul("...S K", "B K N").substr(0, 4), "pack");
  EXPECT_EQ(matmul("B M K", "...S K N").substr(0, 4), "pack");
}

TEST_F(ShapeRules, AxesAreCountedFromBothEnds) {
  EXPECT_EQ(axisIndex(shape("A B C"), 0), 0u);
  EXPECT_EQ(axisIndex(shape("A B C"), 2), 2u);
  EXPECT_EQ(axisIndex(shape("A B C"), -1), 2u);
  EXPECT_EQ(axisIndex(shape("A B C"), -3), 0u);
  EXPECT_EQ(axisIndex(shape("A B C"), 3), std::nullopt);
  EXPECT_EQ(axisIndex(shape("A B C"), -4), std::nullopt);
  EXPECT_EQ(axisIndex(shape("A B C"), INT64_MIN), std::nullopt);
  EXPECT_EQ(axisIndex(shape("A B C"), INT64_MAX), std::nullopt);
  EXPECT_EQ(axisIndex(shape(""), 0), std::nullopt);
  EXPECT_EQ(axisIndex(shape("...S D"), -1), 1u);
  EXPECT_EQ(axisIndex(shape("...S D"), 1), std::nullopt);
  EXPECT_EQ(axisIndex(shape("...S D"), 0), std::nullopt);
  EXPECT_EQ(axisIndex(shape("B ...S"), 0), 0u);
  EXPECT_EQ(axisIndex(shape("B ...S"), -1), std::nullopt);
}

TEST_F(ShapeRules, Reduce) {
  EXPECT_EQ(reduce("A B C", {1}), "[A, C]");
  EXPECT_EQ(reduce("A B C", {1}, true), "[A, 1, C]");
  EXPECT_EQ(reduce("A B C", {-1, 0}), "[B]");
  EXPECT_EQ(reduce("A B C", {0, 1, 2}), "[]");
  EXPECT_EQ(reduce("A B C", {3}), "axis range at 3");
  EXPECT_EQ(reduce("A B C", {-4}), "axis range at -4");
  EXPECT_EQ(reduce("A B C", {1, -2}), "axis range at -2") << "twice the same";
  EXPECT_EQ(reduce("", {0}), "axis range at 0");
  EXPECT_EQ(reduce("...S D", {-1}), "[...S]");
  EXPECT_EQ(reduce("...S D", {-1}, true), "[...S, 1]");
  EXPECT_EQ(reduce("...S D", {0}), "pack at 0");
  EXPECT_EQ(show(reduceShape(shape("A B"), {}, true, false, dims)), "[]");
  EXPECT_EQ(show(reduceShape(shape("A B"), {}, true, true, dims)), "[1, 1]");
  EXPECT_EQ(show(reduceShape(shape(""), {}, true, true, dims)), "[]");
  EXPECT_EQ(show(reduceShape(shape("...S"), {}, true, false, dims)), "[]");
  EXPECT_EQ(show(reduceShape(shape("...S"), {}, true, true, dims)), "pack at 0");
}

TEST_F(ShapeRules, ElementCounts) {
  EXPECT_EQ(dims.print(elementCount(shape(""), dims)), "1");
  EXPECT_EQ(dims.print(elementCount(shape("B 3 4"), dims)), "12*B");
  EXPECT_FALSE(elementCount(shape("...S 3"), dims));
  EXPECT_FALSE(elementCount(shape("4294967296 4294967296"), dims));
}

TEST_F(ShapeRules, Reshape) {
  EXPECT_EQ(reshape("", ""), "[]");
  EXPECT_EQ(reshape("1", ""), "[]");
  EXPECT_EQ(reshape("", "1 1"), "[1, 1]");
  EXPECT_EQ(reshape("2 3", "6"), "[6]");
  EXPECT_EQ(reshape("B 28 28", "B 784"), "[B, 784]");
  EXPECT_EQ(reshape("2 3", "7"), "elements at 0: 6, 7");
  EXPECT_EQ(reshape("B 28", "B 27").substr(0, 13), "elements at 0");
  EXPECT_EQ(reshape("A B", "B A"), "[B, A]");
  EXPECT_EQ(reshape("2 2", "-2 -2").substr(0, 13), "elements at 0");
  EXPECT_EQ(reshape("...S", "3").substr(0, 4), "pack");
  EXPECT_EQ(reshape("3", "...S").substr(0, 4), "pack");
  EXPECT_EQ(reshape("4294967296 4294967296", "1").substr(0, 8), "overflow");
  EXPECT_EQ(reshape("1", "4294967296 4294967296").substr(0, 8), "overflow");
}

TEST_F(ShapeRules, ReshapeInfersOneSize) {
  EXPECT_EQ(reshape("2 3 4", "2 _"), "[2, 12]");
  EXPECT_EQ(reshape("2 3 4", "_"), "[24]");
  EXPECT_EQ(reshape("", "_"), "[1]");
  EXPECT_EQ(reshape("B 28 28", "_ 784"), "[B, 784]");
  EXPECT_EQ(reshape("B 28 28", "B _"), "[B, 784]");
  EXPECT_EQ(reshape("B T D", "_ D"), "[B*T, D]");
  EXPECT_EQ(reshape("2 3", "_ _"), "two holes at 1");
  EXPECT_EQ(reshape("2 3", "4 _"), "indivisible at 1: 6, 4");
  EXPECT_EQ(reshape("2 3", "0 _").substr(0, 11), "indivisible");
  EXPECT_EQ(reshape("0 3", "3 _"), "[3, 0]");
}

TEST_F(ShapeRules, ReshapeIntoHeads) {
  size("D"), size("NH"), size("T");
  EXPECT_EQ(reshape("T D", "T NH _").substr(0, 11), "indivisible");
  assumeEqual(dims.mod(size("D"), size("NH")), dims.constant(0));
  EXPECT_EQ(reshape("T D", "T NH _"), "[T, NH, D // NH]");
  sizes["HD"] = dims.floorDiv(size("D"), size("NH"));
  EXPECT_EQ(reshape("T D", "T NH HD"), "[T, NH, D // NH]");
  EXPECT_EQ(reshape("T NH HD", "T D"), "[T, D]");
}

TEST_F(ShapeRules, Concat) {
  EXPECT_EQ(concat({"A B", "C B"}, 0), "[A + C, B]");
  EXPECT_EQ(concat({"A B", "A C", "A 3"}, -1), "[A, B + C + 3]");
  EXPECT_EQ(concat({"A"}, 0), "[A]");
  EXPECT_EQ(concat({"1 2 3 4 5", "1 2 3 4 6"}, 4), "[1, 2, 3, 4, 11]");
  EXPECT_EQ(concat({"A B", "C D"}, 0), "mismatch at 1: B, D");
  EXPECT_EQ(concat({"A B", "A"}, 0), "rank at 1");
  EXPECT_EQ(concat({"A B", "A B"}, 2), "axis range at 2");
  EXPECT_EQ(concat({"", ""}, 0), "axis range at 0");
  EXPECT_EQ(concat({}, 0).substr(0, 4), "rank");
  EXPECT_EQ(concat({"9223372036854775807", "1"}, 0), "overflow at 0");
  EXPECT_EQ(concat({"...S A", "...S B"}, -1), "[...S, A + B]");
  EXPECT_EQ(concat({"...S A", "...R A"}, -1), "pack at 0");
  EXPECT_EQ(concat({"...S A", "...S A"}, 0), "pack at 0");
  EXPECT_EQ(concat({"A B", "A ...S"}, 1), "pack at 1");
}

TEST_F(ShapeRules, Stack) {
  EXPECT_EQ(stack({"A B", "A B", "A B"}, 0), "[3, A, B]");
  EXPECT_EQ(stack({"A B", "A B"}, 1), "[A, 2, B]");
  EXPECT_EQ(stack({"A B", "A B"}, -1), "[A, B, 2]");
  EXPECT_EQ(stack({"", ""}, 0), "[2]");
  EXPECT_EQ(stack({"A B", "A C"}, 0), "mismatch at 1: B, C");
  EXPECT_EQ(stack({"A B", "A"}, 0).substr(0, 4), "rank");
  EXPECT_EQ(stack({"A"}, 2), "axis range at 2");
  EXPECT_EQ(stack({"A"}, -3), "axis range at -3");
  EXPECT_EQ(stack({}, 0).substr(0, 4), "rank");
  EXPECT_EQ(stack({"...S", "...S"}, 0), "[2, ...S]");
  EXPECT_EQ(stack({"...S", "...S"}, -1), "[...S, 2]");
  EXPECT_EQ(stack({"...S A", "...S A"}, -2), "[...S, 2, A]");
  EXPECT_EQ(stack({"...S", "...S"}, 1), "pack at 1") << "it is not known where 1 lies";
  EXPECT_EQ(stack({"...S", "...S"}, -2), "pack at -2");
}

TEST_F(ShapeRules, Split) {
  EXPECT_EQ(split("6 B", 3, 0), "[2, B]");
  EXPECT_EQ(split("B 6", 2, -1), "[B, 3]");
  EXPECT_EQ(split("7", 2, 0), "indivisible at 0: 7, 2");
  EXPECT_EQ(split("0", 4, 0), "[0]");
  EXPECT_EQ(split("A", 1, 0), "[A]");
  EXPECT_EQ(split("6", 0, 0), "indivisible at 0: 6, 0");
  EXPECT_EQ(split("6", -2, 0), "indivisible at 0: 6, -2");
  EXPECT_EQ(split("6", 2, 1), "axis range at 1");
  EXPECT_EQ(split("...S 6", 2, -1), "[...S, 3]");
  EXPECT_EQ(split("...S 6", 2, 0), "pack at 0");
  EXPECT_EQ(split("B", 2, 0).substr(0, 11), "indivisible");
  assumeEqual(dims.mod(size("B"), dims.constant(4)), dims.constant(0));
  EXPECT_EQ(split("B", 2, 0), "[B // 2]");
  EXPECT_EQ(split("B", 4, 0), "[B // 4]");
  sizes["QKV"] = dims.mul(dims.constant(3), size("D"));
  EXPECT_EQ(split("T QKV", 3, 1), "[T, D]");
}

TEST_F(ShapeRules, PermuteAndTranspose) {
  EXPECT_EQ(show(permuteShape(shape("A B C"), {2, 0, 1})), "[C, A, B]");
  EXPECT_EQ(show(permuteShape(shape("A B C"), {0, -1, 1})), "[A, C, B]");
  EXPECT_EQ(show(permuteShape(shape(""), {})), "[]");
  EXPECT_EQ(show(permuteShape(shape("A B"), {0})).substr(0, 4), "rank");
  EXPECT_EQ(show(permuteShape(shape("A B"), {0, 0})), "axis range at 0");
  EXPECT_EQ(show(permuteShape(shape("A B"), {0, 2})), "axis range at 2");
  EXPECT_EQ(show(permuteShape(shape("...S B"), {0, 1})).substr(0, 4), "pack");
  EXPECT_EQ(show(swapLastTwo(shape("A B C"))), "[A, C, B]");
  EXPECT_EQ(show(swapLastTwo(shape("...S A B"))), "[...S, B, A]");
  EXPECT_EQ(show(swapLastTwo(shape("A"))).substr(0, 4), "rank");
  EXPECT_EQ(show(swapLastTwo(shape(""))).substr(0, 4), "rank");
  EXPECT_EQ(show(swapLastTwo(shape("...S B"))).substr(0, 4), "rank");
}

TEST_F(ShapeRules, SameShape) {
  EXPECT_EQ(show(sameShape(shape("A B"), shape("A B"), facts)), "[A, B]");
  EXPECT_EQ(show(sameShape(shape("A 1"), shape("A B"), facts)), "mismatch at 1: 1, B");
  EXPECT_EQ(show(sameShape(shape("A"), shape("A B"), facts)).substr(0, 4), "rank");
  EXPECT_EQ(show(sameShape(shape("...S B"), shape("...S B"), facts)), "[...S, B]");
  EXPECT_EQ(show(sameShape(shape("...S B"), shape("A B"), facts)), "pack at 0");
}

TEST_F(ShapeRules, UnknownEqualitiesBecomeConditions) {
  // A fact that outgrew a limit forbids refuting, so what is not proved stays unknown.
  facts.assume({Relation::Equal, Dim(), size("N"), {}});
  EXPECT_EQ(matmul("M K", "L N"), "[M, N] if K == L");
  EXPECT_EQ(concat({"A B", "A C"}, 0), "[2*A, B] if B == C");
  EXPECT_EQ(reshape("A", "B"), "[B] if A == B");
  EXPECT_EQ(split("A", 2, 0), "[A // 2] if 2*(A // 2) == A");
  EXPECT_EQ(stack({"A", "B"}, 0), "[2, A] if A == B");
  EXPECT_EQ(matmul("N M K", "N N L N"), "[N, N, M, N] if K == L");
  EXPECT_EQ(matmul("N P K", "N M K Q"), "[N, M, P, Q] if N == M");
}

} // namespace
