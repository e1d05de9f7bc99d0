// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every elementwise op on every element type against the definition in C++.
#include "LoweringTestSupport.h"
#include <functional>

namespace mx::lowering {
namespace {

constexpr size_t kCounts[] = {0, 1, 3, 17, 1000};

template <class T, class R>
void check(const std::string &op, const std::vector<T> &x, const std::vector<T> &y,
           const std::vector<R> &got, const std::function<R(T, T)> &reference) {
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(same(got[i], reference(x[i], y[i])))
        << op << " " << ElementOf<T>::name << " of " << show(x[i]) << ", " << show(y[i]) << " gave "
        << show(got[i]) << ", not " << show(reference(x[i], y[i]));
}

/// Both operands dense, one strided, one a number.
template <class T, class R>
void binary(const std::string &op, const std::function<R(T, T)> &reference,
            const std::function<bool(T, T)> &defined = {}) {
  std::string t = ElementOf<T>::name, r = ElementOf<R>::name;
  Kernel dense = compiler().fromKey(op + " " + t + ":1c," + t + ":1c -> " + r + ":1c");
  Kernel mixed = compiler().fromKey(op + " " + t + ":1s," + t + ":0 -> " + r + ":1c");
  ASSERT_TRUE(dense && mixed);
  for (size_t n : kCounts) {
    std::vector<T> x = values<T>(n, 0), y = values<T>(n, 1, 2);
    for (size_t i = 0; i < n; ++i)
      if (defined && !defined(x[i], y[i]))
        y[i] = T(1);
    std::vector<R> got(n);
    Outcome outcome = dense({address(x), address(y), address(got)}, {static_cast<int64_t>(n)});
    ASSERT_EQ(outcome.code, 0) << op << " " << t << ": " << outcome.message;
    check<T, R>(op, x, y, got, reference);

    for (int64_t stride : {2, -1}) {
      Strided<T> laid(x, stride);
      std::vector<T> number{n ? y[n / 2] : T(1)};
      std::vector<T> all(n, number[0]);
      bool ok = true;
      for (size_t i = 0; i < n; ++i)
        ok &= !defined || defined(x[i], number[0]);
      if (!ok)
        continue;
      outcome = mixed({laid.at0, address(number), address(got)}, {static_cast<int64_t>(n), stride});
      ASSERT_EQ(outcome.code, 0) << op << " " << t << ": " << outcome.message;
      check<T, R>(op, x, all, got, reference);
    }
  }
}
template <class T, class R>
void unary(const std::string &op, const std::function<R(T)> &reference) {
  std::string t = ElementOf<T>::name, r = ElementOf<R>::name;
  Kernel dense = compiler().fromKey(op + " " + t + ":1c -> " + r + ":1c");
  ASSERT_TRUE(dense);
  for (size_t n : kCounts) {
    std::vector<T> x = values<T>(n);
    std::vector<R> got(n);
    Outcome outcome = dense({address(x), address(got)}, {static_cast<int64_t>(n)});
    ASSERT_EQ(outcome.code, 0) << outcome.message;
    check<T, R>(op, x, x, got, [&](T a, T) { return reference(a); });
  }
}

/// As in Python: rounded down, and the rest has the sign of y.
template <class W> W floorDiv(W x, W y) {
  if constexpr (std::is_floating_point_v<W>) {
    W rest = std::fmod(x, y);
    if (y == 0)
      return x / y;
    W part = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0))
      part -= 1;
    if (part == 0)
      return std::copysign(W(0), x / y);
    W whole = std::floor(part);
    return part - whole > W(0.5) ? whole + 1 : whole;
  } else if constexpr (std::is_unsigned_v<W>) {
    return x / y;
  } else {
    if (y == -1)
      return static_cast<W>(0 - static_cast<uint64_t>(x));
    return static_cast<W>(x / y - (x % y != 0 && (x < 0) != (y < 0)));
  }
}
template <class W> W floorMod(W x, W y) {
  if constexpr (std::is_floating_point_v<W>) {
    W rest = std::fmod(x, y);
    if (rest == 0)
      return std::copysign(W(0), y);
    return (y < 0) != (rest < 0) ? rest + y : rest;
  } else if constexpr (std::is_unsigned_v<W>) {
    return x % y;
  } else {
    if (y == -1)
      return 0;
    W rest = static_cast<W>(x % y);
    return static_cast<W>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
  }
}
template <class W> W largest(W x, W y) {
  if constexpr (std::is_floating_point_v<W>) {
    if (std::isnan(x) || std::isnan(y))
      return std::numeric_limits<W>::quiet_NaN();
    if (x == 0 && y == 0)
      return std::signbit(x) ? y : x;
  }
  return x > y ? x : y;
}
template <class W> W smallest(W x, W y) {
  if constexpr (std::is_floating_point_v<W>) {
    if (std::isnan(x) || std::isnan(y))
      return std::numeric_limits<W>::quiet_NaN();
    if (x == 0 && y == 0)
      return std::signbit(x) ? x : y;
  }
  return x < y ? x : y;
}

template <class T> struct NumberOps : testing::Test {};
using Numbers = testing::Types<int8_t, uint8_t, int32_t, int64_t, F16, BF16, float, double>;
TYPED_TEST_SUITE(NumberOps, Numbers);

TYPED_TEST(NumberOps, Arithmetic) {
  using T = TypeParam;
  using W = Wide<T>;
  auto u = [](W x) {
    if constexpr (std::is_floating_point_v<W>)
      return x;
    else
      return static_cast<uint64_t>(x);
  };
  binary<T, T>("add", [&](T x, T y) { return T(u(widen(x)) + u(widen(y))); });
  binary<T, T>("sub", [&](T x, T y) { return T(u(widen(x)) - u(widen(y))); });
  binary<T, T>("mul", [&](T x, T y) { return T(u(widen(x)) * u(widen(y))); });
  auto notZero = [](T, T y) { return isFloat<T> || widen(y) != 0; };
  binary<T, T>(
      "floordiv", [](T x, T y) { return T(floorDiv<W>(widen(x), widen(y))); }, notZero);
  binary<T, T>(
      "mod", [](T x, T y) { return T(floorMod<W>(widen(x), widen(y))); }, notZero);
  if constexpr (isFloat<T>)
    binary<T, T>("div", [](T x, T y) { return T(widen(x) / widen(y)); });
  else
    binary<T, float>(
        "div", [](T x, T y) { return static_cast<float>(x) / static_cast<float>(y); }, notZero);
  binary<T, T>("maximum", [](T x, T y) { return T(largest<W>(widen(x), widen(y))); });
  binary<T, T>("minimum", [](T x, T y) { return T(smallest<W>(widen(x), widen(y))); });
  unary<T, T>("neg", [](T x) {
    if constexpr (isFloat<T>)
      return T(-widen(x));
    else
      return T(0 - static_cast<uint64_t>(x));
  });
  unary<T, T>("abs", [](T x) {
    if constexpr (isFloat<T>)
      return T(std::fabs(widen(x)));
    else
      return T(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
  });
  unary<T, T>("sign", [](T x) {
    W w = widen(x);
    return w != w ? x : T(W(w > 0) - W(w < 0));
  });
}

TYPED_TEST(NumberOps, Comparisons) {
  using T = TypeParam;
  binary<T, Bool>("eq", [](T x, T y) { return widen(x) == widen(y); });
  binary<T, Bool>("ne", [](T x, T y) { return widen(x) != widen(y); });
  binary<T, Bool>("lt", [](T x, T y) { return widen(x) < widen(y); });
  binary<T, Bool>("le", [](T x, T y) { return widen(x) <= widen(y); });
  binary<T, Bool>("gt", [](T x, T y) { return widen(x) > widen(y); });
  binary<T, Bool>("ge", [](T x, T y) { return widen(x) >= widen(y); });
}

template <class T> struct FloatOps : testing::Test {};
using Floats = testing::Types<F16, BF16, float, double>;
TYPED_TEST_SUITE(FloatOps, Floats);

TYPED_TEST(FloatOps, Rounding) {
  using T = TypeParam;
  unary<T, T>("floor", [](T x) { return T(std::floor(widen(x))); });
  unary<T, T>("ceil", [](T x) { return T(std::ceil(widen(x))); });
  unary<T, T>("round", [](T x) { return T(std::nearbyint(widen(x))); });
  unary<T, T>("sqrt", [](T x) { return T(std::sqrt(widen(x))); });
  unary<T, T>("rsqrt", [](T x) { return T(1 / std::sqrt(widen(x))); });
  unary<T, Bool>("isnan", [](T x) { return std::isnan(widen(x)); });
  unary<T, Bool>("isfinite", [](T x) { return std::isfinite(widen(x)); });
}

template <class T> struct IntegerOps : testing::Test {};
using Integers = testing::Types<int8_t, uint8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(IntegerOps, Integers);

TYPED_TEST(IntegerOps, Bits) {
  using T = TypeParam;
  unsigned width = sizeof(T) * 8;
  auto beyond = [width](T y) { return static_cast<std::make_unsigned_t<T>>(y) >= width; };
  binary<T, T>("bit_and", [](T x, T y) { return T(x & y); });
  binary<T, T>("bit_or", [](T x, T y) { return T(x | y); });
  binary<T, T>("bit_xor", [](T x, T y) { return T(x ^ y); });
  unary<T, T>("bit_not", [](T x) { return T(~x); });
  binary<T, T>("shift_left",
               [&](T x, T y) { return beyond(y) ? T(0) : T(static_cast<uint64_t>(x) << y); });
  binary<T, T>("shift_right", [&](T x, T y) { return beyond(y) ? T(x < 0 ? -1 : 0) : T(x >> y); });
  binary<T, T>(
      "pow",
      [](T x, T y) {
        uint64_t product = 1;
        for (uint64_t i = 0; i < static_cast<uint64_t>(y) % 1000; ++i)
          product *= static_cast<uint64_t>(x);
        return T(product);
      },
      [](T, T y) { return y >= 0 && static_cast<uint64_t>(y) < 1000; });
}

TYPED_TEST(IntegerOps, DivisionByZero) {
  using T = TypeParam;
  std::string t = ElementOf<T>::name;
  for (std::string op : {"floordiv", "mod", "div"}) {
    std::string key = op + " " + t + ":1c," + t + ":1c -> " + (op == "div" ? "f32" : t) + ":1c";
    Kernel checked = compiler().fromKey(key);
    KernelOptions options;
    options.unchecked = true;
    Kernel unchecked = compiler().fromKey(key, options);
    for (size_t at : {0, 16, 99}) {
      std::vector<T> x(100, std::numeric_limits<T>::min()), y(100, T(3));
      y[at] = 0;
      std::vector<T> got(100, T(9));
      std::vector<float> quotient(100, 9);
      void *out = op == "div" ? address(quotient) : address(got);
      Outcome outcome = checked({address(x), address(y), out}, {100});
      EXPECT_EQ(outcome.code, 301) << key;
      EXPECT_EQ(outcome.message, "integer division by zero");
      EXPECT_EQ(unchecked({address(x), address(y), out}, {100}).code, 0);
      if (op == "div")
        EXPECT_EQ(quotient[at], 0);
      else
        EXPECT_EQ(got[at], 0);
    }
  }
}

TEST(Elementwise, NegativeIntegerPowerFails) {
  Kernel power = compiler().fromKey("pow i32:1c,i32:1c -> i32:1c");
  std::vector<int32_t> x{2, 2, 2}, y{1, -1, 0}, got(3);
  EXPECT_EQ(power({address(x), address(y), address(got)}, {3}).code, 2);
  y = {10, 31, 0};
  EXPECT_EQ(power({address(x), address(y), address(got)}, {3}).code, 0);
  EXPECT_EQ(got, (std::vector<int32_t>{1024, std::numeric_limits<int32_t>::min(), 1}));
}

TEST(Elementwise, Bools) {
  binary<Bool, Bool>("and", [](Bool x, Bool y) { return x && y; });
  binary<Bool, Bool>("or", [](Bool x, Bool y) { return x || y; });
  binary<Bool, Bool>("eq", [](Bool x, Bool y) { return bool(x) == bool(y); });
  binary<Bool, Bool>("ne", [](Bool x, Bool y) { return bool(x) != bool(y); });
  unary<Bool, Bool>("not", [](Bool x) { return !x; });
}

TEST(Elementwise, SelectTakesNumbersAndStrides) {
  Kernel select = compiler().fromKey("select bool:2c,f32:2s,f32:0 -> f32:2c");
  std::vector<Bool> c{true, false, true, false, true, true};
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y{-1}, got(6);
  // x transposed: [2, 3] with strides 1, 2.
  EXPECT_EQ(select({address(c), address(x), address(y), address(got)}, {2, 3, 1, 2}).code, 0);
  EXPECT_EQ(got, (std::vector<float>{1, -1, 5, -1, 4, 6}));
}

} // namespace
} // namespace mx::lowering
