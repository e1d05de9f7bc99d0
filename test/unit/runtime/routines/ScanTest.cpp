// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoutineFixture.h"

#include <cmath>

using namespace mxrt;

namespace {

template <typename T> T made(double value) {
  if constexpr (requires { T::of(0.0f); })
    return T::of(float(value));
  else if constexpr (std::is_integral_v<T>)
    return T(int64_t(value)); // a double below 0 is not an unsigned number
  else
    return T(value);
}
template <typename T> auto read(T x) {
  if constexpr (requires { x.wide(); })
    return x.wide();
  else
    return x;
}

/// Computed one by one with what a step is computed with.
template <typename T, typename Wide, typename Step>
void check(Routine routine, const Step &step, double start) {
  for (auto [outer, n, inner] : {std::array<int64_t, 3>{1, 1000, 1},
                                 {3, 7, 5},
                                 {2, 3, 2100},
                                 {1, 1, 1},
                                 {0, 4, 4},
                                 {4, 0, 4},
                                 {700, 300, 1}}) {
    Machine machine(3);
    std::mt19937 random(uint32_t(outer * 100 + n));
    std::vector<T> a(size_t(outer * n * inner)), b(a.size()), out(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = made<T>(int(random() % 7) - 3);
      b[i] = made<T>(int(random() % 5) - 2);
    }
    const int64_t sizes[] = {outer, n, inner};
    const void *inputs[] = {a.data(), b.data()};
    ASSERT_EQ(call(routine, machine.context, typeOf<T>(), sizes, inputs, out.data()), nullptr);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        auto state = Wide(start);
        for (int64_t k = 0; k < n; ++k) {
          size_t at = size_t((o * n + k) * inner + i);
          state = Wide(step(state, Wide(read(a[at])), Wide(read(b[at])), k == 0));
          T want;
          if constexpr (std::is_integral_v<T>)
            want = T(state); // with what a double would round
          else
            want = made<T>(double(state));
          ASSERT_EQ(read(out[at]), read(want)) << o << " " << k << " " << i;
        }
      }
  }
}

TEST(Scan, Sums) {
  auto add = [](auto s, auto a, auto, bool) { return s + a; };
  check<int8_t, uint8_t>(mxrt_cumsum, add, 0);
  check<uint8_t, uint8_t>(mxrt_cumsum, add, 0);
  check<int32_t, uint32_t>(mxrt_cumsum, add, 0);
  check<int64_t, uint64_t>(mxrt_cumsum, add, 0);
  check<F16, float>(mxrt_cumsum, add, 0);
  check<Bf16, float>(mxrt_cumsum, add, 0);
  check<float, double>(mxrt_cumsum, add, 0);
  check<double, double>(mxrt_cumsum, add, 0);
}

TEST(Scan, Products) {
  auto multiply = [](auto s, auto a, auto, bool) { return s * a; };
  check<int32_t, uint32_t>(mxrt_cumprod, multiply, 1);
  check<int64_t, uint64_t>(mxrt_cumprod, multiply, 1);
  check<float, double>(mxrt_cumprod, multiply, 1);
  check<double, double>(mxrt_cumprod, multiply, 1);
}

TEST(Scan, Recurrences) {
  Machine machine(1);
  const double a[] = {HUGE_VAL, 2, -1, 0, 3}, b[] = {1, 2, 3, 4, 5};
  double out[5];
  const int64_t sizes[] = {1, 5, 1};
  const void *inputs[] = {a, b};
  ASSERT_EQ(call(mxrt_recurrence, machine.context, MXRT_F64, sizes, inputs, out), nullptr);
  EXPECT_EQ(std::vector<double>(out, out + 5), (std::vector<double>{1, 4, -1, 4, 17}));
  EXPECT_EQ(codeOf(call(mxrt_recurrence, machine.context, MXRT_I32, sizes, inputs, out)),
            MXRT_DTYPE);
  EXPECT_EQ(codeOf(call(mxrt_cumsum, machine.context, MXRT_BOOL, sizes, inputs, out)), MXRT_DTYPE);
}

} // namespace
