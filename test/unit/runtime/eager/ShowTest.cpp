// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What print shows, character by character.

#include "EagerFixture.h"

#include <cmath>

namespace mxrt::eager {
namespace {

class ShowTest : public EagerTest {
protected:
  std::string shown(mxrt_dtype type, const Shape &shape, std::vector<double> values,
                    std::string_view spec = {}) {
    return show(tensor({type, shape, std::move(values)}), spec);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, ShowTest, ::testing::Values(MXRT_ENGINE_NAIVE), engineName);

TEST_P(ShowTest, SingleValuesAreNumbers) {
  EXPECT_EQ(shown(MXRT_F32, {}, {0.1}), "0.1");
  EXPECT_EQ(shown(MXRT_F32, {}, {3}), "3.0");
  EXPECT_EQ(shown(MXRT_F64, {}, {0.1}), "0.1");
  EXPECT_EQ(shown(MXRT_F16, {}, {0.1}), "0.1");
  EXPECT_EQ(shown(MXRT_F16, {}, {65504}), "65500.0");
  EXPECT_EQ(shown(MXRT_BF16, {}, {3.14}), "3.14");
  EXPECT_EQ(shown(MXRT_I8, {}, {-7}), "-7");
  EXPECT_EQ(shown(MXRT_BOOL, {}, {1}), "true");
  EXPECT_EQ(shown(MXRT_F32, {}, {INFINITY}), "inf");
  EXPECT_EQ(shown(MXRT_F32, {}, {2.0 / 3}, ".4f"), "0.6667");
  EXPECT_EQ(shown(MXRT_I32, {}, {42}, "5"), "   42");
  EXPECT_EQ(shown(MXRT_F16, {}, {0.1}, "6"), "   0.1");
  EXPECT_EQ(shown(MXRT_F16, {}, {0.1}, ".6f"), "0.099976");
}

TEST_P(ShowTest, Floats) {
  EXPECT_EQ(shown(MXRT_F32, {2, 3}, {1, 2, 3, 4, 5, 6}), "f32[2, 3]\n[[1. 2. 3.]\n [4. 5. 6.]]");
  EXPECT_EQ(shown(MXRT_F32, {3}, {1, 2.5, -3.25}), "f32[3]\n[ 1.    2.5  -3.25]");
  EXPECT_EQ(shown(MXRT_F32, {2}, {1.0 / 3, 2.0 / 3}), "f32[2]\n[0.3333 0.6667]");
  EXPECT_EQ(shown(MXRT_F32, {2, 2}, {0.1, 10, 99.99999, -0.5}),
            "f32[2, 2]\n[[  0.1  10. ]\n [100.   -0.5]]");
  EXPECT_EQ(shown(MXRT_F64, {3}, {NAN, 1.5, -INFINITY}), "f64[3]\n[ nan  1.5 -inf]");
  EXPECT_EQ(shown(MXRT_F32, {2}, {NAN, INFINITY}), "f32[2]\n[nan inf]");
  EXPECT_EQ(shown(MXRT_F32, {2}, {0, 0}), "f32[2]\n[0. 0.]");
  EXPECT_EQ(shown(MXRT_F16, {2}, {0.1, 0.2}), "f16[2]\n[0.1 0.2]");
}

TEST_P(ShowTest, FarApartFloatsAreScientific) {
  EXPECT_EQ(shown(MXRT_F32, {2}, {1e-5, 1}), "f32[2]\n[1.e-05 1.e+00]");
  EXPECT_EQ(shown(MXRT_F32, {3}, {123456, 1, -0.25}),
            "f32[3]\n[ 1.2346e+05  1.0000e+00 -2.5000e-01]");
  EXPECT_EQ(shown(MXRT_F64, {2}, {1e100, 1}), "f64[2]\n[1.e+100 1.e+000]");
  EXPECT_EQ(shown(MXRT_F32, {2}, {1e8, NAN}), "f32[2]\n[1.e+08    nan]");
}

TEST_P(ShowTest, IntegersAndBools) {
  EXPECT_EQ(shown(MXRT_I32, {2, 2}, {1, -20, 300, 4}), "i32[2, 2]\n[[  1 -20]\n [300   4]]");
  EXPECT_EQ(shown(MXRT_BOOL, {2}, {1, 0}), "bool[2]\n[ true false]");
  EXPECT_EQ(shown(MXRT_U8, {1}, {255}), "u8[1]\n[255]");
}

TEST_P(ShowTest, RankThreeHasBlankLines) {
  EXPECT_EQ(show(tensor(Array::iota(MXRT_I32, {2, 2, 2}))),
            "i32[2, 2, 2]\n[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
}

TEST_P(ShowTest, EmptyTensors) {
  EXPECT_EQ(shown(MXRT_F32, {0, 3}, {}), "f32[0, 3] []");
  EXPECT_EQ(shown(MXRT_F32, {0}, {}, ".2f"), "f32[0] []");
}

TEST_P(ShowTest, LongAxesAreElided) {
  EXPECT_EQ(show(tensor(Array::iota(MXRT_I32, {100}))), "i32[100]\n[ 0  1  2 ... 97 98 99]");
  EXPECT_EQ(
      show(tensor(Array::iota(MXRT_I32, {7, 7}))),
      "i32[7, 7]\n[[ 0  1  2 ...  4  5  6]\n [ 7  8  9 ... 11 12 13]\n [14 15 16 ... 18 19 20]\n"
      " ...\n [28 29 30 ... 32 33 34]\n [35 36 37 ... 39 40 41]\n [42 43 44 ... 46 47 48]]");
  // Up to 36 elements are shown whole, in lines of at most 75 characters.
  EXPECT_EQ(show(tensor(Array::iota(MXRT_I32, {36}))),
            "i32[36]\n[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29 30 31 32 33 34 35]");
  EXPECT_EQ(show(op("broadcast", {tensor(Array::iota(MXRT_I32, {})), num(1000000), num(2)})),
            "i32[1000000, 2]\n[[0 0]\n [0 0]\n [0 0]\n ...\n [0 0]\n [0 0]\n [0 0]]");
}

TEST_P(ShowTest, HugeRanksStayBounded) {
  std::vector<host::Value> args = {tensor(Array::iota(MXRT_I32, {}))};
  for (int i = 0; i < 16; ++i)
    args.push_back(num(6));
  EXPECT_LT(show(op("broadcast", args)).size(), 10000000u);
}

TEST_P(ShowTest, FormatsApplyToEachElement) {
  EXPECT_EQ(shown(MXRT_F32, {2, 2}, {1, 2.5, -3.25, 100}, ".2f"),
            "f32[2, 2]\n[[  1.00   2.50]\n [ -3.25 100.00]]");
  EXPECT_EQ(shown(MXRT_I32, {2}, {10, 255}, "x"), "i32[2]\n[ a ff]");
  EXPECT_EQ(shown(MXRT_I32, {2}, {1, 2}, ".2"),
            "! format '.2' for i32[2]: a precision is not allowed for an integer");
}

TEST_P(ShowTest, ViewsAreShownAsTheyAre) {
  auto x = tensor(Array::iota(MXRT_I32, {2, 3}));
  EXPECT_EQ(show(op("transpose(order=1/0)", {x})), "i32[3, 2]\n[[0 3]\n [1 4]\n [2 5]]");
  EXPECT_EQ(show(op("index(i/rs)", {x, num(1), num(-1)})), "i32[3]\n[5 4 3]");
}

} // namespace
} // namespace mxrt::eager
