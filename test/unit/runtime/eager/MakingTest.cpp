// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes, copies, and tensors out of nothing.

#include "EagerFixture.h"

namespace mxrt::eager {
namespace {

class MakingTest : public EagerTest {};
MX_BOTH_ENGINES(MakingTest);

TEST_P(MakingTest, Full) {
  EXPECT_EQ(read(op("full:f32", {num(2.5), num(2), num(2)})),
            (Array{MXRT_F32, {2, 2}, {2.5, 2.5, 2.5, 2.5}}));
  EXPECT_EQ(read(op("full:i32", {num(7)})), (Array{MXRT_I32, {}, {7}}));
  EXPECT_EQ(read(op("full:u8", {num(-1), num(1)})), (Array{MXRT_U8, {1}, {255}}));
  EXPECT_EQ(read(op("full:bool", {host::Value::boolean(true), num(2)})).values[1], 1);
  EXPECT_EQ(read(op("full:f64", {host::Value::f64(0.1), num(1)})).values[0], 0.1);
  EXPECT_EQ(read(op("full:f16", {num(1.5), num(0)})), (Array{MXRT_F16, {0}, {}}));
  EXPECT_EQ(read(op("full:f32", {tensor({MXRT_F32, {}, {3}}), num(3)})),
            (Array{MXRT_F32, {3}, {3, 3, 3}}));
  EXPECT_EQ(refusal("full:f32", {num(1), num(-1)}),
            "R0201 full: size -1 of dimension 0 is negative");
  EXPECT_EQ(
      refusal("full:f32", {num(1), num(int64_t(1) << 62), num(int64_t(1) << 62)}).substr(0, 11),
      "R0103 full:");
  EXPECT_EQ(refusal("full:i32", {num(1e30), num(1)}), "R0002 full: operand 0 does not fit i32");
  EXPECT_EQ(refusal("full:f32", {tensor({MXRT_F32, {1}, {3}}), num(3)}),
            "R0201 full: f32[1] is not a single value");
}

TEST_P(MakingTest, Iota) {
  EXPECT_EQ(read(op("iota", {num(4)})), (Array{MXRT_I32, {4}, {0, 1, 2, 3}}));
  EXPECT_EQ(read(op("iota:f32", {num(2)})).type, MXRT_F32);
  EXPECT_EQ(read(op("iota:i32", {num(0)})).shape, Shape{0});
  EXPECT_EQ(kernels.asked, (std::vector<std::string>{"iota -> i32:1c", "iota -> f32:1c"}));
  EXPECT_EQ(refusal("iota", {num(-2)}), "R0201 iota: size -2 of dimension 0 is negative");
}

TEST_P(MakingTest, Literals) {
  EXPECT_EQ(read(op("literal:f32(shape=2/2)", {num(1.5), num(2), num(3), host::Value::f64(0.5)})),
            (Array{MXRT_F32, {2, 2}, {1.5, 2, 3, 0.5}}));
  EXPECT_EQ(read(op("literal:bool(shape=1)", {host::Value::boolean(true)})).values[0], 1);
  EXPECT_EQ(read(op("literal:f32(shape=)", {num(4)})), (Array{MXRT_F32, {}, {4}}));
  EXPECT_EQ(read(op("literal:f32(shape=0/3)", {})), (Array{MXRT_F32, {0, 3}, {}}));
  EXPECT_EQ(refusal("literal:f32(shape=2)", {num(1)}), "R0201 literal: 1 numbers for f32[2]");
  EXPECT_EQ(refusal("literal:f32(shape=1)", {tensor(Array::iota(MXRT_F32, {}))}),
            "R0803 literal: operand 0 is tensor, not a tensor or a number");
}

TEST_P(MakingTest, ReshapeSharesOrCopies) {
  Array x = Array::iota(MXRT_F32, {2, 6});
  auto value = tensor(x);
  auto view = op("reshape", {value, num(3), num(4)});
  EXPECT_EQ(mxrt_tensor_buffer(raw(view)), mxrt_tensor_buffer(raw(value)));
  EXPECT_EQ(read(view), Array::iota(MXRT_F32, {3, 4}));
  auto turned = op("transpose(order=1/0)", {value});
  auto copied = op("reshape", {turned, num(12)});
  EXPECT_NE(mxrt_tensor_buffer(raw(copied)), mxrt_tensor_buffer(raw(value)));
  EXPECT_EQ(read(copied).values, x.transposed({1, 0}).values);
  EXPECT_EQ(refusal("reshape", {value, num(5)}),
            "R0201 reshape: f32[2, 6] has 12 elements and cannot become f32[5] with 5");
  EXPECT_EQ(refusal("reshape", {num(1), num(5)}), "R0803 reshape: operand 0 is i64, not a tensor");
}

TEST_P(MakingTest, BroadcastAndTranspose) {
  Array x = Array::iota(MXRT_F32, {3, 1});
  auto value = tensor(x);
  EXPECT_EQ(read(op("broadcast", {value, num(2), num(3), num(4)})), x.broadcast({2, 3, 4}));
  EXPECT_EQ(refusal("broadcast", {value, num(4), num(4)}),
            "R0201 broadcast: f32[3, 1] cannot be broadcast to f32[4, 4]");
  EXPECT_EQ(read(op("transpose(order=1/0)", {value})), x.transposed({1, 0}));
  EXPECT_EQ(refusal("transpose(order=0)", {value}),
            "R0201 transpose: an order of 1 axes for f32[3, 1]");
  EXPECT_EQ(refusal("transpose(order=0/0)", {value}),
            "R0204 transpose: axis 0 in a permutation of f32[3, 1] is out of range or there twice");
  EXPECT_EQ(refusal("transpose(order=0/9)", {value}).substr(0, 16), "R0204 transpose:");
}

TEST_P(MakingTest, CopyIsDense) {
  std::mt19937 random(2);
  Array x = Array::random(MXRT_I8, {3, 4, 5}, random);
  auto copy = op("copy", {oddTensor(x, random)});
  EXPECT_TRUE(mxrt_tensor_is_dense(raw(copy)));
  EXPECT_EQ(read(copy), x);
}

TEST_P(MakingTest, Concat) {
  Array a = Array::iota(MXRT_F32, {2, 1}), b = Array::iota(MXRT_F32, {2, 2}, 10);
  EXPECT_EQ(read(op("concat(axis=1)", {tensor(a), tensor(b), tensor({MXRT_F32, {2, 0}, {}})})),
            (Array{MXRT_F32, {2, 3}, {0, 10, 11, 1, 12, 13}}));
  std::vector<host::Value> many;
  for (int i = 0; i < 300; ++i)
    many.push_back(tensor({MXRT_I32, {1}, {double(i)}}));
  EXPECT_EQ(read(op("concat(axis=0)", many)), Array::iota(MXRT_I32, {300}));
  auto x = tensor(a);
  EXPECT_EQ(read(op("concat(axis=0)", {x, x})).values, (std::vector<double>{0, 1, 0, 1}));
  EXPECT_EQ(refusal("concat(axis=0)", {x, tensor(b)}),
            "R0201 concat: f32[2, 1] and f32[2, 2] do not fit along axis 0");
  EXPECT_EQ(refusal("concat(axis=0)", {x, tensor(Array::iota(MXRT_I32, {2, 1}))}),
            "R0203 concat: f32[2, 1] and i32[2, 1] have different element types");
  EXPECT_EQ(refusal("concat(axis=2)", {x}), "R0201 concat: axis 2 of f32[2, 1], which has 2");
  EXPECT_EQ(refusal("concat(axis=0)", {}), "R0803 concat: no operands");
}

TEST_P(MakingTest, ReadScalar) {
  host::Value out;
  auto reads = [&](const Array &array, host::Kind kind) {
    Status status = host->readScalar(tensor(array), kind, out);
    return status.ok() ? std::string() : std::string(status.message());
  };
  EXPECT_EQ(reads({MXRT_I32, {}, {-7}}, host::Kind::Int), "");
  EXPECT_EQ(out.i, -7);
  EXPECT_EQ(reads({MXRT_F16, {}, {0.5}}, host::Kind::F32), "");
  EXPECT_EQ(out.f, 0.5f);
  EXPECT_EQ(reads({MXRT_BOOL, {}, {1}}, host::Kind::Bool), "");
  EXPECT_EQ(out.i, 1);
  EXPECT_EQ(reads({MXRT_F64, {}, {2.75}}, host::Kind::Int), "");
  EXPECT_EQ(out.i, 2);
  EXPECT_EQ(reads({MXRT_F64, {}, {1e300}}, host::Kind::Int), "the value of f64[] does not fit i64");
  EXPECT_EQ(reads({MXRT_F32, {1}, {1}}, host::Kind::F32),
            "f32[1] is not a single value, as is needed here");
  EXPECT_EQ(reads({MXRT_F32, {}, {1}}, host::Kind::DType), "the value of f32[] does not fit dtype");
}

} // namespace
} // namespace mxrt::eager
