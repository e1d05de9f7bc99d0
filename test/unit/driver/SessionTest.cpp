// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions beside each other, and the cache they share.
#include "Driver/InputSession.h"
#include "Driver/ProgramSession.h"
#include "Driver/Commands.h"
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mx::driver;

namespace {

class Sessions : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("mx-sessions-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  SessionOptions options() const {
    SessionOptions made;
    made.check.stdlib = MX_SOURCE_DIR "/stdlib";
    made.cacheFolder = folder;
    return made;
  }
  struct Outcome {
    bool fine;
    std::string out, err;
  };
  Outcome run(const std::string &text) const {
    std::ostringstream out, err;
    ProgramSession session(options(), out, err);
    bool fine = session.ready() && session.runProgram("test.mx", "", text);
    return {fine, out.str(), err.str()};
  }

  std::filesystem::path folder;
};

/// A program with as many graphs as asked for, all different.
std::string manyGraphs(int count) {
  std::string text = "let x = [1.0, 2.0, 3.0]\n";
  for (int i = 0; i < count; ++i)
    text += "print(graph { (x * " + std::to_string(i + 1) + ".0 + exp(x - x)).sum() })\n";
  return text;
}
std::string manyResults(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += std::to_string(6 * (i + 1) + 3) + ".0\n";
  return text;
}

TEST_F(Sessions, TwoThreadsTwoSessionsOneCache) {
  Outcome outcomes[2];
  std::thread other([&] { outcomes[1] = run(manyGraphs(12)); });
  outcomes[0] = run(manyGraphs(12));
  other.join();
  for (const Outcome &outcome : outcomes) {
    EXPECT_TRUE(outcome.fine) << outcome.err;
    EXPECT_EQ(outcome.out, manyResults(12));
  }
  // And from the cache.
  EXPECT_EQ(run(manyGraphs(12)).out, manyResults(12));
}

TEST_F(Sessions, KilledWhileCompiling) {
  for (int delay : {1, 5, 20, 60}) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      run(manyGraphs(40));
      _exit(0);
    }
    usleep(static_cast<useconds_t>(delay) * 1000);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    Outcome after = run(manyGraphs(6));
    EXPECT_TRUE(after.fine) << after.err;
    EXPECT_EQ(after.out, manyResults(6));
  }
}

TEST_F(Sessions, DamagedCacheIsNotUsed) {
  EXPECT_EQ(run(manyGraphs(4)).out, manyResults(4));
  for (auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) {
      std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all);
      FILE *file = std::fopen(entry.path().c_str(), "r+b");
      std::fseek(file, 200, SEEK_SET);
      std::fputc(0x5a, file);
      std::fclose(file);
    }
  Outcome after = run(manyGraphs(4));
  EXPECT_TRUE(after.fine) << after.err;
  EXPECT_EQ(after.out, manyResults(4));
}

TEST_F(Sessions, UsableAfterErrors) {
  std::ostringstream out, err;
  InputSession session(options(), out, err);
  ASSERT_TRUE(session.ready());
  bool complete = false;
  EXPECT_TRUE(session.runInput("<1>", "let x = [1, 2]\n", complete));
  EXPECT_FALSE(session.runInput("<2>", "print(x // (x - x))\n", complete));
  EXPECT_FALSE(session.runInput("<3>", "print(x[7])\n", complete));
  EXPECT_FALSE(session.runInput("<4>", "assert x.sum() == 4\n", complete));
  EXPECT_FALSE(session.runInput("<5>", "raise Error(\"no\")\n", complete));
  EXPECT_TRUE(session.runInput("<6>", "print(graph { x + 1 })\n", complete));
  EXPECT_EQ(out.str(), "i64[2]\n[2 3]\n") << err.str();
}

TEST_F(Sessions, CancelledFromAnotherThread) {
  std::ostringstream out, err;
  InputSession session(options(), out, err);
  ASSERT_TRUE(session.ready());
  std::thread stopper([&] {
    usleep(100000);
    session.cancel();
  });
  bool complete = false;
  EXPECT_FALSE(session.runInput("<1>", "var n = 0\nwhile true { n += 1 }\n", complete));
  stopper.join();
  session.clearCancel();
  EXPECT_TRUE(session.runInput("<2>", "print(1 + 1)\n", complete));
  EXPECT_EQ(out.str(), "2\n");
}

} // namespace
