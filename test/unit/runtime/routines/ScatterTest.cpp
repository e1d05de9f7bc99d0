// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoutineFixture.h"

#include <cmath>

using namespace mxrt;

namespace {

struct Data {
  std::vector<float> x, y, out;
  std::vector<int64_t> index;
  int64_t sizes[3];
  Data(int64_t rows, int64_t count, int64_t width)
      : x(size_t(rows * width)), y(size_t(count * width)), out(x.size()),
        index(size_t(count)), sizes{rows, count, width} {
    std::mt19937 random(7);
    for (float &v : x)
      v = float(random() % 1000) / 7;
    for (float &v : y)
      v = float(random() % 1000) / 11;
    for (int64_t &i : index)
      i = int64_t(random() % uint32_t(2 * rows)) - rows;
  }
  int run(Routine routine, int32_t threads) {
    Machine machine(threads);
    const void *inputs[] = {x.data(), index.data(), y.data()};
    return codeOf(call(routine, machine.context, MXRT_F32, sizes, inputs, out.data()));
  }
  template <typename Join> std::vector<float> wanted(const Join &join) const {
    std::vector<float> want = x;
    for (size_t k = 0; k < index.size(); ++k)
      for (int64_t c = 0; c < sizes[2]; ++c) {
        int64_t row = index[k] < 0 ? index[k] + sizes[0] : index[k];
        float &to = want[size_t(row * sizes[2] + c)];
        to = join(to, y[k * size_t(sizes[2]) + size_t(c)]);
      }
    return want;
  }
};

/// In the order of the index, to the bit, for any number of threads.
TEST(Scatter, InOrder) {
  for (auto [rows, count, width] : {std::array<int64_t, 3>{5, 40, 3},
                                    {1000, 50000, 2},
                                    {1, 9, 1},
                                    {3, 0, 4},
                                    {70000, 100000, 1},
                                    {40, 300, 3000}})
    for (int32_t threads : {1, 4}) {
      Data data(rows, count, width);
      ASSERT_EQ(data.run(mxrt_scatter_add, threads), 0);
      EXPECT_EQ(data.out, data.wanted([](float a, float b) { return a + b; }));
      ASSERT_EQ(data.run(mxrt_scatter_set, threads), 0);
      EXPECT_EQ(data.out, data.wanted([](float, float b) { return b; }));
      ASSERT_EQ(data.run(mxrt_scatter_max, threads), 0);
      EXPECT_EQ(data.out, data.wanted([](float a, float b) { return std::max(a, b); }));
    }
}

TEST(Scatter, HalfsAreAddedUpInF32) {
  // 2048 + 1 is 2048 in f16, so one by one nothing would be added.
  std::vector<F16> x = {F16::of(2048)}, y(8, F16::of(1)), out(1);
  std::vector<int64_t> index(8, 0);
  Machine machine(1);
  const int64_t sizes[] = {1, 8, 1};
  const void *inputs[] = {x.data(), index.data(), y.data()};
  ASSERT_EQ(call(mxrt_scatter_add, machine.context, MXRT_F16, sizes, inputs, out.data()), nullptr);
  EXPECT_EQ(out[0].wide(), 2056);
}

TEST(Scatter, NanWinsAndIntegersWrap) {
  Machine machine(1);
  const int64_t sizes[] = {2, 2, 1}, index[] = {0, 1};
  const float x[] = {1, NAN}, y[] = {NAN, 1};
  float out[2];
  const void *inputs[] = {x, index, y};
  ASSERT_EQ(call(mxrt_scatter_max, machine.context, MXRT_F32, sizes, inputs, out), nullptr);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  const int8_t a[] = {127, -128}, b[] = {1, -1};
  int8_t sums[2];
  const void *whole[] = {a, index, b};
  ASSERT_EQ(call(mxrt_scatter_add, machine.context, MXRT_I8, sizes, whole, sums), nullptr);
  EXPECT_EQ(sums[0], -128);
  EXPECT_EQ(sums[1], 127);
}

TEST(Scatter, IndicesOutsideAreRefused) {
  for (int64_t location : {int64_t(3), int64_t(-4), INT64_MAX, INT64_MIN}) {
    Data data(3, 2, 2);
    data.index[1] = location;
    EXPECT_EQ(data.run(mxrt_scatter_add, 1), MXRT_INDEX);
  }
}

} // namespace
