// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For shapes of numbers, broadcasting gives what NumPy gives, or says that it is ambiguous exactly
// where a second placement is possible.
#include "Support/Shape.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mx;

namespace {

using Numbers = std::vector<int64_t>;

std::optional<Numbers> broadcastAsNumpy(Numbers a, Numbers b) {
  size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  Numbers out;
  for (size_t i = 0; i < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      return std::nullopt;
    out.push_back(a[i] == 1 ? b[i] : a[i]);
  }
  return out;
}

/// The lower rank has no 1 and lies, number for number, on the higher one further to the left.
bool fitsFurtherLeft(const Numbers &a, const Numbers &b) {
  const Numbers &high = a.size() > b.size() ? a : b, &low = a.size() > b.size() ? b : a;
  if (low.empty() || std::count(low.begin(), low.end(), 1))
    return false;
  for (size_t offset = 0; offset + low.size() < high.size(); ++offset)
    if (std::equal(low.begin(), low.end(), high.begin() + static_cast<std::ptrdiff_t>(offset)))
      return true;
  return false;
}

struct Shapes {
  DimContext dims;
  DimFacts facts{dims};
  Shape of(const Numbers &sizes) {
    Shape s;
    for (int64_t size : sizes)
      s.push_back(axisOf(dims.constant(size)));
    return s;
  }
  static Numbers numbers(const Shape &s) {
    Numbers out;
    for (const Axis &axis : s)
      out.push_back(axis.dim.constant().value_or(-1));
    return out;
  }
};

Numbers randomShape(std::mt19937 &random, size_t maxRank) {
  static constexpr int64_t kSizes[] = {1, 1, 2, 2, 3, 0, 10};
  Numbers out(random() % (maxRank + 1));
  for (int64_t &size : out)
    size = kSizes[random() % 7];
  return out;
}

TEST(ShapeProperty, BroadcastIsNumpysUnlessAmbiguous) {
  Shapes shapes;
  std::mt19937 random(3);
  size_t good = 0, mismatched = 0, ambiguous = 0, coincidences = 0;
  for (int round = 0; round < 20000; ++round) {
    Numbers a = randomShape(random, 5), b = randomShape(random, 5);
    auto expected = broadcastAsNumpy(a, b);
    ShapeResult got = broadcastShapes(shapes.of(a), shapes.of(b), shapes.facts);
    ShapeResult mirrored = broadcastShapes(shapes.of(b), shapes.of(a), shapes.facts);
    ASSERT_EQ(got.problem.kind, mirrored.problem.kind);
    ASSERT_EQ(got.coincidence, mirrored.coincidence);
    ASSERT_TRUE(got.conditions.empty()) << "numbers are never unknown";
    std::string story = ::testing::PrintToString(a) + " and " + ::testing::PrintToString(b);
    if (!expected) {
      ++mismatched;
      ASSERT_EQ(got.problem.kind, ShapeProblem::Mismatch) << story;
      int64_t left = *got.problem.left.constant(), right = *got.problem.right.constant();
      ASSERT_NE(left, right) << story;
      ASSERT_EQ(*mirrored.problem.left.constant(), right) << story;
      size_t rank = std::max(a.size(), b.size()), axis = static_cast<size_t>(got.problem.axis);
      ASSERT_EQ(left, a.at(axis - (rank - a.size()))) << story;
      ASSERT_EQ(right, b.at(axis - (rank - b.size()))) << story;
      continue;
    }
    ASSERT_EQ(Shapes::numbers(got.shape), *expected) << story;
    ASSERT_EQ(got.shape, mirrored.shape) << story;
    bool second = fitsFurtherLeft(a, b);
    ASSERT_EQ(got.problem.kind == ShapeProblem::Ambiguous || got.coincidence, second) << story;
    ambiguous += got.problem.kind == ShapeProblem::Ambiguous;
    coincidences += got.coincidence;
    good += got.ok();
  }
  EXPECT_GT(good, 2000u);
  EXPECT_GT(mismatched, 2000u);
  EXPECT_GT(ambiguous, 20u);
  EXPECT_GT(coincidences, 20u);
}

TEST(ShapeProperty, ReshapesKeepTheNumberOfElements) {
  Shapes shapes;
  std::mt19937 random(4);
  size_t good = 0, bad = 0;
  for (int round = 0; round < 5000; ++round) {
    Numbers from = randomShape(random, 4), to = randomShape(random, 4);
    auto count = [](const Numbers &s) {
      int64_t all = 1;
      for (int64_t size : s)
        all *= size;
      return all;
    };
    ShapeResult plain = reshapeShape(shapes.of(from), shapes.of(to), shapes.facts);
    ASSERT_EQ(plain.ok(), count(from) == count(to));
    Shape holed = shapes.of(to);
    size_t hole = random() % (to.size() + 1);
    holed.insert(holed.begin() + static_cast<std::ptrdiff_t>(hole), Axis{});
    ShapeResult filled = reshapeShape(shapes.of(from), holed, shapes.facts);
    bool fits = count(to) != 0 && count(from) % count(to) == 0;
    ASSERT_EQ(filled.ok(), fits);
    if (fits) {
      ASSERT_EQ(count(Shapes::numbers(filled.shape)), count(from));
    }
    (fits ? good : bad)++;
  }
  EXPECT_GT(good, 500u);
  EXPECT_GT(bad, 500u);
}

} // namespace
