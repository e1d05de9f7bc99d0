// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryFixture.h"
#include "memory/Collapse.h"

#include <random>

namespace {

class CopyTest : public MemoryTest {
protected:
  /// A random view of a random dense i32 tensor of rank up to 5.
  Ref randomView(std::mt19937 &random, const Shape *wanted = nullptr) {
    auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
    mxrt_tensor *out = nullptr;
    Shape shape;
    if (wanted)
      shape = *wanted;
    else
      for (int64_t i = below(6); i > 0; --i)
        shape.push_back(below(8) == 0 ? below(2) : 1 + below(6));
    auto rank = int32_t(shape.size());
    // Room around every axis, axes in random order, some reversed.
    std::vector<int32_t> axes(shape.size());
    for (int32_t i = 0; i < rank; ++i)
      axes[size_t(i)] = i;
    std::shuffle(axes.begin(), axes.end(), random);
    Shape base(shape.size());
    for (size_t i = 0; i < shape.size(); ++i)
      base[size_t(axes[i])] = shape[i] * (1 + below(2)) + below(2);
    Ref view = iota(base);
    EXPECT_EQ(mxrt_tensor_permute(view.get(), axes.data(), &here, &out),
              nullptr);
    view = Ref(out);
    for (int32_t i = 0; i < rank; ++i) {
      int64_t size = mxrt_tensor_shape(view.get())[i], keep = shape[size_t(i)];
      int64_t step = keep > 0 && size >= 2 * keep - 1 && below(2) ? 2 : 1;
      int64_t begin = 0, end = keep == 0 ? 0 : (keep - 1) * step + 1;
      if (below(2) && keep > 0) {
        begin = end - 1;
        end = -1;
        step = -step;
      }
      EXPECT_EQ(mxrt_tensor_slice(view.get(), i, begin, end, step, &here, &out),
                nullptr);
      view = Ref(out);
    }
    EXPECT_EQ(shapeOf(view), shape);
    return view;
  }
};

TEST_F(CopyTest, RandomViewsCopyElementByElement) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    Ref from = randomView(random);
    Shape shape = shapeOf(from);
    Ref to = randomView(random, &shape);
    std::vector<int32_t> expected = elementsOf(from);
    ASSERT_EQ(mxrt_tensor_copy(&context, from.get(), to.get()), nullptr);
    ASSERT_EQ(elementsOf(to), expected);
  }
}

TEST_F(CopyTest, LargeCopiesInParallel) {
  Ref a = iota({300, 1000});
  mxrt_tensor *out = nullptr;
  int32_t swap[] = {1, 0};
  ASSERT_EQ(mxrt_tensor_permute(a.get(), swap, &here, &out), nullptr);
  Ref transposed(out);
  Ref dense = make(MXRT_I32, {1000, 300});
  ASSERT_EQ(mxrt_tensor_copy(&context, transposed.get(), dense.get()), nullptr);
  EXPECT_EQ(elementsOf(dense), elementsOf(transposed));
  Ref flat = make(MXRT_I32, {300, 1000});
  ASSERT_EQ(mxrt_tensor_copy(&context, a.get(), flat.get()), nullptr);
  EXPECT_EQ(elementsOf(flat), elementsOf(a));
}

TEST_F(CopyTest, EveryElementSizeKeepsItsBits) {
  for (int type = 0; type < MXRT_DTYPE_COUNT; ++type) {
    Ref a = make(mxrt_dtype(type), {7, 5});
    auto bytes = size_t(mxrt_tensor_bytes(a.get()));
    auto *data = static_cast<unsigned char *>(mxrt_tensor_data(a.get()));
    for (size_t i = 0; i < bytes; ++i)
      data[i] = static_cast<unsigned char>(0xFF - i); // NaNs among them
    mxrt_tensor *out = nullptr;
    int32_t swap[] = {1, 0};
    ASSERT_EQ(mxrt_tensor_permute(a.get(), swap, &here, &out), nullptr);
    Ref t(out);
    Ref b = make(mxrt_dtype(type), {5, 7}), c = make(mxrt_dtype(type), {7, 5});
    ASSERT_EQ(mxrt_tensor_copy(&context, t.get(), b.get()), nullptr);
    ASSERT_EQ(mxrt_tensor_permute(b.get(), swap, &here, &out), nullptr);
    Ref back(out);
    ASSERT_EQ(mxrt_tensor_copy(&context, back.get(), c.get()), nullptr);
    EXPECT_EQ(memcmp(mxrt_tensor_data(c.get()), data, bytes), 0);
  }
}

TEST_F(CopyTest, DifferencesAreErrors) {
  Ref a = make(MXRT_I32, {2, 3}), b = make(MXRT_F32, {2, 3}),
      c = make(MXRT_I32, {3, 2}), d = make(MXRT_I32, {6});
  EXPECT_EQ(codeOf(mxrt_tensor_copy(&context, a.get(), b.get())), MXRT_DTYPE);
  EXPECT_EQ(codeOf(mxrt_tensor_copy(&context, a.get(), c.get())), MXRT_SHAPE);
  EXPECT_EQ(codeOf(mxrt_tensor_copy(&context, a.get(), d.get())), MXRT_SHAPE);
  EXPECT_EQ(mxrt_tensor_copy(&context, a.get(), a.get()), nullptr);
  mxrt_runtime_cancel(runtime);
  Ref e = make(MXRT_I32, {2, 3});
  EXPECT_EQ(codeOf(mxrt_tensor_copy(&context, a.get(), e.get())),
            MXRT_CANCELLED);
  mxrt_runtime_clear_cancel(runtime);
}

TEST(Collapse, JoinsWhatAllOperandsStepThrough) {
  int64_t sizes[] = {2, 1, 3, 4};
  int64_t dense[] = {12, 12, 4, 1}, padded[] = {15, 9, 5, 1};
  auto one = mxrt::collapse<1>(4, sizes, {dense});
  EXPECT_EQ(one.rank, 1);
  EXPECT_EQ(one.sizes[0], 24);
  auto two = mxrt::collapse<2>(4, sizes, {dense, padded});
  ASSERT_EQ(two.rank, 2);
  EXPECT_EQ(two.sizes[0], 6);
  EXPECT_EQ(two.sizes[1], 4);
  EXPECT_EQ(two.strides[1][0], 5);
  int64_t ones[] = {1, 1};
  EXPECT_EQ(mxrt::collapse<1>(2, ones, {dense}).rank, 0);
}

} // namespace
