// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and matrix products.

#include "EagerFixture.h"

namespace mxrt::eager {
namespace {

class ReduceTest : public EagerTest {};
MX_BOTH_ENGINES(ReduceTest);

Array reduced(const std::string &name, const Array &x, uint32_t axes, bool keep, mxrt_dtype type) {
  Array all{type, x.shape, {}}, result{type, {}, {}};
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (axes >> i & 1)
      all.shape[i] = 1;
    if (keep || !(axes >> i & 1))
      result.shape.push_back(all.shape[i]);
  }
  all.values.assign(size_t(all.elements()), reduceStart(name));
  x.each([&](const Shape &index, int64_t n) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i)
      at = at * all.shape[i] + (axes >> i & 1 ? 0 : index[i]);
    double &sum = all.values[size_t(at)];
    sum = reduceStep(name, sum, x.values[size_t(n)]);
  });
  result.values = all.values;
  return result;
}

std::string axesText(uint32_t axes) {
  std::string text;
  for (int i = 0; i < 16; ++i)
    if (axes >> i & 1)
      text += (text.empty() ? "" : "/") + std::to_string(i);
  return text;
}

TEST_P(ReduceTest, RandomAxesAndLayouts) {
  std::mt19937 random(3);
  const char *names[] = {"sum", "max", "min", "prod", "any", "all"};
  for (int round = 0; round < 300; ++round) {
    size_t rank = random() % 6;
    Shape shape;
    for (size_t i = 0; i < rank; ++i)
      shape.push_back(1 + int64_t(random() % (rank > 3 ? 3 : 7)));
    std::string name = names[random() % 6];
    bool logical = name == "any" || name == "all";
    mxrt_dtype type = logical ? MXRT_BOOL : random() % 2 ? MXRT_F32 : MXRT_I64;
    Array x = Array::random(type, shape, random);
    uint32_t axes = uint32_t(random()) & ((1u << rank) - 1);
    bool keep = random() % 2;
    std::string full = name + ":" + mxrt_dtype_name(type) + "(axes=" + axesText(axes) +
                       (keep ? ",keep=1)" : ",keep=0)");
    auto value = random() % 3 ? oddTensor(x, random) : tensor(x);
    EXPECT_EQ(read(op(full, {value})), reduced(name, x, axes, keep, type)) << full;
  }
}

TEST_P(ReduceTest, ViewsAreReducedWithoutCopies) {
  Array x = Array::iota(MXRT_F32, {2, 3, 4});
  auto value = tensor(x);
  EXPECT_EQ(read(op("sum:f32(axes=1)", {value})), reduced("sum", x, 2, false, MXRT_F32));
  EXPECT_EQ(read(op("sum:f32(axes=all)", {value})), (Array{MXRT_F32, {}, {276}}));
  EXPECT_EQ(kernels.asked, std::vector<std::string>{"sum f32:3c -> f32:2c"});
  auto turned = op("transpose(order=1/0)", {tensor(Array::iota(MXRT_F32, {3, 4}))});
  EXPECT_EQ(read(op("sum:f32(axes=0)", {turned})).values, (std::vector<double>{6, 22, 38}));
  EXPECT_EQ(kernels.asked.back(), "sum f32:3s -> f32:2c");
  EXPECT_EQ(read(op("sum:f32(axes=0/2)", {value})), reduced("sum", x, 5, false, MXRT_F32));
}

TEST_P(ReduceTest, WhereTheLargestIs) {
  Array x{MXRT_F32, {2, 3}, {1, 5, 5, 9, -1, 0}};
  EXPECT_EQ(read(op("argmax:f32(axes=1)", {tensor(x)})), (Array{MXRT_I32, {2}, {1, 0}}));
  EXPECT_EQ(read(op("argmin:f32(axes=0,keep=1)", {tensor(x)})),
            (Array{MXRT_I32, {1, 3}, {0, 1, 1}}));
  EXPECT_EQ(kernels.asked[0], "argmax f32:3c -> i32:2c");
}

TEST_P(ReduceTest, NothingToReduce) {
  Array x{MXRT_F32, {2, 0}, {}};
  EXPECT_EQ(read(op("sum:f32(axes=1)", {tensor(x)})), (Array{MXRT_F32, {2}, {0, 0}}));
  EXPECT_EQ(read(op("sum:f32(axes=0)", {tensor(x)})), (Array{MXRT_F32, {0}, {}}));
  EXPECT_EQ(read(op("max:f32(axes=0)", {tensor(x)})), (Array{MXRT_F32, {0}, {}}));
  EXPECT_EQ(
      refusal("max:f32(axes=1)", {tensor(x)}),
      "R0201 max: f32[2, 0] is empty where it is reduced, and nothing has no largest element");
  EXPECT_EQ(refusal("argmin:f32(axes=1)", {tensor(x)}),
            "R0201 argmin: f32[2, 0] is empty where it is reduced, and nothing has no smallest "
            "element");
  EXPECT_EQ(refusal("sum:f32(axes=2)", {tensor(x)}), "R0201 sum: axis 2 of f32[2, 0], which has 2");
}

//===-- matmul --------------------------------------------------------------===//

Array matmul(Array a, Array b) {
  bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row)
    a.shape.insert(a.shape.begin(), 1);
  if (column)
    b.shape.push_back(1);
  size_t ra = a.shape.size(), rb = b.shape.size();
  int64_t m = a.shape[ra - 2], k = a.shape[ra - 1], n = b.shape[rb - 1];
  Shape batch = broadcastShape(
      {Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2)});
  auto full = [&](Shape shape, int64_t x, int64_t y) {
    shape.push_back(x);
    shape.push_back(y);
    return shape;
  };
  a = a.broadcast(full(batch, m, k));
  b = b.broadcast(full(batch, k, n));
  Array result{a.type, full(batch, m, n), {}};
  result.each([&](const Shape &index, int64_t) {
    double sum = 0;
    Shape left = index, right = index;
    for (int64_t i = 0; i < k; ++i) {
      left.back() = right[right.size() - 2] = i;
      sum += a.at(left) * b.at(right);
    }
    result.values.push_back(sum);
  });
  if (column)
    result.shape.pop_back();
  if (row)
    result.shape.erase(result.shape.end() - (column ? 1 : 2));
  return result;
}

TEST_P(ReduceTest, MatmulOfRandomShapes) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    auto size = [&] { return int64_t(random() % 12 ? 1 + random() % 4 : 0); };
    int64_t m = size(), k = size(), n = size();
    Shape batch(random() % 4);
    for (int64_t &each : batch)
      each = 1 + int64_t(random() % 3);
    auto side = [&](int64_t rows, int64_t columns, bool vectorIsColumns) {
      if (random() % 5 == 0)
        return Shape{vectorIsColumns ? columns : rows};
      Shape shape(batch.begin() + int64_t(random() % (batch.size() + 1)), batch.end());
      for (int64_t &each : shape)
        each = random() % 3 ? each : 1;
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    Array a = Array::random(MXRT_F32, side(m, k, true), random);
    Array b = Array::random(MXRT_F32, side(k, n, false), random);
    auto left = random() % 2 && a.elements() ? oddTensor(a, random) : tensor(a);
    auto right = random() % 2 && b.elements() ? oddTensor(b, random) : tensor(b);
    Array result = read(op("matmul:f32", {left, right}));
    EXPECT_EQ(result, matmul(a, b)) << a << " @ " << b;
  }
}

TEST_P(ReduceTest, MatmulKernels) {
  Array w = Array::iota(MXRT_F32, {3, 5}), x = Array::iota(MXRT_F32, {4, 2, 3});
  EXPECT_EQ(read(op("matmul:f32", {tensor(x), tensor(w)})), matmul(x, w));
  // A shared right side makes one product of all rows: nothing is strided.
  EXPECT_EQ(kernels.asked, std::vector<std::string>{"matmul f32:3c,f32:3c -> f32:3c"});
  auto turned = op("transpose(order=1/0)", {tensor(Array::iota(MXRT_F32, {5, 3}))});
  (void)op("matmul:f32", {tensor(x), turned});
  EXPECT_EQ(kernels.asked.back(), "matmul f32:3c,f32:3s -> f32:3c");
}

TEST_P(ReduceTest, MatmulRefusals) {
  auto a = tensor(Array::iota(MXRT_F32, {2, 3})), b = tensor(Array::iota(MXRT_F32, {4, 5}));
  EXPECT_EQ(refusal("matmul:f32", {a, b}),
            "R0201 matmul: f32[2, 3] and f32[4, 5] do not fit: 3 columns on the left, 4 rows on "
            "the right");
  EXPECT_EQ(refusal("matmul:f32", {a, tensor(Array::iota(MXRT_F32, {}))}),
            "R0201 matmul: f32[2, 3] and f32[] do not fit: a single value is not a matrix");
  EXPECT_EQ(refusal("matmul:f32", {tensor(Array::iota(MXRT_F32, {2, 1, 3})),
                                   tensor(Array::iota(MXRT_F32, {3, 3, 1}))}),
            "R0201 matmul: f32[2, 1, 3] and f32[3, 3, 1] do not fit: the leading dimensions "
            "differ");
  EXPECT_EQ(refusal("matmul:f32", {a, num(1)}), "R0803 matmul: operand 1 is i64, not a tensor");
}

} // namespace
} // namespace mxrt::eager
