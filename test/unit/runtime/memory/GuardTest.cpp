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
    mxrt_status status =
        mxrt_guard_call(&context, kernel, buffers, nullptr, arena, bytes, operands, "k");
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
mxrt_status writesBehind(const mxrt_context *, void *const *buffers, const int64_t *) {
  memset(buffers[1], 1, 65);
  return nullptr;
}
mxrt_status writesInput(const mxrt_context *, void *const *buffers, const int64_t *) {
  static_cast<char *>(buffers[0])[3] = 1;
  return nullptr;
}
mxrt_status writesFarBefore(const mxrt_context *, void *const *buffers, const int64_t *) {
  static_cast<char *>(buffers[0])[-1] = 1;
  return nullptr;
}
mxrt_status writesPastTheEnd(const mxrt_context *, void *const *buffers, const int64_t *) {
  static_cast<char *>(buffers[0])[bytes] = 1;
  return nullptr;
}
mxrt_status seesPoison(const mxrt_context *, void *const *buffers, const int64_t *) {
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

/// All floats of the output but the sixth.
mxrt_status leavesOne(const mxrt_context *, void *const *buffers, const int64_t *) {
  for (int i = 0; i < 16; ++i)
    if (i != 5)
      static_cast<float *>(buffers[1])[i] = 0;
  return nullptr;
}

TEST_F(GuardTest, WhatHoldsNothingIsPoison) {
  memset(arena, 7, 128);
  EXPECT_EQ(call(seesPoison), ""); // the output, before the call
  EXPECT_EQ(call(copies, MXRT_GUARD_ENDS), "");
  EXPECT_EQ(static_cast<unsigned char>(arena[5]), MXRT_POISON_BYTE);
  EXPECT_EQ(arena[64 + 5], 7);
}

TEST_F(GuardTest, OutputsOutsideOfTheArenaArePoisonToo) {
  float result[17] = {};
  void *buffers[] = {arena, result};
  mxrt_guard_operand operands[] = {{64, MXRT_GUARD_READS}, {64, MXRT_GUARD_WRITES}, {-1, 0}};
  EXPECT_EQ(mxrt_guard_call(&context, seesPoison, buffers, nullptr, arena, bytes, operands, "k"),
            nullptr);
  EXPECT_EQ(result[16], 0) << "no byte behind the output";
}

TEST_F(GuardTest, FloatsThatAreNotWrittenAreSeen) {
  constexpr int64_t floats = MXRT_GUARD_FLOATS + 4 * MXRT_GUARD_ELEMENT;
  std::vector<float> result(16);
  auto call = [&](void *output, int64_t flags, int64_t ofInput = 0) {
    void *buffers[] = {arena, output};
    mxrt_guard_operand operands[] = {
        {64, MXRT_GUARD_READS | ofInput}, {64, MXRT_GUARD_WRITES | flags}, {-1, 0}};
    mxrt_status status =
        mxrt_guard_call(&context, leavesOne, buffers, nullptr, arena, bytes, operands, "k");
    std::string text = status ? mxrt_status_message(status) : "";
    mxrt_status_release(status);
    return text;
  };
  for (void *output : {static_cast<void *>(result.data()), static_cast<void *>(arena + 64)})
    EXPECT_NE(call(output, floats).find("kernel `k` did not write element 5 of its operand 1"),
              std::string::npos);
  // Integers may be poison by themselves, and what is written over an input need not be written.
  EXPECT_EQ(call(arena + 64, 0), "");
  EXPECT_EQ(call(arena + 64, floats | MXRT_GUARD_OVER), "");
  // The input holds nothing yet: what is copied from it does not either.
  EXPECT_EQ(call(arena + 64, floats, floats), "");
  memset(arena, 0, 64);
  EXPECT_NE(call(arena + 64, floats, floats), "");
}

} // namespace
