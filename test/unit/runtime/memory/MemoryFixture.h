// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MX_TEST_UNIT_RUNTIME_MEMORY_MEMORYFIXTURE_H
#define MX_TEST_UNIT_RUNTIME_MEMORY_MEMORYFIXTURE_H

#include "../TestAllocator.h"
#include "memory/Tensor.h"
#include "mxrt/runtime.h"
#include "mxrt/tensor.h"

#include <gtest/gtest.h>
#include <vector>

constexpr mxrt_device cpu0 = {MXRT_CPU, 0};
constexpr mxrt_device cpu1 = {MXRT_CPU, 1};
constexpr mxrt_location here = {"test.mx", 12, 5};

inline mxrt_code codeOf(mxrt_status status) {
  mxrt_code code = mxrt_status_code(status);
  mxrt_status_release(status);
  return code;
}

/// A runtime on a counting allocator; at the end nothing may be left.
class MemoryTest : public ::testing::Test {
protected:
  void open(int64_t limit = 0) {
    mxrt_options options;
    mxrt_options_init(&options);
    options.allocator = alloc.get();
    options.threads = 2;
    options.memory_limit = limit;
    ASSERT_EQ(mxrt_runtime_create(&options, &runtime), nullptr);
    ASSERT_EQ(mxrt_runtime_context(runtime, &cpu0, &here, &context), nullptr);
  }
  void SetUp() override { open(); }
  void TearDown() override {
    mxrt_runtime_destroy(runtime);
    EXPECT_EQ(alloc.liveBlocks(), 0);
    EXPECT_EQ(alloc.mistake(), "");
  }
  void reopen(int64_t limit) {
    mxrt_runtime_destroy(runtime);
    runtime = nullptr;
    open(limit);
  }

  using Shape = std::vector<int64_t>;
  using Ref = mxrt::TensorRef;

  Ref make(mxrt_dtype type, const Shape &shape, mxrt_device device = cpu0) {
    mxrt_tensor *tensor = nullptr;
    mxrt_status status =
        mxrt_tensor_create(runtime, &device, type, int32_t(shape.size()),
                           shape.data(), &here, &tensor);
    EXPECT_EQ(status, nullptr) << mxrt_status_message(status);
    mxrt_status_release(status);
    return Ref(tensor);
  }
  /// i32 elements 0, 1, 2, ...
  Ref iota(const Shape &shape) {
    Ref tensor = make(MXRT_I32, shape);
    auto *data = static_cast<int32_t *>(mxrt_tensor_data(tensor.get()));
    for (int64_t i = 0; i < mxrt_tensor_elements(tensor.get()); ++i)
      data[i] = int32_t(i);
    return tensor;
  }
  mxrt_code createCode(mxrt_dtype type, const Shape &shape) {
    mxrt_tensor *tensor = nullptr;
    mxrt_code code = codeOf(
        mxrt_tensor_create(runtime, &cpu0, type, int32_t(shape.size()),
                           shape.data(), &here, &tensor));
    EXPECT_EQ(tensor != nullptr, code == MXRT_OK);
    mxrt_tensor_release(tensor);
    return code;
  }
  static Shape shapeOf(const Ref &tensor) {
    const int64_t *sizes = mxrt_tensor_shape(tensor.get());
    return Shape(sizes, sizes + mxrt_tensor_rank(tensor.get()));
  }
  static Shape stridesOf(const Ref &tensor) {
    const int64_t *strides = mxrt_tensor_strides(tensor.get());
    return Shape(strides, strides + mxrt_tensor_rank(tensor.get()));
  }
  /// All elements of an i32 view in row-major order, by strides.
  static std::vector<int32_t> elementsOf(const Ref &tensor) {
    std::vector<int32_t> result;
    Shape sizes = shapeOf(tensor), strides = stridesOf(tensor);
    const auto *data = static_cast<int32_t *>(mxrt_tensor_data(tensor.get()));
    Shape index(sizes.size(), 0);
    for (int64_t n = mxrt_tensor_elements(tensor.get()); n > 0; --n) {
      int64_t at = 0;
      for (size_t i = 0; i < sizes.size(); ++i)
        at += index[i] * strides[i];
      result.push_back(data[at]);
      for (size_t i = sizes.size(); i-- > 0;) {
        if (++index[i] < sizes[i])
          break;
        index[i] = 0;
      }
    }
    return result;
  }
  mxrt_memory_stats stats(mxrt_device device = cpu0) {
    mxrt_memory_stats result{};
    EXPECT_EQ(mxrt_memory_get_stats(runtime, &device, &result), nullptr);
    return result;
  }

  TestAllocator alloc;
  mxrt_runtime *runtime = nullptr;
  mxrt_context context;
};

#endif // MX_TEST_UNIT_RUNTIME_MEMORY_MEMORYFIXTURE_H
