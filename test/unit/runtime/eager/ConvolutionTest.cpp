// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels convolutions ask for: one for any sizes at first, one for their own sizes once they
// have done enough work with them.

#include "EagerFixture.h"
#include "eager/Issue.h"

namespace mxrt::eager {
namespace {

class ConvolutionTest : public EagerTest {
protected:
  /// A 3x3 convolution with padding 1 of x, which has `channels` channels of `side` x `side`.
  void convolve(const host::Value &x, const host::Value &w, int64_t side) {
    std::vector<host::Value> operands = {x, w};
    for (int axis = 0; axis < 2; ++axis)
      for (int64_t number : {side, int64_t(1), int64_t(1), int64_t(1), int64_t(1)})
        operands.push_back(num(number));
    op("conv:f32", operands);
  }
  host::Value zeros(const Shape &shape) {
    Array array{MXRT_F32, shape, {}};
    array.values.assign(size_t(array.elements()), 0);
    return tensor(array);
  }
};
MX_BOTH_ENGINES(ConvolutionTest);

const char *forAnySizes = "conv f32:5c,f32:5c -> f32:5c";

TEST_P(ConvolutionTest, KernelForSizesAfterEnoughWork) {
  // 2 * 16 * 64 * 64 * 16 * 9 multiplications a call: the 15th passes 2^28.
  host::Value x = zeros({2, 16, 64, 64}), w = zeros({16, 16, 3, 3});
  for (int i = 0; i < 14; ++i)
    convolve(x, w, 64);
  EXPECT_EQ(kernels.asked, std::vector<std::string>{forAnySizes});
  for (int i = 0; i < 3; ++i)
    convolve(x, w, 64);
  EXPECT_EQ(kernels.asked, (std::vector<std::string>{
                               forAnySizes, "conv(sizes=2/16/1/16/64/3/64/1/1/1/1/64/3/64/1/1/1/1) "
                                            "f32:4c,f32:4c -> f32:4c"}));
}

TEST_P(ConvolutionTest, LayoutsHaveKernelsOfTheirOwn) {
  host::Value x = zeros({2, 64, 64, 16}), w = zeros({16, 1, 3, 3});
  host::Value turned = op("transpose(order=0/3/1/2)", {x}), dense = zeros({2, 16, 64, 64});
  for (int i = 0; i < 300; ++i) {
    convolve(turned, w, 64);
    convolve(dense, w, 64);
  }
  EXPECT_EQ(kernels.asked, (std::vector<std::string>{
                               "conv(outputs=1) f32:5s,f32:5c -> f32:5c",
                               "conv(outputs=1) f32:5c,f32:5c -> f32:5c",
                               "conv(outputs=1,sizes=2/1/16/64/3/64/1/1/1/1/64/3/64/1/1/1/1) "
                               "f32:4s,f32:4c -> f32:4c",
                               "conv(outputs=1,sizes=2/1/16/64/3/64/1/1/1/1/64/3/64/1/1/1/1) "
                               "f32:4c,f32:4c -> f32:4c"}));
}

TEST_P(ConvolutionTest, NoneForLittleWork) {
  host::Value x = zeros({1, 1, 8, 8}), w = zeros({1, 1, 3, 3});
  for (int i = 0; i < 1000; ++i)
    convolve(x, w, 8);
  EXPECT_EQ(kernels.asked.size(), 1u);
}

/// A program whose sizes are new in each call is not compiled for each of them.
TEST_P(ConvolutionTest, FewKernelsForManySizes) {
  host::Value w = zeros({512, 64, 3, 3});
  for (int64_t side = 31; side < 131; ++side)
    convolve(zeros({1, 64, side, side}), w, side);
  EXPECT_LE(kernels.asked.size(), 1 + maxSizedKernels);
}

} // namespace
} // namespace mxrt::eager
