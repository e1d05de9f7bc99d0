// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between all pairs of element types.
#include "LoweringTestSupport.h"

namespace mx::lowering {
namespace {

template <class To, class From> To convert(From x) {
  auto w = widen(x);
  if constexpr (std::is_same_v<To, Bool>) {
    return w != 0;
  } else if constexpr (isFloat<To>) {
    if constexpr (std::is_same_v<To, float>)
      return static_cast<float>(w);
    return To(static_cast<double>(w));
  } else if constexpr (isFloat<From>) {
    double d = std::trunc(static_cast<double>(w));
    if (std::isnan(d))
      return 0;
    using Limits = std::numeric_limits<To>;
    if (d <= static_cast<double>(Limits::min()))
      return Limits::min();
    if (d >= static_cast<double>(Limits::max()))
      return Limits::max();
    return static_cast<To>(d);
  } else {
    return static_cast<To>(w);
  }
}

template <class From, class To> void checkPair() {
  std::string key =
      std::string("cast ") + ElementOf<From>::name + ":1c -> " + ElementOf<To>::name + ":1c";
  Kernel cast = compiler().fromKey(key);
  ASSERT_TRUE(cast);
  for (size_t n : {0, 1, 3, 17, 1000}) {
    std::vector<From> x = values<From>(n);
    std::vector<To> got(n);
    ASSERT_EQ(cast({address(x), address(got)}, {static_cast<int64_t>(n)}).code, 0);
    for (size_t i = 0; i < n; ++i)
      ASSERT_TRUE(same(got[i], (convert<To, From>(x[i]))))
          << key << " of " << show(x[i]) << " gave " << show(got[i]) << ", not "
          << show(convert<To, From>(x[i]));
  }
}
template <class From> void checkFrom() {
  checkPair<From, Bool>();
  checkPair<From, int8_t>();
  checkPair<From, uint8_t>();
  checkPair<From, int32_t>();
  checkPair<From, int64_t>();
  checkPair<From, F16>();
  checkPair<From, BF16>();
  checkPair<From, float>();
  checkPair<From, double>();
}

TEST(Cast, FromBool) { checkFrom<Bool>(); }
TEST(Cast, FromBytes) {
  checkFrom<int8_t>();
  checkFrom<uint8_t>();
}
TEST(Cast, FromIntegers) {
  checkFrom<int32_t>();
  checkFrom<int64_t>();
}
TEST(Cast, FromSmallFloats) {
  checkFrom<F16>();
  checkFrom<BF16>();
}
TEST(Cast, FromFloats) {
  checkFrom<float>();
  checkFrom<double>();
}

/// Every float of 16 bits there and back.
template <class T> void checkAll() {
  std::string t = ElementOf<T>::name;
  Kernel wider = compiler().fromKey("cast " + t + ":1c -> f32:1c");
  Kernel narrower = compiler().fromKey("cast f32:1c -> " + t + ":1c");
  std::vector<T> x(65536), back(65536);
  for (size_t i = 0; i < x.size(); ++i)
    x[i].bits = static_cast<uint16_t>(i);
  std::vector<float> wide(65536);
  ASSERT_EQ(wider({address(x), address(wide)}, {65536}).code, 0);
  ASSERT_EQ(narrower({address(wide), address(back)}, {65536}).code, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(same(wide[i], static_cast<float>(static_cast<double>(x[i])))) << i;
    ASSERT_TRUE(same(back[i], x[i])) << i;
  }
  // Halfway between two, and just beside it.
  std::vector<float> between;
  for (size_t i = 0; i + 1 < 0x7c00; ++i) {
    auto low = static_cast<double>(x[i]), high = static_cast<double>(x[i + 1]);
    auto middle = static_cast<float>((low + high) / 2);
    for (float f : {middle, std::nextafter(middle, 1e30f), std::nextafter(middle, -1e30f)})
      between.push_back(i % 2 ? -f : f);
  }
  std::vector<T> got(between.size());
  ASSERT_EQ(narrower({address(between), address(got)}, {static_cast<int64_t>(got.size())}).code, 0);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(same(got[i], T(static_cast<double>(between[i])))) << show(between[i]);
}
TEST(Cast, AllSmallFloats) {
  checkAll<F16>();
  checkAll<BF16>();
}

} // namespace
} // namespace mx::lowering
