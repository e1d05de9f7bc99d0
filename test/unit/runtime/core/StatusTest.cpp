// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../TestAllocator.h"
#include "base/Allocator.h"
#include "base/StatusReserve.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

using namespace mxrt;

namespace {

constexpr mxrt_location somewhere = {"train.mx", 31, 23};
constexpr mxrt_location elsewhere = {"other.mx", 36, 9};

std::string format(mxrt_status status) {
  std::string text(mxrt_status_format(status, nullptr, 0) + 1, '\0');
  mxrt_status_format(status, text.data(), text.size());
  text.pop_back();
  return text;
}

TEST(Status, SuccessIsNullAndFree) {
  Status ok = success();
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.get(), nullptr);
  EXPECT_EQ(mxrt_status_code(nullptr), MXRT_OK);
  EXPECT_STREQ(mxrt_status_message(nullptr), "");
  EXPECT_EQ(mxrt_status_retain(nullptr), nullptr);
  EXPECT_EQ(mxrt_status_issued(nullptr, somewhere), nullptr);
  EXPECT_EQ(mxrt_status_noticed(nullptr, somewhere), nullptr);
  EXPECT_EQ(mxrt_status_note(nullptr, "x"), nullptr);
  mxrt_status_release(nullptr);
  EXPECT_EQ(format(nullptr), "ok");
}

TEST(Status, CarriesCodeMessageAndBothLocations) {
  TestAllocator alloc;
  {
    Status failure = error(alloc.get(), MXRT_SHAPE, somewhere,
                           "rows %d and %d differ", 3, 4);
    EXPECT_EQ(failure.code(), MXRT_SHAPE);
    EXPECT_STREQ(failure.message(), "rows 3 and 4 differ");
    EXPECT_STREQ(failure.location().file, "train.mx");
    EXPECT_EQ(failure.location().line, 31);
    EXPECT_EQ(failure.noticedLocation().file, nullptr);
    failure = std::move(failure).noticedAt(elsewhere).withNote("a note");
    failure = std::move(failure).withNote("help: do this");
    EXPECT_EQ(format(failure.get()),
              "error[R0201]: rows 3 and 4 differ\n --> train.mx:31:23\n "
              "noticed at other.mx:36:9\n = note: a note\n = help: do this");
  }
  EXPECT_EQ(alloc.liveBlocks(), 0);
  EXPECT_EQ(alloc.mistake(), "");
}

TEST(Status, CopiesFileNames) {
  char file[] = "gone.mx";
  Status failure = error(nullptr, MXRT_INDEX, {file, 1, 2}, "x");
  file[0] = 'X';
  EXPECT_STREQ(failure.location().file, "gone.mx");
}

TEST(Status, InnermostIssueLocationWins) {
  Status failure = error(nullptr, MXRT_INDEX, somewhere, "x");
  failure = std::move(failure).issuedAt(elsewhere);
  EXPECT_EQ(failure.location().line, 31);
  Status unplaced = error(nullptr, MXRT_INDEX, noLocation, "x");
  unplaced = std::move(unplaced).issuedAt(elsewhere);
  EXPECT_EQ(unplaced.location().line, 36);
  EXPECT_STREQ(unplaced.location().file, "other.mx");
}

TEST(Status, SharedErrorIsCopiedBeforeAChange) {
  TestAllocator alloc;
  {
    Status first = error(alloc.get(), MXRT_NAN_FOUND, somewhere, "NaN");
    Status second = first.share();
    EXPECT_EQ(first.get(), second.get());
    second = std::move(second).noticedAt(elsewhere);
    EXPECT_NE(first.get(), second.get());
    EXPECT_EQ(first.noticedLocation().line, 0);
    EXPECT_EQ(second.noticedLocation().line, 36);
    EXPECT_EQ(second.location().line, 31);
    EXPECT_STREQ(second.message(), "NaN");
  }
  EXPECT_EQ(alloc.liveBlocks(), 0);
}

TEST(Status, NoticingAgainManyTimesKeepsTheLast) {
  Status failure = error(nullptr, MXRT_NAN_FOUND, somewhere, "NaN");
  for (int i = 1; i <= 1000; ++i) {
    std::string file = "file" + std::to_string(i) + ".mx";
    failure = std::move(failure).noticedAt({file.c_str(), i, 1});
  }
  EXPECT_STREQ(failure.noticedLocation().file, "file1000.mx");
  EXPECT_STREQ(failure.location().file, "train.mx");
}

TEST(Status, LongMessagesAreWhole) {
  std::string text(5000, 'y');
  Status failure = error(nullptr, MXRT_RAISED, noLocation, "%s!", text.c_str());
  EXPECT_EQ(std::string(failure.message()), text + "!");
}

TEST(Status, FormatNeverWritesPastTheBuffer) {
  Status failure = error(nullptr, MXRT_RAISED, somewhere, "hello");
  size_t needed = mxrt_status_format(failure.get(), nullptr, 0);
  for (size_t capacity = 0; capacity <= needed + 2; ++capacity) {
    std::vector<char> buffer(capacity + 1, '#');
    EXPECT_EQ(mxrt_status_format(failure.get(), buffer.data(), capacity),
              needed);
    EXPECT_EQ(buffer[capacity], '#');
    if (capacity > 0) {
      EXPECT_EQ(strlen(buffer.data()), std::min(capacity - 1, needed));
    }
  }
}

TEST(Status, OkAsAnErrorCodeBecomesInternal) {
  Status failure = error(nullptr, MXRT_OK, noLocation, "impossible");
  EXPECT_EQ(failure.code(), MXRT_INTERNAL);
}

TEST(Status, ConstantsNeedNoMemoryAndNoRelease) {
  std::set<int> numbers;
#define MXRT_CODE(name, number, text)                                          \
  EXPECT_EQ(mxrt_status_code(mxrt_status_constant(MXRT_##name)),               \
            MXRT_##name);                                                      \
  EXPECT_STREQ(mxrt_status_message(mxrt_status_constant(MXRT_##name)), text);  \
  EXPECT_STREQ(mxrt_code_name(MXRT_##name), #name);                            \
  EXPECT_TRUE(numbers.insert(number).second) << "number used twice: " #name;
#include "mxrt/codes.def"
  mxrt_status constant = mxrt_status_constant(MXRT_OUT_OF_MEMORY);
  mxrt_status_release(constant);
  mxrt_status_release(constant);
  EXPECT_EQ(mxrt_status_noticed(constant, somewhere), constant);
  EXPECT_STREQ(mxrt_status_message(constant), "out of memory");
  EXPECT_EQ(mxrt_status_code(mxrt_status_constant(mxrt_code(9999))),
            MXRT_INTERNAL);
}

TEST(Status, WithoutMemoryTheReserveKeepsMessageAndLocation) {
  TestAllocator alloc;
  mxrt_allocator table = *alloc.get();
  table.reserve = createReserve(&table);
  ASSERT_NE(table.reserve, nullptr);
  alloc.refuse();
  {
    Status failure =
        error(&table, MXRT_OUT_OF_MEMORY, somewhere, "f32[%d] needs %d bytes",
              10, 40);
    EXPECT_STREQ(failure.message(), "f32[10] needs 40 bytes");
    EXPECT_EQ(failure.location().column, 23);
    failure = std::move(failure).noticedAt(elsewhere).withNote("and more");
    EXPECT_STREQ(failure.noticedLocation().file, "other.mx");
    EXPECT_STREQ(failure.message(), "f32[10] needs 40 bytes\nand more");
    // Twenty at once: the reserve runs out, the errors do not.
    std::vector<Status> many;
    int withMessage = 0;
    for (int i = 0; i < 20; ++i) {
      many.push_back(error(&table, MXRT_OUT_OF_MEMORY, somewhere, "here"));
      withMessage += many.back().location().line == 31;
      EXPECT_EQ(many.back().code(), MXRT_OUT_OF_MEMORY);
    }
    EXPECT_EQ(withMessage, reserveSlots - 1);
    many.clear();
    EXPECT_STREQ(error(&table, MXRT_SHAPE, noLocation, "again").message(), "again");
    // An error may outlive the owner of the reserve.
    releaseReserve(table.reserve);
    EXPECT_STREQ(failure.message(), "f32[10] needs 40 bytes\nand more");
  }
  EXPECT_EQ(alloc.liveBlocks(), 0);
  EXPECT_EQ(alloc.mistake(), "");
}

TEST(Status, SharedErrorsAreCopiedIntoTheReserveToo) {
  TestAllocator alloc;
  mxrt_allocator table = *alloc.get();
  table.reserve = createReserve(&table);
  {
    // Made while there was memory, noticed when there is none, and the owner of
    // the reserve has gone.
    Status failure = error(&table, MXRT_SHAPE, somewhere, "rows differ");
    alloc.refuse();
    releaseReserve(table.reserve);
    Status first = failure.share().noticedAt(elsewhere).withNote("note: here");
    EXPECT_STREQ(first.noticedLocation().file, "other.mx");
    EXPECT_STREQ(first.message(), "rows differ\nnote: here");
    Status second = first.share().noticedAt({"third.mx", 7, 1});
    EXPECT_EQ(second.noticedLocation().line, 7);
    EXPECT_EQ(second.location().line, 31);
    EXPECT_STREQ(first.noticedLocation().file, "other.mx");
    EXPECT_EQ(failure.noticedLocation().line, 0);
  }
  EXPECT_EQ(alloc.liveBlocks(), 0);
  EXPECT_EQ(alloc.mistake(), "");
}

TEST(Status, LongTextInTheReserveIsCut) {
  TestAllocator alloc;
  mxrt_allocator table = *alloc.get();
  table.reserve = createReserve(&table);
  alloc.refuse();
  std::string longText(3000, 'z');
  {
    Status failure = error(&table, MXRT_RAISED, somewhere, "%s",
                           longText.c_str());
    EXPECT_GT(strlen(failure.message()), 300u);
    EXPECT_EQ(failure.location().line, 31);
  }
  releaseReserve(table.reserve);
  EXPECT_EQ(alloc.liveBlocks(), 0);
}

TEST(Status, ManyThreadsShareOneError) {
  TestAllocator alloc;
  {
    Status failure = error(alloc.get(), MXRT_RAISED, somewhere, "shared");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&failure, t] {
        for (int i = 0; i < 2000; ++i) {
          Status mine = failure.share();
          mine = std::move(mine).noticedAt({"t.mx", t + 1, i + 1});
          ASSERT_EQ(mine.noticedLocation().line, t + 1);
          ASSERT_EQ(mine.location().line, 31);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(failure.noticedLocation().line, 0);
  }
  EXPECT_EQ(alloc.liveBlocks(), 0);
}

TEST(Result, HoldsAValueOrAnError) {
  Result<int> good = 7;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  EXPECT_TRUE(good.takeStatus().ok());
  Result<int> bad = error(nullptr, MXRT_INDEX, noLocation, "no");
  EXPECT_TRUE(bad.failed());
  EXPECT_EQ(bad.takeStatus().code(), MXRT_INDEX);
}

TEST(Vec, GrowthThatFailsChangesNothing) {
  TestAllocator alloc(TestAllocator::Fail::Once, 2);
  {
    Vec<int> numbers(alloc.get());
    for (int i = 0; i < 4; ++i)
      ASSERT_TRUE(numbers.push(i));
    EXPECT_FALSE(numbers.push(4));
    ASSERT_EQ(numbers.size(), 4u);
    EXPECT_EQ(numbers[3], 3);
    ASSERT_TRUE(numbers.push(4));
    numbers.swapRemove(0);
    EXPECT_EQ(numbers[0], 4);
    EXPECT_FALSE(numbers.reserve(SIZE_MAX / 4));
  }
  EXPECT_EQ(alloc.liveBlocks(), 0);
  EXPECT_EQ(alloc.mistake(), "");
}

} // namespace
