// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions against a plain statement of their order, to the last bit.
#include "LoweringTestSupport.h"
#include <algorithm>
#include <functional>

namespace mx::lowering {
namespace {

/// The order that EmitReduce.cpp defines.
template <class A>
A reduceInOrder(const std::vector<A> &x, A start, const std::function<A(A, A)> &combine) {
  A part = start;
  for (size_t block = 0; block < x.size(); block += 2048) {
    size_t count = std::min<size_t>(2048, x.size() - block);
    std::vector<A> lanes(x.begin() + block, x.begin() + block + std::min<size_t>(64, count));
    for (size_t r = 64; r < count; ++r)
      lanes[r % 64] = combine(lanes[r % 64], x[block + r]);
    for (size_t half = 32; half; half /= 2)
      for (size_t l = 0; l + half < lanes.size() && l < half; ++l)
        lanes[l] = combine(lanes[l], lanes[l + half]);
    part = block % (64 * 2048) ? combine(part, lanes[0]) : lanes[0];
    if (block + count == x.size() || (block + count) % (64 * 2048) == 0)
      start = block < 64 * 2048 ? part : combine(start, part);
  }
  return start;
}

/// What sums and products are accumulated in.
template <class T> using Sum = std::conditional_t<isFloat<T>, Wide<T>, T>;

struct Sizes {
  int64_t a, r, b;
};
constexpr Sizes kSizes[] = {{2, 1000, 1}, {1, 5000, 3}, {3, 17, 40},   {4, 1, 1},
                            {1, 3, 33},   {2, 0, 3},    {0, 3, 1},     {1, 64, 1},
                            {2, 65, 2},   {1, 4097, 1}, {1, 140000, 1}};

template <class T, class R>
void reduction(const std::string &op, const std::function<R(const std::vector<T> &)> &reference,
               bool needsElements = false, const std::function<T(T)> &change = {}) {
  std::string key = op + " " + ElementOf<T>::name + ":3s -> " + ElementOf<R>::name + ":2c";
  Kernel strided = compiler().fromKey(key);
  std::string denseKey = op + " " + ElementOf<T>::name + ":3c -> " + ElementOf<R>::name + ":2c";
  Kernel dense = compiler().fromKey(denseKey);
  ASSERT_TRUE(strided && dense);
  for (auto [a, r, b] : kSizes) {
    std::vector<T> x = values<T>(static_cast<size_t>(a * r * b));
    if (change)
      std::transform(x.begin(), x.end(), x.begin(), change);
    std::vector<R> got(static_cast<size_t>(a * b)), again(got.size());
    Outcome outcome = dense({address(x), address(got)}, {a, r, b});
    if (r == 0 && a * b > 0 && needsElements) {
      EXPECT_EQ(outcome.code, 201);
      EXPECT_EQ(outcome.message, op + " of no elements has no value");
      continue;
    }
    ASSERT_EQ(outcome.code, 0) << outcome.message;
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j) {
        std::vector<T> column;
        for (int64_t k = 0; k < r; ++k)
          column.push_back(x[static_cast<size_t>((i * r + k) * b + j)]);
        R expected = reference(column), found = got[static_cast<size_t>(i * b + j)];
        ASSERT_TRUE(same(found, expected))
            << denseKey << " [" << a << ", " << r << ", " << b << "] at " << i << ", " << j
            << " gave " << show(found) << ", not " << show(expected);
      }
    // The same tensor with its axes in another order in memory: the same bits.
    std::vector<T> turned(x.size());
    for (int64_t i = 0; i < a; ++i)
      for (int64_t k = 0; k < r; ++k)
        for (int64_t j = 0; j < b; ++j)
          turned[static_cast<size_t>((j * a + i) * r + k)] =
              x[static_cast<size_t>((i * r + k) * b + j)];
    ASSERT_EQ(strided({address(turned), address(again)}, {a, r, b, r, 1, a * r}).code, 0);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(same(again[i], got[i])) << key;
  }
}

template <class T> struct Reduce : testing::Test {};
using Numbers = testing::Types<int8_t, uint8_t, int32_t, int64_t, F16, BF16, float, double>;
TYPED_TEST_SUITE(Reduce, Numbers);

template <class T> std::vector<Sum<T>> sums(const std::vector<T> &x) {
  std::vector<Sum<T>> out;
  for (T v : x)
    out.push_back(widen(v));
  return out;
}
/// Numbers that have sums: neither infinite nor NaN.
template <class T> T finite(T x) {
  if constexpr (isFloat<T>)
    return std::isfinite(static_cast<double>(x)) && std::fabs(static_cast<double>(x)) < 1e5
               ? x
               : T(2.5);
  return x;
}

TYPED_TEST(Reduce, SumAndProduct) {
  using T = TypeParam;
  using S = Sum<T>;
  auto sum = [](const std::vector<T> &x) {
    return T(reduceInOrder<S>(sums(x), S(0), [](S a, S b) -> S {
      if constexpr (isFloat<T>)
        return a + b;
      else
        return static_cast<S>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    }));
  };
  reduction<T, T>("sum", sum);
  reduction<T, T>("sum", sum, false, finite<T>);
  reduction<T, T>("prod", [](const std::vector<T> &x) {
    return T(reduceInOrder<S>(sums(x), S(1), [](S a, S b) -> S {
      if constexpr (isFloat<T>)
        return a * b;
      else
        return static_cast<S>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }));
  });
}

TYPED_TEST(Reduce, Extremes) {
  using T = TypeParam;
  auto isNan = [](T x) { return widen(x) != widen(x); };
  auto best = [&](const std::vector<T> &x, bool largest) {
    size_t at = 0;
    for (size_t i = 1; i < x.size(); ++i) {
      bool better = largest ? widen(x[i]) > widen(x[at]) : widen(x[i]) < widen(x[at]);
      if (!isNan(x[at]) && (isNan(x[i]) || better))
        at = i;
    }
    return at;
  };
  // Of 0 and -0, max and min take the one with the right sign.
  auto extreme = [&](const std::vector<T> &x, bool largest) {
    T value = x[best(x, largest)];
    if constexpr (isFloat<T>)
      if (widen(value) == 0)
        for (T v : x)
          if (widen(v) == 0 && std::signbit(widen(v)) != largest)
            value = v;
    return value;
  };
  for (auto change : {std::function<T(T)>(), std::function<T(T)>(finite<T>)}) {
    reduction<T, T>(
        "max", [&](const std::vector<T> &x) { return extreme(x, true); }, true, change);
    reduction<T, T>(
        "min", [&](const std::vector<T> &x) { return extreme(x, false); }, true, change);
    reduction<T, int32_t>(
        "argmax", [&](const std::vector<T> &x) { return static_cast<int32_t>(best(x, true)); },
        true, change);
    reduction<T, int32_t>(
        "argmin", [&](const std::vector<T> &x) { return static_cast<int32_t>(best(x, false)); },
        true, change);
  }
}

/// Wherever the one zero of the other sign is, or the NaN, of whatever sign.
TEST(Reduction, ExtremesOfZerosAndNan) {
  float zero = 0, infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (bool largest : {true, false}) {
    Kernel kernel = compiler().fromKey(std::string(largest ? "max" : "min") + " f32:3c -> f32:2c");
    ASSERT_TRUE(kernel);
    float other = largest ? zero : -zero, below = largest ? -infinity : infinity;
    for (size_t count : {1, 8, 31, 64, 100})
      for (size_t at = 0; at < count; ++at)
        for (float odd : {other, -other, nan, -nan, below}) {
          std::vector<float> x(count, -other), got(1, 1);
          x[at] = odd;
          x[count / 2] = at == count / 2 ? odd : below;
          ASSERT_EQ(kernel({address(x), address(got)}, {1, static_cast<int64_t>(count), 1}).code,
                    0);
          float expected = odd == below && count > 1 ? -other : odd;
          ASSERT_TRUE(same(got[0], expected))
              << count << " elements, at " << at << " " << show(odd) << ": " << show(got[0]);
        }
  }
}

TYPED_TEST(Reduce, AnyAndAll) {
  using T = TypeParam;
  auto isTrue = [](T x) { return widen(x) != 0; };
  reduction<T, Bool>(
      "any", [&](const std::vector<T> &x) { return std::any_of(x.begin(), x.end(), isTrue); });
  reduction<T, Bool>(
      "all", [&](const std::vector<T> &x) { return std::all_of(x.begin(), x.end(), isTrue); });
}

TEST(Reduction, OfBools) {
  auto isTrue = [](Bool x) { return bool(x); };
  reduction<Bool, Bool>(
      "any", [&](const std::vector<Bool> &x) { return std::any_of(x.begin(), x.end(), isTrue); });
  reduction<Bool, Bool>(
      "all", [&](const std::vector<Bool> &x) { return std::all_of(x.begin(), x.end(), isTrue); },
      false, [](Bool) { return Bool(true); });
}

TEST(Reduction, OfManySmallNumbersIsAccurate) {
  Kernel sum = compiler().fromKey("sum f32:3c -> f32:2c");
  std::vector<float> x(1 << 22, 0.1f), got(1);
  ASSERT_EQ(sum({address(x), address(got)}, {1, 1 << 22, 1}).code, 0);
  double exact = static_cast<double>(0.1f) * (1 << 22);
  EXPECT_LT(std::fabs(got[0] - exact) / exact, 1e-6);
}

/// y = sqrt(sum((x - w)^2)) + s, and the count of what is above 0, over two axes that are apart.
TEST(Reduction, WithOpsBeforeAndAfter) {
  Kernel kernel = compiler().fromText(R"(
mx.func @k(%x: !mx.tensor<f64[A, B, C]>, %w: !mx.tensor<f64[B, 1]>, %s: !mx.tensor<f64[]>) -> (!mx.tensor<f64[1, B, 1]>, !mx.tensor<i64[1, B, 1]>) attributes {sizes = ["A", "B", "C"]} {
  %k:2 = mx.kernel(%x, %w, %s) attributes {sizes = ["A", "B", "C"]} : (!mx.tensor<f64[A, B, C]>, !mx.tensor<f64[B, 1]>, !mx.tensor<f64[]>) -> (!mx.tensor<f64[1, B, 1]>, !mx.tensor<i64[1, B, 1]>) {
  ^bb0(%a: !mx.tensor<f64[A, B, C]>, %b: !mx.tensor<f64[B, 1]>, %c: !mx.tensor<f64[]>):
    %0 = mx.sub %a, %b : (!mx.tensor<f64[A, B, C]>, !mx.tensor<f64[B, 1]>) -> !mx.tensor<f64[A, B, C]>
    %1 = mx.mul %0, %0 : (!mx.tensor<f64[A, B, C]>, !mx.tensor<f64[A, B, C]>) -> !mx.tensor<f64[A, B, C]>
    %2 = mx.sum %1 over [0, 2] keep : !mx.tensor<f64[A, B, C]> -> !mx.tensor<f64[1, B, 1]>
    %3 = mx.sqrt %2 : (!mx.tensor<f64[1, B, 1]>) -> !mx.tensor<f64[1, B, 1]>
    %4 = mx.add %3, %c : (!mx.tensor<f64[1, B, 1]>, !mx.tensor<f64[]>) -> !mx.tensor<f64[1, B, 1]>
    %zero = mx.constant 0.0 : f64 -> !mx.tensor<f64[]>
    %5 = mx.gt %0, %zero : (!mx.tensor<f64[A, B, C]>, !mx.tensor<f64[]>) -> !mx.tensor<bool[A, B, C]>
    %6 = mx.cast %5 : (!mx.tensor<bool[A, B, C]>) -> !mx.tensor<i64[A, B, C]>
    %7 = mx.sum %6 over [0, 2] keep : !mx.tensor<i64[A, B, C]> -> !mx.tensor<i64[1, B, 1]>
    mx.yield %4, %7 : !mx.tensor<f64[1, B, 1]>, !mx.tensor<i64[1, B, 1]>
  }
  mx.return %k#0, %k#1 : !mx.tensor<f64[1, B, 1]>, !mx.tensor<i64[1, B, 1]>
})");
  ASSERT_TRUE(kernel);
  const size_t A = 5, B = 7, C = 100;
  std::vector<double> x = values<double>(A * B * C), w = values<double>(B, 0, 9), s{0.25};
  for (double &v : x)
    v = finite(v);
  w.assign(B, 0.5);
  std::vector<double> y(B);
  std::vector<int64_t> count(B);
  ASSERT_EQ(
      kernel({address(x), address(w), address(s), address(y), address(count)}, {A, B, C}).code, 0);
  for (size_t b = 0; b < B; ++b) {
    double total = 0;
    int64_t above = 0;
    for (size_t a = 0; a < A; ++a)
      for (size_t c = 0; c < C; ++c) {
        double d = x[(a * B + b) * C + c] - w[b];
        total += d * d;
        above += d > 0;
      }
    EXPECT_NEAR(y[b], std::sqrt(total) + 0.25, 1e-9 * std::sqrt(total));
    EXPECT_EQ(count[b], above);
  }
}

TEST(Reduction, OfNeighbouringAxesIsOneRun) {
  auto text = [](const char *strided) {
    return std::string(R"(
mx.func @k(%x: !mx.tensor<f32[A, B, C]>) -> !mx.tensor<f32[]> attributes {sizes = ["A", "B", "C"]} {
  %k = mx.kernel(%x) attributes {sizes = ["A", "B", "C"])") +
           strided + R"(} : (!mx.tensor<f32[A, B, C]>) -> !mx.tensor<f32[]> {
  ^bb0(%a: !mx.tensor<f32[A, B, C]>):
    %2 = mx.sum %a over [0, 1, 2] : !mx.tensor<f32[A, B, C]> -> !mx.tensor<f32[]>
    mx.yield %2 : !mx.tensor<f32[]>
  }
  mx.return %k : !mx.tensor<f32[]>
})";
  };
  Kernel all = compiler().fromText(text(""));
  Kernel strided = compiler().fromText(text(", strided = array<i1: true>"));
  Kernel row = compiler().fromKey("sum f32:3c -> f32:2c");
  std::vector<float> x = values<float>(6 * 70 * 11), got(1), flat(1), turned(1);
  for (float &v : x)
    v = finite(v);
  ASSERT_EQ(all({address(x), address(got)}, {6, 70, 11}).code, 0);
  ASSERT_EQ(row({address(x), address(flat)}, {1, 6 * 70 * 11, 1}).code, 0);
  ASSERT_EQ(strided({address(x), address(turned)}, {6, 70, 11, 770, 11, 1}).code, 0);
  EXPECT_EQ(got[0], flat[0]);
  EXPECT_EQ(got[0], turned[0]);
}

} // namespace
} // namespace mx::lowering
