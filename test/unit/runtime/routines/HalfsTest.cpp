// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "base/Halfs.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mxrt;

namespace {

/// Every number of 16 bits comes back, and what lies between two goes to the nearer one, half way
/// to the even one.
template <typename Half> void checkAll(uint16_t infinity) {
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    Half low = {bits}, high = {uint16_t(bits + 1)};
    ASSERT_EQ(Half::of(low.wide()).bits, bits);
    ASSERT_EQ(Half::of(-low.wide()).bits, bits | 0x8000);
    if (high.bits == infinity)
      break;
    float middle = float((double(low.wide()) + double(high.wide())) / 2);
    ASSERT_EQ(Half::of(middle).bits, bits % 2 == 0 ? low.bits : high.bits) << bits;
    ASSERT_EQ(Half::of(std::nextafter(middle, 0.0f)).bits, low.bits) << bits;
    ASSERT_EQ(Half::of(std::nextafter(middle, HUGE_VALF)).bits, high.bits) << bits;
  }
  EXPECT_EQ(Half::of(HUGE_VALF).bits, infinity);
  EXPECT_EQ(Half::of(-HUGE_VALF).bits, infinity | 0x8000);
  EXPECT_TRUE(std::isnan(Half::of(NAN).wide()));
  EXPECT_TRUE(std::isinf(Half{infinity}.wide()));
}

TEST(Halfs, F16) { checkAll<F16>(0x7c00); }
TEST(Halfs, Bf16) { checkAll<Bf16>(0x7f80); }

} // namespace
