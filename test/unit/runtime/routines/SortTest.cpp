// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoutineFixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mxrt;

namespace {

double number(F16 x) { return x.wide(); }
double number(Bf16 x) { return x.wide(); }
template <typename T> T number(T x) { return x; }

/// Few enough different values that many are equal; floats have both zeros, infinities and NaN.
template <typename T> std::vector<T> someValues(int64_t count, int range) {
  std::mt19937 random(uint32_t(count) + 5);
  std::vector<T> out(static_cast<size_t>(count));
  for (T &x : out) {
    int value = int(random() % uint32_t(range)) - range / 2;
    if constexpr (std::is_integral_v<T>) {
      x = T(value);
    } else {
      float f = float(value) / 4;
      switch (random() % 16) {
      case 0:
        f = NAN;
        break;
      case 1:
        f = HUGE_VALF;
        break;
      case 2:
        f = -HUGE_VALF;
        break;
      case 3:
        f = -0.0f;
        break;
      default:
        break;
      }
      if constexpr (std::is_floating_point_v<T>)
        x = f;
      else
        x = T::of(f);
    }
  }
  return out;
}

/// Sorts, or with `down` takes the `wanted` largest.
template <typename T>
void check(int64_t outer, int64_t n, int64_t inner, int range, bool down, int64_t wanted = -1) {
  wanted = wanted < 0 ? n : wanted;
  Machine machine(3);
  std::vector<T> x = someValues<T>(outer * n * inner, range);
  std::vector<int32_t> locations(size_t(outer * wanted * inner), -1);
  const int64_t sizes[] = {outer, n, inner, wanted};
  const void *inputs[] = {x.data()};
  ASSERT_EQ(call(down ? mxrt_argsort_top : mxrt_argsort, machine.context, typeOf<T>(), sizes,
                 inputs, locations.data()),
            nullptr);
  auto less = [&](T a, T b) {
    auto p = number(a), q = number(b);
    if (p != p || q != q) // NaN is the largest
      return p == p && q != q;
    return p < q;
  };
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      auto at = [&](int64_t k) { return size_t((o * n + k) * inner + i); };
      std::vector<int32_t> want(static_cast<size_t>(n));
      std::iota(want.begin(), want.end(), 0);
      // Equal ones in their order.
      std::sort(want.begin(), want.end(), [&](int32_t a, int32_t b) {
        T p = x[at(down ? b : a)], q = x[at(down ? a : b)];
        return less(p, q) || (!less(q, p) && a < b);
      });
      for (int64_t k = 0; k < wanted; ++k)
        ASSERT_EQ(locations[size_t((o * wanted + k) * inner + i)], want[size_t(k)])
            << "row " << o << ", " << i << ", location " << k;
    }
}

template <typename T> void checkSizes() {
  for (bool down : {false, true})
    for (int range : {7, 250, 100000}) {
      check<T>(1, 1, 1, range, down);
      check<T>(3, 5, 4, range, down);
      check<T>(2, 48, 3, range, down); // insertion
      check<T>(2, 49, 3, range, down); // digits of 8 bits
      check<T>(1, 4095, 2, range, down);
      check<T>(1, 70001, 1, range, down); // digits of 11 bits
    }
}

TEST(Sort, OfEveryType) {
  checkSizes<uint8_t>();
  checkSizes<int8_t>();
  checkSizes<int32_t>();
  checkSizes<int64_t>();
  checkSizes<F16>();
  checkSizes<Bf16>();
  checkSizes<float>();
  checkSizes<double>();
}

/// Few of many: candidates are collected, some of them many times over.
template <typename T> void checkTop() {
  for (int range : {7, 250, 100000})
    for (int64_t wanted : {0, 1, 5, 63, 64, 65, 512, 1000}) {
      check<T>(2, 1000, 3, range, /*down=*/true, wanted);
      check<T>(1, 20011, 1, range, /*down=*/true, wanted);
    }
}

TEST(Sort, TopOfEveryType) {
  checkTop<uint8_t>();
  checkTop<int8_t>();
  checkTop<int32_t>();
  checkTop<int64_t>();
  checkTop<F16>();
  checkTop<Bf16>();
  checkTop<float>();
  checkTop<double>();
}

/// Ascending input: each element is a new candidate.
TEST(Sort, TopOfAscending) {
  Machine machine(2);
  std::vector<float> x(100000);
  std::iota(x.begin(), x.end(), 0.0f);
  std::vector<int32_t> top(3);
  const int64_t sizes[] = {1, int64_t(x.size()), 1, 3};
  const void *inputs[] = {x.data()};
  ASSERT_EQ(call(mxrt_argsort_top, machine.context, MXRT_F32, sizes, inputs, top.data()), nullptr);
  EXPECT_EQ(top, (std::vector<int32_t>{99999, 99998, 99997}));
}

TEST(Sort, OfNothing) {
  Machine machine(1);
  const void *inputs[] = {nullptr};
  for (auto [a, b, c] : {std::array<int64_t, 3>{0, 5, 1}, {4, 0, 2}, {1, 3, 0}}) {
    const int64_t sizes[] = {a, b, c};
    EXPECT_EQ(call(mxrt_argsort, machine.context, MXRT_F32, sizes, inputs, nullptr), nullptr);
  }
}

TEST(Sort, MoreThanIndicesCanCount) {
  Machine machine(1);
  const void *inputs[] = {nullptr};
  const int64_t sizes[] = {1, int64_t(1) << 31, 1};
  EXPECT_EQ(codeOf(mxrt_argsort(&machine.context, MXRT_I8, sizes, inputs, nullptr, nullptr)),
            MXRT_SHAPE);
}

} // namespace
