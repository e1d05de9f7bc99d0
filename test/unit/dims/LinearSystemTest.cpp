// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Support/LinearSystem.h"
#include <gtest/gtest.h>
#include <random>

using namespace mx;

namespace {

bool solvable(const std::vector<LinearRow> &rows, size_t columns) {
  int pivots = 200;
  return hasSolution(rows, columns, pivots);
}

TEST(LinearSystem, SmallSystems) {
  EXPECT_TRUE(solvable({}, 0));
  EXPECT_TRUE(solvable({{{}, 0}}, 0));
  EXPECT_FALSE(solvable({{{}, -1}}, 0));
  EXPECT_TRUE(solvable({{{-1}, -3}, {{1}, 3}}, 1)) << "3 <= x <= 3";
  EXPECT_FALSE(solvable({{{-1}, -3}, {{1}, 2}}, 1)) << "3 <= x <= 2";
  EXPECT_TRUE(solvable({{{-2}, -3}, {{2}, 3}}, 1)) << "x = 3/2";
  EXPECT_FALSE(solvable({{{1, 1}, -1}}, 2)) << "x + y <= -1";
  EXPECT_TRUE(solvable({{{1, -1}, -2}, {{-1, 1}, 2}, {{1, 1}, 10}}, 2)) << "y = x + 2";
}

TEST(LinearSystem, GivesUpRatherThanOverflow) {
  constexpr int64_t kBig = INT64_MAX / 2;
  std::vector<LinearRow> rows;
  for (int i = 0; i < 6; ++i) {
    LinearRow row{{}, -kBig + i};
    for (int j = 0; j < 6; ++j)
      row.coefficients.push_back(i == j ? -(kBig - 3 * i) : kBig - 7 * i * j);
    rows.push_back(row);
  }
  int pivots = 200;
  EXPECT_FALSE(hasSolution(rows, 6, pivots));
  EXPECT_FALSE(solvable({{{INT64_MIN}, INT64_MIN}}, 1));
}

TEST(LinearSystem, StopsWhenPivotsRunOut) {
  int pivots = 0;
  EXPECT_FALSE(hasSolution({{{-1}, -3}}, 1, pivots));
}

TEST(LinearSystem, FindsWhatTryingFinds) {
  std::mt19937 random(1);
  size_t found = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<LinearRow> rows(4);
    for (LinearRow &row : rows) {
      for (int j = 0; j < 3; ++j)
        row.coefficients.push_back(static_cast<int64_t>(random() % 7) - 3);
      row.bound = static_cast<int64_t>(random() % 9) - 5;
    }
    bool tried = false;
    for (int64_t x = 0; x <= 5; ++x)
      for (int64_t y = 0; y <= 5; ++y)
        for (int64_t z = 0; z <= 5; ++z) {
          bool all = true;
          for (const LinearRow &row : rows)
            all &= row.coefficients[0] * x + row.coefficients[1] * y + row.coefficients[2] * z <=
                   row.bound;
          tried |= all;
        }
    bool solved = solvable(rows, 3);
    found += solved;
    refused += !solved;
    if (tried) {
      ASSERT_TRUE(solved) << "round " << round;
    }
  }
  EXPECT_GT(found, 500u);
  EXPECT_GT(refused, 500u);
}

} // namespace
