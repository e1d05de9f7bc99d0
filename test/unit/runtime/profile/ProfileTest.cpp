// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The profile: what is recorded, in which form, and that it stays small.

#include "mxrt/engine.h"
#include "mxrt/profile.h"
#include "mxrt/runtime.h"

#include "../TestAllocator.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace {

mxrt_status append(void *user, const char *text, size_t size) {
  static_cast<std::string *>(user)->append(text, size);
  return nullptr;
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

/// A reader of JSON that accepts exactly the grammar, and nothing else.
class JsonChecker {
public:
  explicit JsonChecker(const std::string &text) : at(text.c_str()) {}
  bool good() { return value() && (space(), *at == 0); }

private:
  void space() {
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
      ++at;
  }
  bool literal(const char *word) {
    size_t size = std::string(word).size();
    if (std::string(at).compare(0, size, word) != 0)
      return false;
    at += size;
    return true;
  }
  bool string() {
    if (*at++ != '"')
      return false;
    for (; *at && *at != '"'; ++at) {
      if (static_cast<unsigned char>(*at) < 0x20)
        return false;
      if (*at == '\\' && !*++at)
        return false;
    }
    return *at++ == '"';
  }
  bool list(char close, bool pairs) {
    ++at;
    space();
    if (*at == close)
      return ++at, true;
    for (;;) {
      space();
      if (pairs && (!string() || (space(), *at++ != ':')))
        return false;
      if (!value())
        return false;
      space();
      if (*at == close)
        return ++at, true;
      if (*at++ != ',')
        return false;
    }
  }
  bool value() {
    space();
    switch (*at) {
    case '{':
      return list('}', true);
    case '[':
      return list(']', false);
    case '"':
      return string();
    case 't':
      return literal("true");
    case 'f':
      return literal("false");
    case 'n':
      return literal("null");
    }
    char *end;
    std::strtod(at, &end);
    bool number = end != at;
    at = end;
    return number;
  }
  const char *at;
};

class ProfileTest : public testing::Test {
protected:
  void make(size_t capacity) {
    ASSERT_EQ(mxrt_profile_create(memory.get(), capacity, &profile), nullptr);
  }
  void TearDown() override {
    mxrt_profile_destroy(profile);
    EXPECT_EQ(memory.liveBlocks(), 0);
    EXPECT_EQ(memory.mistake(), "");
  }
  std::string trace() {
    std::string text;
    EXPECT_EQ(mxrt_profile_write_trace(profile, append, &text), nullptr);
    EXPECT_TRUE(JsonChecker(text).good()) << text;
    return text;
  }
  std::string summary(size_t rows = 0) {
    std::string text;
    EXPECT_EQ(mxrt_profile_write_summary(profile, rows, append, &text),
              nullptr);
    return text;
  }
  void record(const char *name, int64_t begin, int64_t end,
              mxrt_profile_category category = MXRT_PROFILE_OP,
              int64_t bytes = 0) {
    mxrt_profile_record(profile, category, name, {"dir/a.mx", 3, 9}, 0, begin,
                        end, bytes);
  }

  TestAllocator memory;
  mxrt_profile *profile = nullptr;
};

TEST_F(ProfileTest, OffRecordsNothingAndHoldsNoMemory) {
  make(0);
  long blocks = memory.liveBlocks();
  record("op", 0, 1);
  uint64_t kept, lost;
  mxrt_profile_count(profile, &kept, &lost);
  EXPECT_EQ(kept + lost, 0u);
  EXPECT_EQ(memory.liveBlocks(), blocks);
  EXPECT_EQ(countOf(trace(), "\"ph\":\"X\""), 0u);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  record("op", 0, 1);
  mxrt_profile_stop(profile);
  record("op", 1, 2);
  mxrt_profile_count(profile, &kept, &lost);
  EXPECT_EQ(kept, 1u);
  mxrt_profile_reset(profile);
  mxrt_profile_count(profile, &kept, &lost);
  EXPECT_EQ(kept, 0u);
}

TEST_F(ProfileTest, TraceHasNameLocationLaneAndTimes) {
  make(16);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  record("matmul \"x\"\\\n", 1500, 4750);
  record("alloc", 5000, 5100, MXRT_PROFILE_ALLOCATION, 4096);
  record("free", 6000, 6000, MXRT_PROFILE_ALLOCATION, -96);
  std::string text = trace();
  EXPECT_NE(text.find(R"("name":"matmul \"x\"\\\u000a")"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\"ts\":1.500,\"dur\":3.250"), std::string::npos) << text;
  EXPECT_NE(text.find("\"location\":\"dir/a.mx:3:9\""), std::string::npos);
  EXPECT_NE(text.find("\"lane\":\"cpu:0\""), std::string::npos);
  EXPECT_NE(text.find("\"args\":{\"bytes\":4000}"), std::string::npos)
      << "live bytes after the second";
}

TEST_F(ProfileTest, LongNamesKeepTheirEnd) {
  make(4);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  std::string longName(300, 'a');
  longName += "ä-end";
  std::string longFile = std::string(200, 'd') + "/file.mx";
  mxrt_profile_record(profile, MXRT_PROFILE_HOST, longName.c_str(),
                      {longFile.c_str(), 1, 2}, -1, 0, 1, 0);
  mxrt_profile_record(profile, MXRT_PROFILE_HOST, nullptr, {}, -1, 0, 1, 0);
  std::string text = trace();
  EXPECT_NE(text.find("aä-end\""), std::string::npos);
  EXPECT_NE(text.find("/file.mx:1:2"), std::string::npos);
  EXPECT_EQ(text.find("\"lane\""), std::string::npos);
}

TEST_F(ProfileTest, SummaryAddsUpAndSorts) {
  make(16);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  record("add", 0, 1000);
  record("matmul", 0, 9000);
  record("add", 0, 3000);
  record("add", 0, 2000, MXRT_PROFILE_WAIT);
  std::string text = summary();
  size_t matmul = text.find("matmul"), add = text.find("add");
  ASSERT_NE(matmul, std::string::npos);
  EXPECT_LT(matmul, add) << text;
  EXPECT_NE(text.find("2        4.000   26.7        2.000        1.000"),
            std::string::npos)
      << text;
  EXPECT_EQ(countOf(summary(1), "\n"), 2u);
}

TEST_F(ProfileTest, MemoryIsBounded) {
  make(8);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  long blocks = memory.liveBlocks();
  for (int i = 0; i < 100; ++i)
    record("op", i, i + 1);
  uint64_t kept, lost;
  mxrt_profile_count(profile, &kept, &lost);
  EXPECT_EQ(kept, 8u);
  EXPECT_EQ(lost, 92u);
  EXPECT_EQ(memory.liveBlocks(), blocks);
  EXPECT_EQ(countOf(trace(), "\"ph\":\"X\""), 8u);
  EXPECT_NE(summary().find("92 events did not fit"), std::string::npos);
}

TEST_F(ProfileTest, FailingSinkAndFailingMemory) {
  make(8);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  record("op", 0, 1);
  auto refuse = [](void *, const char *, size_t) {
    return mxrt_status_constant(MXRT_FILE_ACCESS);
  };
  EXPECT_EQ(mxrt_status_code(mxrt_profile_write_trace(profile, refuse, nullptr)),
            MXRT_FILE_ACCESS);
  memory.refuse();
  std::string text;
  EXPECT_EQ(mxrt_status_code(
                mxrt_profile_write_summary(profile, 0, append, &text)),
            MXRT_OUT_OF_MEMORY);
  mxrt_profile *other = nullptr;
  EXPECT_EQ(mxrt_status_code(mxrt_profile_create(memory.get(), 8, &other)),
            MXRT_OUT_OF_MEMORY);
  EXPECT_EQ(other, nullptr);
}

TEST_F(ProfileTest, RecordsFromManyThreadsWhileRead) {
  make(2000);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i)
        record("op", i, i + 1);
    });
  for (int i = 0; i < 5; ++i)
    trace();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(countOf(trace(), "\"ph\":\"X\""), 2000u);
}

TEST_F(ProfileTest, EngineRecordsOpsAndWaits) {
  make(64);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  mxrt_engine_options options = {};
  options.kind = MXRT_ENGINE_THREADED;
  options.workers_per_device = 1;
  options.profile = profile;
  mxrt_engine *engine = nullptr;
  ASSERT_EQ(mxrt_engine_create(&options, &engine), nullptr);
  mxrt_var var = 0;
  ASSERT_EQ(mxrt_engine_new_var(engine, &var), nullptr);
  mxrt_op op = {};
  op.run = [](mxrt_op_context *, void *) -> mxrt_status {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return nullptr;
  };
  op.writes = &var;
  op.write_count = 1;
  op.name = "slow";
  op.location = {"train.mx", 12, 5};
  op.lane = MXRT_LANE_COPY;
  ASSERT_EQ(mxrt_engine_push(engine, &op), nullptr);
  ASSERT_EQ(mxrt_engine_wait(engine, var, {"train.mx", 13, 1}), nullptr);
  mxrt_engine_destroy(engine);
  std::string text = trace();
  EXPECT_NE(text.find("\"name\":\"slow\",\"cat\":\"op\""), std::string::npos)
      << text;
  EXPECT_NE(text.find("\"location\":\"train.mx:12:5\",\"lane\":\"copy\""),
            std::string::npos);
  EXPECT_NE(text.find("\"cat\":\"wait\""), std::string::npos);
  EXPECT_NE(text.find("train.mx:13:1"), std::string::npos);
}

TEST(RuntimeParts, EngineAndProfileBelongToTheRuntime) {
  mxrt_runtime *runtime = nullptr;
  ASSERT_EQ(mxrt_runtime_create(nullptr, &runtime), nullptr);
  mxrt_engine *engine = nullptr, *again = nullptr;
  ASSERT_EQ(mxrt_runtime_engine(runtime, nullptr, &engine), nullptr);
  ASSERT_EQ(mxrt_runtime_engine(runtime, nullptr, &again), nullptr);
  EXPECT_EQ(engine, again);
  mxrt_profile *profile = nullptr;
  ASSERT_EQ(mxrt_runtime_profile(runtime, &profile), nullptr);
  ASSERT_EQ(mxrt_profile_start(profile), nullptr);
  mxrt_var var = 0;
  ASSERT_EQ(mxrt_engine_new_var(engine, &var), nullptr);
  mxrt_op op = {};
  op.run = [](mxrt_op_context *, void *) -> mxrt_status { return nullptr; };
  op.writes = &var;
  op.write_count = 1;
  op.name = "op";
  ASSERT_EQ(mxrt_engine_push(engine, &op), nullptr);
  ASSERT_EQ(mxrt_engine_wait_all(engine, {}), nullptr);
  uint64_t kept = 0;
  mxrt_profile_count(profile, &kept, nullptr);
  EXPECT_GE(kept, 1u);
  // The runtime's cancellation reaches the engine's ops.
  mxrt_runtime_cancel(runtime);
  ASSERT_EQ(mxrt_engine_push(engine, &op), nullptr);
  mxrt_status status = mxrt_engine_wait(engine, var, {});
  EXPECT_EQ(mxrt_status_code(status), MXRT_CANCELLED);
  mxrt_status_release(status);
  mxrt_runtime_destroy(runtime);
}

TEST(RuntimeParts, EngineKindFromTheEnvironment) {
  setenv("MX_ENGINE", "quantum", 1);
  mxrt_runtime *runtime = nullptr;
  ASSERT_EQ(mxrt_runtime_create(nullptr, &runtime), nullptr);
  mxrt_engine *engine = nullptr;
  mxrt_status status = mxrt_runtime_engine(runtime, nullptr, &engine);
  EXPECT_EQ(mxrt_status_code(status), MXRT_BAD_SETTING);
  EXPECT_EQ(engine, nullptr);
  mxrt_status_release(status);
  setenv("MX_ENGINE", "naive", 1);
  ASSERT_EQ(mxrt_runtime_engine(runtime, nullptr, &engine), nullptr);
  std::thread::id ran;
  mxrt_op op = {};
  op.payload = &ran;
  op.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
    *static_cast<std::thread::id *>(payload) = std::this_thread::get_id();
    return nullptr;
  };
  ASSERT_EQ(mxrt_engine_push(engine, &op), nullptr);
  EXPECT_EQ(ran, std::this_thread::get_id());
  unsetenv("MX_ENGINE");
  mxrt_runtime_destroy(runtime);
}

} // namespace
