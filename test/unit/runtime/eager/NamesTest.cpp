// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eager/OpNames.h"
#include "eager/Scalars.h"

#include "gtest/gtest.h"

#include <cmath>
#include <string>

namespace mxrt::eager {
namespace {

std::string wrongWith(std::string_view name) {
  Operation op(mxrt_system_allocator());
  Status status = parseOpName(mxrt_system_allocator(), name, op);
  if (status.ok())
    return "";
  EXPECT_EQ(status.code(), MXRT_HOST_BYTECODE);
  std::string text = status.message();
  return text.substr(text.rfind("': ") + 3);
}

TEST(OpNames, Good) {
  for (const char *name : {"add:f32",
                           "not",
                           "not:bool",
                           "cast:f32:f16",
                           "sum:f32(axes=0/2,keep=1)",
                           "sum:f32(axes=all)",
                           "sum:f32(axes=)",
                           "matmul:bf16@cpu:1",
                           "transpose(order=1/0/2)",
                           "transpose(order=)",
                           "concat(axis=1)@cpu:3",
                           "literal:i32(shape=2/3)",
                           "to(device=cpu:1)",
                           "index(i/:/rfts/n/t)",
                           "index()",
                           "index",
                           "update(rf/rs)",
                           "iota",
                           "iota:i64",
                           "bernoulli",
                           "randint:i64",
                           "categorical:f32",
                           "wait",
                           "copy"})
    EXPECT_EQ(wrongWith(name), "") << name;
}

TEST(OpNames, Bad) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "there is no such operation"},
      {"plus:f32", "there is no such operation"},
      {"add", "the element type is missing"},
      {"add:f33", "it does not take this element type"},
      {"add:bool", "it does not take this element type"},
      {"exp:i32", "it does not take this element type"},
      {"reshape:f32", "it does not take this element type"},
      {"randint:i8", "it does not take this element type"},
      {"categorical:f64", "it does not take this element type"},
      {"add:f32:f32", "too many element types"},
      {"cast:f32", "the element type is missing"},
      {"add:f32(axes=1)", "it takes no attributes"},
      {"sum:f32", "an attribute is missing"},
      {"sum:f32()", "an attribute is missing"},
      {"sum:f32(axes=0/0)", "an attribute has a wrong value"},
      {"sum:f32(axes=16)", "an attribute has a wrong value"},
      {"sum:f32(axes=-1)", "an attribute has a wrong value"},
      {"sum:f32(axes=0,keep=2)", "an attribute has a wrong value"},
      {"sum:f32(axes=0,wide=2)", "an attribute that it does not have"},
      {"sum:f32(axes=0", "')' is missing"},
      {"transpose(order=0/)", "an attribute has a wrong value"},
      {"concat(axis=x)", "an attribute has a wrong value"},
      {"to(device=gpu:1)", "an attribute has a wrong value"},
      {"add:f32@gpu:0", "`@` must be followed by a device"},
      {"add:f32@cpu:", "`@` must be followed by a device"},
      {"add:f32!", "it does not take this element type"},
      {"index(i//i)", "an item is empty"},
      {"index(i/)", "an item is empty"},
      {"index(x)", "an item is none of i : r n t l"},
      {"index(rsf)", "an item has letters that mean nothing"},
      {"index(t/t)", "more than one item is a tensor"},
  };
  for (auto [name, wrong] : cases)
    EXPECT_EQ(wrongWith(name), wrong) << name;
  EXPECT_EQ(wrongWith("index(" + std::string(1100, 'i') + ")"), "it is too long");
}

TEST(Scalars, HalvesRoundToNearestEven) {
  EXPECT_EQ(floatToF16(1), 0x3c00);
  EXPECT_EQ(floatToF16(-2), 0xc000);
  EXPECT_EQ(floatToF16(65519), 0x7bff);
  EXPECT_EQ(floatToF16(65520), 0x7c00);
  EXPECT_EQ(floatToF16(1 + 1.0 / 2048), 0x3c00); // a tie
  EXPECT_EQ(floatToF16(1 + 3.0 / 2048), 0x3c02);
  EXPECT_EQ(floatToF16(std::ldexp(1, -24)), 1);
  EXPECT_EQ(floatToF16(std::ldexp(1, -25)), 0);
  EXPECT_EQ(floatToF16(std::ldexp(1.5, -25)), 1);
  EXPECT_EQ(floatToBf16(1), 0x3f80);
  EXPECT_EQ(floatToBf16(1 + 1.0 / 256), 0x3f80);
  EXPECT_EQ(floatToBf16(1 + 1.0 / 256 + 1e-12), 0x3f81); // not rounded twice
  EXPECT_EQ(floatToBf16(1e300), 0x7f80);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float f = f16ToFloat(uint16_t(bits)), b = bf16ToFloat(uint16_t(bits));
    if (!std::isnan(f)) {
      ASSERT_EQ(floatToF16(double(f)), bits);
    }
    if (!std::isnan(b)) {
      ASSERT_EQ(floatToBf16(double(b)), bits);
    }
  }
}

} // namespace
} // namespace mxrt::eager
