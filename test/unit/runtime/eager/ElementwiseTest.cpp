// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EagerFixture.h"

namespace mxrt::eager {
namespace {

class ElementwiseTest : public EagerTest {};
MX_BOTH_ENGINES(ElementwiseTest);

TEST_P(ElementwiseTest, DenseTensorsNeedOneKernel) {
  Array a = Array::iota(MXRT_F32, {2, 3}), b = Array::iota(MXRT_F32, {2, 3}, 10);
  EXPECT_EQ(read(op("add:f32", {tensor(a), tensor(b)})), mapped("add", MXRT_F32, MXRT_F32, {a, b}));
  Array flat = Array::iota(MXRT_F32, {7});
  EXPECT_EQ(read(op("add:f32", {tensor(flat), tensor(flat)})).values[3], 6);
  EXPECT_EQ(kernels.asked, std::vector<std::string>{"add f32:1c,f32:1c -> f32:1c"});
}

TEST_P(ElementwiseTest, HostNumbersTravelByValue) {
  Array a = Array::iota(MXRT_F32, {4});
  EXPECT_EQ(read(op("mul:f32", {tensor(a), num(0.5)})).values[3], 1.5);
  EXPECT_EQ(read(op("sub:f32", {num(1), tensor(a)})).values[3], -2);
  EXPECT_EQ(read(op("lt:f32", {tensor(a), host::Value::f64(2)})),
            (Array{MXRT_BOOL, {4}, {1, 1, 0, 0}}));
  EXPECT_EQ(read(op("select:f32", {host::Value::boolean(true), tensor(a), num(9)})), a);
  EXPECT_EQ(read(op("add:f32", {num(1.5), num(2)})), (Array{MXRT_F32, {}, {3.5}}));
  EXPECT_EQ(kernels.asked, (std::vector<std::string>{
                               "mul f32:1c,f32:0 -> f32:1c", "sub f32:0,f32:1c -> f32:1c",
                               "lt f32:1c,f32:0 -> bool:1c", "select bool:0,f32:1c,f32:0 -> f32:1c",
                               "add f32:1c,f32:1c -> f32:1c"}));
}

TEST_P(ElementwiseTest, SingleElementsAreRankZero) {
  Array a = Array::iota(MXRT_F32, {2, 2}), one = Array::iota(MXRT_F32, {1, 1}, 5);
  EXPECT_EQ(read(op("add:f32", {tensor(a), tensor(one)})).values,
            (std::vector<double>{5, 6, 7, 8}));
  // With one element in all, the kernel for dense tensors serves.
  EXPECT_EQ(read(op("add:f32", {tensor(one), tensor(Array::iota(MXRT_F32, {}, 2))})),
            (Array{MXRT_F32, {1, 1}, {7}}));
  EXPECT_EQ(read(op("exp:f32", {tensor(Array::iota(MXRT_F32, {}))})), (Array{MXRT_F32, {}, {1}}));
  EXPECT_EQ(kernels.asked,
            (std::vector<std::string>{"add f32:1c,f32:0 -> f32:1c", "add f32:1c,f32:1c -> f32:1c",
                                      "exp f32:1c -> f32:1c"}));
}

TEST_P(ElementwiseTest, ResultTypes) {
  Array a = Array::iota(MXRT_I32, {3}, 1);
  EXPECT_EQ(read(op("div:i32", {tensor(a), num(2)})), (Array{MXRT_F32, {3}, {0.5, 1, 1.5}}));
  EXPECT_EQ(read(op("cast:i32:f16", {tensor(a)})), (Array{MXRT_F16, {3}, {1, 2, 3}}));
  EXPECT_EQ(read(op("not", {op("eq:i32", {tensor(a), num(2)})})),
            (Array{MXRT_BOOL, {3}, {1, 0, 1}}));
  EXPECT_EQ(read(op("isnan:f64", {tensor({MXRT_F64, {2}, {1, 2}})})).type, MXRT_BOOL);
  EXPECT_EQ(read(op("add:bf16", {tensor({MXRT_BF16, {2}, {1, 2}}), num(0.5)})).values[1], 2.5);
  EXPECT_EQ(kernels.asked[1], "cast i32:1c -> f16:1c");
}

TEST_P(ElementwiseTest, RowsAndColumnsBroadcastByStrides) {
  Array m = Array::iota(MXRT_F32, {3, 4}), row = Array::iota(MXRT_F32, {4}, 100);
  Array column = Array::iota(MXRT_F32, {3, 1}, 200);
  EXPECT_EQ(read(op("add:f32", {tensor(m), tensor(row)})),
            mapped("add", MXRT_F32, MXRT_F32, {m, row}));
  EXPECT_EQ(read(op("add:f32", {tensor(column), tensor(row)})),
            mapped("add", MXRT_F32, MXRT_F32, {column, row}));
  EXPECT_EQ(kernels.asked, (std::vector<std::string>{"add f32:2c,f32:2s -> f32:2c",
                                                     "add f32:2s,f32:2s -> f32:2c"}));
}

TEST_P(ElementwiseTest, AxesThatBelongTogetherAreJoined) {
  Array a = Array::iota(MXRT_F32, {2, 3, 2, 5, 4}), b = Array::iota(MXRT_F32, {2, 1, 1, 5, 4});
  EXPECT_EQ(read(op("add:f32", {tensor(a), tensor(b)})), mapped("add", MXRT_F32, MXRT_F32, {a, b}));
  EXPECT_EQ(kernels.asked, std::vector<std::string>{"add f32:3c,f32:3s -> f32:3c"});
}

TEST_P(ElementwiseTest, MoreThanFourAxesAreCopiedFirst) {
  Array a = Array::iota(MXRT_F32, {2, 3, 2, 3, 2, 3}),
        b = Array::iota(MXRT_F32, {2, 1, 2, 1, 2, 1});
  EXPECT_EQ(read(op("add:f32", {tensor(a), tensor(b)})), mapped("add", MXRT_F32, MXRT_F32, {a, b}));
  EXPECT_EQ(kernels.asked, std::vector<std::string>{"add f32:1c,f32:1c -> f32:1c"});
}

TEST_P(ElementwiseTest, SixteenDimensions) {
  Shape shape(16, 1);
  shape[0] = 3, shape[7] = 2, shape[15] = 5;
  Array a = Array::iota(MXRT_I64, shape);
  EXPECT_EQ(read(op("neg:i64", {tensor(a)})), mapped("neg", MXRT_I64, MXRT_I64, {a}));
}

TEST_P(ElementwiseTest, EmptyTensors) {
  for (const Shape &shape : {Shape{0}, Shape{2, 0}, Shape{0, 3}, Shape{2, 0, 3}}) {
    Array a{MXRT_F32, shape, {}}, one = Array::iota(MXRT_F32, {1});
    EXPECT_EQ(read(op("add:f32", {tensor(a), tensor(a)})), a);
    EXPECT_EQ(read(op("add:f32", {tensor(a), tensor(one)})), a);
    EXPECT_EQ(read(op("add:f32", {tensor(a), num(1)})), a);
    EXPECT_EQ(read(op("exp:f32", {tensor(a)})), a);
  }
}

TEST_P(ElementwiseTest, TheSameTensorTwice) {
  Array a = Array::iota(MXRT_F32, {5});
  auto x = tensor(a);
  EXPECT_EQ(read(op("mul:f32", {x, x})).values[4], 16);
}

TEST_P(ElementwiseTest, RandomShapesAndLayouts) {
  std::mt19937 random(7);
  const int64_t sizes[] = {1, 1, 2, 3, 5, 7};
  for (int round = 0; round < 300; ++round) {
    size_t rank = random() % 6;
    Shape full;
    for (size_t i = 0; i < rank; ++i)
      full.push_back(rank > 3 ? 1 + int64_t(random() % 3) : sizes[random() % 6]);
    if (rank && random() % 16 == 0)
      full[random() % rank] = 0;
    int count = 1 + int(random() % 3);
    mxrt_dtype type = random() % 2 ? MXRT_F32 : MXRT_I32;
    std::vector<Array> arrays;
    std::vector<host::Value> args;
    for (int k = 0; k < count; ++k) {
      size_t dropped = random() % (rank + 1);
      Shape shape(full.begin() + int64_t(random() % 3 ? 0 : dropped), full.end());
      for (int64_t &size : shape)
        size = random() % 4 ? size : 1;
      arrays.push_back(Array::random(count == 3 && k == 0 ? MXRT_BOOL : type, shape, random));
      args.push_back(random() % 3 ? oddTensor(arrays.back(), random) : tensor(arrays.back()));
    }
    std::string name = count == 1 ? "neg" : count == 2 ? "sub" : "select";
    EXPECT_EQ(read(op(name + ":" + mxrt_dtype_name(type), args)), mapped(name, type, type, arrays));
  }
}

TEST_P(ElementwiseTest, AKeyIsAskedForOnce) {
  Array a = Array::iota(MXRT_F32, {3});
  for (int i = 0; i < 5; ++i)
    op("add:f32", {tensor(a), num(i)});
  (void)op("add:f32@cpu:0", {tensor(a), num(1)}); // another name, the same key
  EXPECT_EQ(kernels.asked.size(), 1u);
}

TEST_P(ElementwiseTest, ARefusedKeyIsAskedForAgain) {
  Array a = Array::iota(MXRT_F32, {3});
  kernels.refuse = true;
  EXPECT_EQ(refusal("add:f32", {tensor(a), num(1)}),
            "R0005 no kernel for 'add f32:1c,f32:0 -> f32:1c'");
  kernels.refuse = false;
  EXPECT_EQ(read(op("add:f32", {tensor(a), num(1)})).values[0], 1);
}

TEST_P(ElementwiseTest, OtherDevices) {
  Array a = Array::iota(MXRT_F32, {3}), one = Array::iota(MXRT_F32, {}, 7);
  constexpr mxrt_device cpu1 = {MXRT_CPU, 1};
  auto there = op("add:f32@cpu:1", {tensor(a, cpu1), num(1)});
  EXPECT_EQ(mxrt_tensor_device(raw(there)).index, 1);
  EXPECT_EQ(read(there).values[2], 3);
  // Single values move by themselves, others do not.
  EXPECT_EQ(read(op("add:f32@cpu:1", {there, tensor(one)})).values[2], 10);
  EXPECT_EQ(refusal("add:f32", {there, num(1)}),
            "R0402 add: f32[3] is on cpu:1, but the operation runs on cpu:0");
  auto here = op("to(device=cpu:0)", {there});
  EXPECT_EQ(read(op("add:f32", {here, num(1)})).values[2], 4);
  EXPECT_EQ(raw(op("to(device=cpu:0)", {here})), raw(here));
}

TEST_P(ElementwiseTest, NanCheck) {
  host->setCheckNan(true);
  auto bad = op("log:f32", {tensor({MXRT_F32, {2, 3}, {1, 2, 3, 4, -1, 6}})});
  auto after = op("add:f32", {bad, num(1)});
  Status status(mxrt_tensor_wait(runtime, raw(after), nullptr));
  EXPECT_EQ(status.code(), MXRT_NAN_FOUND);
  EXPECT_STREQ(status.message(), "log: the result f32[2, 3] has nan at [1, 1]\nnote: in op 'log'");
  EXPECT_EQ(status.location().line, 3);
  host->setCheckNan(false);
  EXPECT_EQ(show(op("log:f32", {tensor({MXRT_F32, {1}, {-1}})})), "f32[1]\n[nan]");
}

class GuardedTest : public EagerTest {
protected:
  GuardedTest() { checkMemory = true; }
};
MX_BOTH_ENGINES(GuardedTest);

TEST_P(GuardedTest, ResultsThatAreNotWritten) {
  Array x{MXRT_F32, {2, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(read(op("neg:f32", {tensor(x)})).values[5], -6);
  kernels.idle = true;
  Status status(mxrt_tensor_wait(runtime, raw(op("abs:f32", {tensor(x)})), nullptr));
  EXPECT_EQ(status.code(), MXRT_INTERNAL);
  EXPECT_STREQ(status.message(),
               "abs: element 0 of the result f32[2, 3] was not written\nnote: in op 'abs'");
  EXPECT_EQ(status.location().line, 3);
  // Integers may have any bits: they are poison, and nobody looks.
  EXPECT_EQ(read(op("abs:i32", {tensor({MXRT_I32, {1}, {7}})})).values[0], -1);
}

} // namespace
} // namespace mxrt::eager
