// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is refused when it is issued, word for word; and late failures.

#include "EagerFixture.h"

namespace mxrt::eager {
namespace {

class EagerErrorTest : public EagerTest {};
MX_BOTH_ENGINES(EagerErrorTest);

TEST_P(EagerErrorTest, ShapesThatDoNotFit) {
  auto a = tensor(Array::iota(MXRT_F32, {2, 3})), b = tensor(Array::iota(MXRT_F32, {4}));
  auto mask = tensor({MXRT_BOOL, {3}, {1, 0, 1}});
  EXPECT_EQ(refusal("add:f32", {a, b}), "R0201 add: f32[2, 3] and f32[4] do not fit");
  EXPECT_EQ(refusal("select:f32", {mask, a, b}),
            "R0201 select: bool[3], f32[2, 3] and f32[4] do not fit");
  EXPECT_EQ(refusal("select:f32", {mask, num(1), b}),
            "R0201 select: bool[3] and f32[4] do not fit");
  EXPECT_EQ(refusal("add:f32", {tensor({MXRT_F32, {0}, {}}), b}),
            "R0201 add: f32[0] and f32[4] do not fit");
}

TEST_P(EagerErrorTest, WrongOperands) {
  auto a = tensor(Array::iota(MXRT_F32, {2})), n = tensor(Array::iota(MXRT_I32, {2}));
  EXPECT_EQ(refusal("add:f32", {a, n}),
            "R0203 add: operand 1 is i32[2], but the element type is f32");
  EXPECT_EQ(refusal("add:f32", {a}), "R0803 add: 1 operands instead of 2");
  EXPECT_EQ(refusal("add:f32", {a, host::Value::unit()}),
            "R0803 add: operand 1 is unit, not a tensor or a number");
  EXPECT_EQ(refusal("add:i32", {n, num(1e20)}), "R0002 add: operand 1 does not fit i32");
  EXPECT_EQ(refusal("select:f32", {a, a, a}),
            "R0203 select: operand 0 is f32[2], but the element type is bool");
  EXPECT_EQ(refusal("sum:f32(axes=all)", {num(1)}), "R0803 sum: operand 0 is i64, not a tensor");
}

TEST_P(EagerErrorTest, MemoryIsNamedByShape) {
  std::string text = refusal("full:f32", {num(1), num(int64_t(1) << 45)});
  EXPECT_EQ(text.substr(0, 5), "R0101") << text;
  EXPECT_NE(text.find("f32[35184372088832]"), text.npos) << text;
}

TEST_P(EagerErrorTest, LateFailuresKeepTheirLocation) {
  auto x = tensor(Array::iota(MXRT_F32, {3}));
  auto bad = op("index(t)", {x, tensor({MXRT_I32, {1}, {7}})}); // found by the kernel
  auto after = op("mul:f32", {op("add:f32", {bad, num(1)}), num(2)});
  mxrt_location location = {"notice.mx", 9, 1};
  Status status(mxrt_tensor_wait(runtime, raw(after), &location));
  EXPECT_EQ(status.code(), MXRT_INDEX);
  EXPECT_STREQ(status.location().file, "test.mx");
  EXPECT_EQ(status.location().line, 3);
  EXPECT_EQ(status.noticedLocation().line, 9);
  EXPECT_EQ(show(after).substr(0, 6), "! take");
  EXPECT_EQ(read(op("add:f32", {x, num(1)})).values[0], 1); // others go on
}

} // namespace
} // namespace mxrt::eager
