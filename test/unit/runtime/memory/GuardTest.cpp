// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that keep to their outputs, and kernels that do not.

#include "mxrt/guard.h"
#include "mxrt/status.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

constexpr int64_t bytes = 256;

class GuardTest : public testing::Test {
protected:
  void SetUp() override {
    memory.resize(bytes + 2 * MXRT_GUARD_BYTES);
    arena = memory.data() + MXRT_GUARD_BYTES;
    mxrt_context_init(&context);
    mxrt_guard_begin(arena, bytes);
  }

  /// Reads the first 64 bytes of the arena, writes those behind.
  std::string call(mxrt_compiled_kernel kernel, int64_t ends = 0) {
    void *buffers[] = {arena, arena + 64};
    mxrt_guard_operand operands[] = {
        {64, MXRT_GUARD_READS | ends}, {64, MXRT_GUARD_WRITES}, {-1, 0}};
    mxrt_status status = mxrt_guard_call(&context, kernel, buffers, nullptr,
                                         arena, bytes, operands, "k");
    std::string text = status ? mxrt_status_message(status) : "";
    mxrt_status_release(status);
    return text;
  }

  std::vector<char> memory;
  char *arena = nullptr;
  mxrt_context context{};
};

mxrt_status copies(const mxrt_context *, void *const *buffers, const int64_t *) {
  memcpy(buffers[1], buffers[0], 64);
  return nullptr;
}
mxrt_status writesBehind(const mxrt_context *, void *const *buffers,
                         const int64_t *) {
  memset(buffers[1], 1, 65);
  return nullptr;
}
mxrt_status writesInput(const mxrt_context *, void *const *buffers,
                        const int64_t *) {
  static_cast<char *>(buffers[0])[3] = 1;
  return nullptr;
}
mxrt_status writesFarBefore(const mxrt_context *, void *const *buffers,
                            const int64_t *) {
  static_cast<char *>(buffers[0])[-1] = 1;
  return nullptr;
}
mxrt_status writesPastTheEnd(const mxrt_context *, void *const *buffers,
                             const int64_t *) {
  static_cast<char *>(buffers[0])[bytes] = 1;
  return nullptr;
}
mxrt_status seesPoison(const mxrt_context *, void *const *buffers,
                       const int64_t *) {
  for (int i = 0; i < 64; ++i)
    if (static_cast<unsigned char *>(buffers[1])[i] != MXRT_POISON_BYTE)
      static_cast<char *>(buffers[0])[0] = 1; // found as a fault
  return nullptr;
}

TEST_F(GuardTest, WhatKeepsToItsOutputsIsFine) {
  memset(arena, 7, 64);
  EXPECT_EQ(call(copies), "");
  EXPECT_EQ(arena[64 + 63], 7);
  EXPECT_EQ(arena[0], 7);
}

TEST_F(GuardTest, EveryOtherByteIsSeen) {
  EXPECT_NE(call(writesBehind).find("kernel `k` changed byte 128 of its arena of 256"),
            std::string::npos);
  EXPECT_NE(call(writesInput).find("byte 3 "), std::string::npos);
  EXPECT_NE(call(writesFarBefore).find("byte -1 "), std::string::npos);
  EXPECT_NE(call(writesPastTheEnd).find("byte 256 "), std::string::npos);
}

TEST_F(GuardTest, WhatHoldsNothingIsPoison) {
  memset(arena, 7, 128);
  EXPECT_EQ(call(seesPoison), ""); // the output, before the call
  EXPECT_EQ(call(copies, MXRT_GUARD_ENDS), "");
  EXPECT_EQ(static_cast<unsigned char>(arena[5]), MXRT_POISON_BYTE);
  EXPECT_EQ(arena[64 + 5], 7);
}

} // namespace
