// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The history file: entries of several lines, concurrent sessions, file mode.
#include "Repl/History.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace mx::repl {
namespace {

namespace fs = std::filesystem;

class HistoryTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mx-history-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = (folder / "state" / "mx" / "history").string();
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder;
  std::string path;
};

using Entries = std::vector<std::string>;

TEST_F(HistoryTest, EntriesComeBackAsTheyWere) {
  Entries inputs = {"let a = 1", "fn f() {\n  \"a\\nb\"\n}", "\\", "\\n", "print(\"\xc3\xa9\")"};
  {
    History history(path);
    for (const std::string &input : inputs)
      history.add(input);
    EXPECT_EQ(history.entries(), inputs);
  }
  EXPECT_EQ(History(path).entries(), inputs);
}

TEST_F(HistoryTest, EmptyInputsAndRepetitionsAreLeftOut) {
  History history(path);
  for (const char *input : {"a", "a", "", " \n", "a  \n", "b", "a"})
    history.add(input);
  EXPECT_EQ(history.entries(), (Entries{"a", "b", "a"}));
  EXPECT_EQ(History(path).entries(), history.entries());
}

TEST_F(HistoryTest, SessionsAtTheSameTimeLoseNothing) {
  History one(path), other(path);
  for (int i = 0; i < 100; ++i) {
    one.add("one " + std::to_string(i));
    other.add("other " + std::to_string(i));
  }
  EXPECT_EQ(one.entries().size(), 100u);
  EXPECT_EQ(History(path).entries().size(), 200u);
}

TEST_F(HistoryTest, OnlyTheUserReadsIt) {
  History history(path);
  history.add("let password = \"x\"");
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
}

TEST_F(HistoryTest, ALongFileIsCutToItsNewestEntries) {
  History(path).add("first"); // makes the folder
  {
    std::ofstream file(path);
    for (int i = 0; i < 10001; ++i)
      file << i << "\n";
  }
  Entries entries = History(path).entries();
  ASSERT_EQ(entries.size(), 5000u);
  EXPECT_EQ(entries.front(), "5001");
  EXPECT_EQ(entries.back(), "10000");
  EXPECT_EQ(History(path).entries(), entries);
}

TEST_F(HistoryTest, AFileThatCannotBeWrittenIsNoError) {
  for (const std::string &nowhere : {std::string(), folder.string(), std::string("/proc/none/history")}) {
    History history(nowhere);
    history.add("a");
    EXPECT_EQ(history.entries(), Entries{"a"});
  }
}

TEST_F(HistoryTest, ThePathFollowsTheEnvironment) {
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(History::defaultPath(), "/state/mx/history");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(History::defaultPath(), "/home/somebody/.local/state/mx/history");
  unsetenv("HOME");
  EXPECT_EQ(History::defaultPath(), "");
}

} // namespace
} // namespace mx::repl
