// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every limit one below, at and above it.

#include "MemoryFixture.h"

namespace {

class LimitsTest : public MemoryTest {};

TEST_F(LimitsTest, Rank) {
  for (size_t rank : {0, 1, 15, 16})
    EXPECT_EQ(createCode(MXRT_F32, Shape(rank, 1)), MXRT_OK) << rank;
  EXPECT_EQ(createCode(MXRT_F32, Shape(17, 1)), MXRT_RANK_LIMIT);
  mxrt_tensor *tensor = nullptr;
  int64_t one = 1;
  for (int32_t rank : {-1, INT32_MIN, INT32_MAX})
    EXPECT_EQ(codeOf(mxrt_tensor_create(runtime, &cpu0, MXRT_F32, rank, &one,
                                        &here, &tensor)),
              MXRT_RANK_LIMIT);
}

TEST_F(LimitsTest, SizesNear63Bits) {
  struct Case {
    Shape shape;
    mxrt_code code;
  };
  const int64_t b31 = int64_t(1) << 31, b32 = int64_t(1) << 32;
  const Case cases[] = {
      {{0}, MXRT_OK},
      {{1}, MXRT_OK},
      {{-1}, MXRT_SHAPE},
      {{INT64_MIN}, MXRT_SHAPE},
      {{INT64_MAX}, MXRT_SIZE_OVERFLOW},
      {{INT64_MAX - 1}, MXRT_SIZE_OVERFLOW},
      {{INT64_MAX / 4}, MXRT_SIZE_OVERFLOW}, // no room to round
      {{INT64_MAX / 4 - 1024}, MXRT_OUT_OF_MEMORY},
      {{INT64_MAX / 4 + 1}, MXRT_SIZE_OVERFLOW},
      {{b31, b31}, MXRT_SIZE_OVERFLOW}, // 2^62 elements of 4 bytes
      {{b31, b31 / 4}, MXRT_OUT_OF_MEMORY},
      {{b32, b32}, MXRT_SIZE_OVERFLOW},
      {{b31 - 1, b31 + 1}, MXRT_SIZE_OVERFLOW},
      {{b32, b31, 0}, MXRT_SIZE_OVERFLOW}, // empty, but absurd
      {{0, b32, b31}, MXRT_SIZE_OVERFLOW},
      {{0, b32}, MXRT_OK},
      {{b31 - 1, 0}, MXRT_OK},
      {{0, -1}, MXRT_SHAPE},
      {{3037000500, 3037000500}, MXRT_SIZE_OVERFLOW}, // just above 2^63
  };
  for (const Case &c : cases)
    EXPECT_EQ(createCode(MXRT_F32, c.shape), c.code)
        << ::testing::PrintToString(c.shape);
  EXPECT_EQ(createCode(mxrt_dtype(9), {1}), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(createCode(mxrt_dtype(-1), {1}), MXRT_INVALID_ARGUMENT);
}

TEST_F(LimitsTest, MessagesNameShapeAndBytes) {
  mxrt_tensor *tensor = nullptr;
  int64_t shape[] = {int64_t(1) << 40, int64_t(1) << 30};
  mxrt_status status = mxrt_tensor_create(runtime, &cpu0, MXRT_F64, 2, shape,
                                          &here, &tensor);
  EXPECT_STREQ(mxrt_status_message(status),
               "f64[1099511627776, 1073741824] needs more than 2^63 bytes (8 "
               "bytes an element)");
  mxrt_status_release(status);
  int64_t large[] = {int64_t(1) << 45};
  status = mxrt_tensor_create(runtime, &cpu0, MXRT_BF16, 1, large, &here,
                              &tensor);
  std::string message = mxrt_status_message(status);
  EXPECT_TRUE(message.starts_with("out of memory on cpu:0: bf16[35184372088832] needs 64 TiB "
                                  "(70368744177664 bytes); the machine has "))
      << message;
  EXPECT_TRUE(message.ends_with(" of memory and swap, and 0 B are live here")) << message;
  EXPECT_EQ(codeOf(status), MXRT_OUT_OF_MEMORY);
  // The runtime goes on.
  EXPECT_EQ(createCode(MXRT_F32, {10}), MXRT_OK);
}

TEST_F(LimitsTest, BroadcastMustFitToo) {
  Ref a = make(MXRT_F32, {1});
  mxrt_tensor *out = nullptr;
  int64_t huge[] = {INT64_MAX, 1};
  EXPECT_EQ(codeOf(mxrt_tensor_broadcast(a.get(), 2, huge, &here, &out)),
            MXRT_SIZE_OVERFLOW);
  int64_t fits[] = {INT64_MAX / 8, 1};
  EXPECT_EQ(codeOf(mxrt_tensor_broadcast(a.get(), 2, fits, &here, &out)),
            MXRT_OK);
  EXPECT_EQ(mxrt_tensor_elements(out), INT64_MAX / 8);
  mxrt_tensor_release(out);
  int64_t ones[17] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(codeOf(mxrt_tensor_broadcast(a.get(), 17, ones, &here, &out)),
            MXRT_RANK_LIMIT);
  EXPECT_EQ(codeOf(mxrt_tensor_broadcast(a.get(), 16, ones, &here, &out)),
            MXRT_OK);
  mxrt_tensor_release(out);
  EXPECT_EQ(codeOf(mxrt_tensor_reshape(a.get(), 17, ones, &here, &out)),
            MXRT_RANK_LIMIT);
}

TEST_F(LimitsTest, ExpandStopsAtTheRankLimit) {
  Ref a = make(MXRT_F32, Shape(15, 1));
  mxrt_tensor *out = nullptr;
  ASSERT_EQ(mxrt_tensor_expand(a.get(), 0, &here, &out), nullptr);
  Ref b(out);
  EXPECT_EQ(codeOf(mxrt_tensor_expand(b.get(), 0, &here, &out)),
            MXRT_RANK_LIMIT);
}

TEST_F(LimitsTest, BorrowedStridesMustNotWrap) {
  int32_t value = 0;
  mxrt_tensor *out = nullptr;
  auto borrow = [&](int64_t size, int64_t stride) {
    mxrt_code code = codeOf(mxrt_tensor_borrow(runtime, &cpu0, MXRT_I32, 1,
                                               &size, &stride, &value, 0,
                                               nullptr, nullptr, &here, &out));
    mxrt_tensor_release(out);
    return code;
  };
  EXPECT_EQ(borrow(1, INT64_MAX), MXRT_OK);
  EXPECT_EQ(borrow(1, INT64_MIN), MXRT_OK);
  EXPECT_EQ(borrow(2, INT64_MAX), MXRT_SIZE_OVERFLOW);
  EXPECT_EQ(borrow(2, INT64_MIN), MXRT_SIZE_OVERFLOW);
  EXPECT_EQ(borrow(INT64_MAX / 8, 5), MXRT_SIZE_OVERFLOW);
  EXPECT_EQ(borrow(0, INT64_MAX), MXRT_OK);
}

} // namespace
