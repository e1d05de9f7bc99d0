// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distances of results from exact values, in units in the last place (ulp). `long double` counts as
// exact: it has 11 bits more than f64, and the C library's functions of it are accurate to about
// one ulp.
#pragma once
#include "LoweringTestSupport.h"

namespace mx::lowering {

/// How far `got` is from the exact value, in units of T's last place there.
template <class T> double ulps(T got, long double exact) {
  T nearest = static_cast<T>(exact);
  if (same(got, nearest))
    return 0;
  if (std::isnan(got) || std::isnan(exact))
    return std::isnan(got) && std::isnan(static_cast<double>(exact)) ? 0 : 1e9;
  if (std::isinf(got) || std::isinf(nearest))
    return got == nearest ? 0 : 1e9;
  if (got == 0 && nearest == 0) // of different signs
    return 1e9;
  int exponent = std::max(std::ilogb(nearest), std::numeric_limits<T>::min_exponent - 1);
  T unit = std::ldexp(T(1), exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - exact) / unit));
}

/// The largest distance, and the arguments that gave it.
template <class T> struct Worst {
  double distance = 0;
  T x = 0, y = 0;

  void note(double found, T atX, T atY = 0) {
    if (found > distance) {
      distance = found;
      x = atX;
      y = atY;
    }
  }
  void expect(const std::string &name, double limit) const {
    testing::Test::RecordProperty(name, std::to_string(distance));
    if (getenv("MX_SHOW_ULPS"))
      printf("%s: %.3f at %s, %s\n", name.c_str(), distance, show(x).c_str(), show(y).c_str());
    EXPECT_LE(distance, limit) << name << " of " << show(x) << ", " << show(y);
  }
};

} // namespace mx::lowering
