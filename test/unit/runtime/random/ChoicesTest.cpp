// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomFixture.h"

#include <algorithm>
#include <cmath>

namespace {

TEST(Categorical, FollowsTheWeights) {
  Machine machine(3);
  constexpr int64_t rows = 60000;
  const float weights[] = {1, 0, 3, 2};
  std::vector<float> all;
  for (int64_t i = 0; i < rows; ++i)
    all.insert(all.end(), weights, weights + 4);
  std::vector<double> wide(all.begin(), all.end());
  std::vector<float> logits(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    logits[i] = std::log(all[i]) + 100; // -inf for weight 0
  std::vector<int64_t> out(rows), same(rows);
  auto check = [&](const std::vector<int64_t> &classes) {
    std::vector<int64_t> counts(4);
    for (int64_t k : classes)
      ++counts.at(static_cast<size_t>(k));
    EXPECT_NEAR(double(counts[0]), rows / 6.0, 400);
    EXPECT_EQ(counts[1], 0);
    EXPECT_NEAR(double(counts[2]), rows / 2.0, 500);
    EXPECT_NEAR(double(counts[3]), rows / 3.0, 500);
  };
  mxrt_rng rng = seeded(11);
  ASSERT_EQ(mxrt_random_categorical_f32(&machine.context, &rng, rows, 4,
                                        all.data(), out.data()),
            nullptr);
  check(out);
  mxrt_rng again = seeded(11);
  Machine single(1);
  ASSERT_EQ(mxrt_random_categorical_f64(&single.context, &again, rows, 4,
                                        wide.data(), same.data()),
            nullptr);
  EXPECT_EQ(out, same);
  EXPECT_EQ(rng.position, again.position);
  ASSERT_EQ(mxrt_random_categorical_logits_f32(&machine.context, &rng, rows, 4,
                                               logits.data(), out.data()),
            nullptr);
  check(out);
  ASSERT_EQ(mxrt_random_categorical_logits_f32(&single.context, &again, rows, 4,
                                               logits.data(), same.data()),
            nullptr);
  EXPECT_EQ(out, same);
}

TEST(Categorical, BadRowsAreNamed) {
  Machine machine(2);
  const float inf = HUGE_VALF;
  struct Case {
    std::vector<float> row;
    bool logits;
  } cases[] = {{{0, 0}, false},     {{1, -1}, false},  {{1, NAN}, false},
               {{inf, 1}, false},   {{NAN, 1}, true},  {{inf, 0}, true},
               {{-inf, -inf}, true}};
  for (const Case &bad : cases) {
    std::vector<float> rows(2 * 5000, 0.5f);
    std::copy(bad.row.begin(), bad.row.end(), rows.begin() + 2 * 4321);
    std::vector<int64_t> out(5000);
    mxrt_rng rng = seeded(1);
    auto *draw = bad.logits ? mxrt_random_categorical_logits_f32
                            : mxrt_random_categorical_f32;
    mxrt_status status =
        draw(&machine.context, &rng, 5000, 2, rows.data(), out.data());
    ASSERT_NE(status, nullptr);
    EXPECT_NE(strstr(mxrt_status_message(status), "row 4321"), nullptr);
    EXPECT_EQ(codeOf(status), MXRT_INVALID_ARGUMENT);
    EXPECT_EQ(rng.position, 0u);
  }
}

TEST(Categorical, ShapesAtTheEdges) {
  Machine machine(1);
  mxrt_rng rng = seeded(1);
  int64_t out = -1;
  float one = 7;
  const mxrt_context *c = &machine.context;
  EXPECT_EQ(mxrt_random_categorical_f32(c, &rng, 0, 0, nullptr, nullptr),
            nullptr);
  EXPECT_EQ(mxrt_random_categorical_f32(c, &rng, 1, 1, &one, &out), nullptr);
  EXPECT_EQ(out, 0);
  EXPECT_EQ(codeOf(mxrt_random_categorical_f32(c, &rng, 1, 0, &one, &out)),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(mxrt_random_categorical_f32(c, &rng, -1, 1, &one, &out)),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(mxrt_random_categorical_f32(c, &rng, INT64_MAX, 2, &one,
                                               &out)),
            MXRT_INVALID_ARGUMENT);
}

TEST(Permutation, HoldsEveryNumberOnce) {
  Machine machine(2);
  for (int64_t count : {0, 1, 2, 3, 1000, 70001}) {
    std::vector<int32_t> narrow(static_cast<size_t>(count));
    std::vector<int64_t> wide(static_cast<size_t>(count));
    mxrt_rng rng = seeded(4), same = seeded(4);
    ASSERT_EQ(mxrt_random_permutation_i32(&machine.context, &rng, count,
                                          narrow.data()),
              nullptr);
    ASSERT_EQ(mxrt_random_permutation_i64(&machine.context, &same, count,
                                          wide.data()),
              nullptr);
    EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), wide.begin()));
    EXPECT_EQ(rng.position, same.position);
    std::sort(wide.begin(), wide.end());
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(wide[static_cast<size_t>(i)], i);
  }
}

TEST(Permutation, IsFairForThree) {
  Machine machine(1);
  std::vector<int> counts(27);
  mxrt_rng rng = seeded(8);
  for (int i = 0; i < 6000; ++i) {
    int32_t p[3];
    ASSERT_EQ(mxrt_random_permutation_i32(&machine.context, &rng, 3, p),
              nullptr);
    ++counts[static_cast<size_t>(p[0] * 9 + p[1] * 3 + p[2])];
  }
  int orders = 0;
  for (int count : counts)
    if (count > 0) {
      ++orders;
      EXPECT_NEAR(count, 1000, 150);
    }
  EXPECT_EQ(orders, 6);
}

TEST(Permutation, RefusesSizesOutOfRange) {
  Machine machine(1);
  mxrt_rng rng = seeded(1);
  EXPECT_EQ(
      codeOf(mxrt_random_permutation_i64(&machine.context, &rng, -1, nullptr)),
      MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(mxrt_random_permutation_i32(
                &machine.context, &rng, (int64_t(1) << 31) + 1, nullptr)),
            MXRT_INVALID_ARGUMENT);
}

} // namespace
