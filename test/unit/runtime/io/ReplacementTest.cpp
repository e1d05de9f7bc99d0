// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaced files: what else has the name of the file or of its temporary one,
// whose mode and owner it gets, and several writers at once.

#include "base/Replacement.h"
#include "base/Files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace mxrt::test {
namespace {

namespace fs = std::filesystem;

class Replaced : public ::testing::Test {
protected:
  Replaced() : folder(fs::temp_directory_path() / ("mx-replace-" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    path = folder / "file";
  }
  ~Replaced() override { fs::remove_all(folder); }

  static int put(const std::string &where, const std::string &text, unsigned mode = 0666) {
    return os::replaceFile(where.c_str(), text.data(), text.size(), mode);
  }
  static std::string content(const std::string &where) {
    std::ifstream in(where, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static unsigned modeOf(const std::string &where) {
    struct stat info;
    return stat(where.c_str(), &info) == 0 ? info.st_mode & 07777u : ~0u;
  }

  fs::path folder;
  std::string path;
};

TEST_F(Replaced, ANewFileHasTheModeThatTheMaskLeaves) {
  mode_t before = umask(027);
  ASSERT_EQ(put(path, "a"), 0);
  ASSERT_EQ(put(path + "x", "a", 0777), 0);
  umask(before);
  EXPECT_EQ(modeOf(path), 0640u);
  EXPECT_EQ(modeOf(path + "x"), 0750u);
  EXPECT_FALSE(fs::exists(path + ".tmp"));
}

TEST_F(Replaced, AnExistingFileKeepsItsMode) {
  for (unsigned mode : {0600u, 0644u, 0666u, 0755u, 0640u}) {
    ASSERT_EQ(put(path, "old"), 0);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    ASSERT_EQ(put(path, "new"), 0);
    EXPECT_EQ(content(path), "new");
    EXPECT_EQ(modeOf(path), mode);
  }
}

TEST_F(Replaced, TheTemporaryFileIsPrivateUntilItHasTheMode) {
  ASSERT_EQ(put(path, "old"), 0);
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  os::Replacement made;
  ASSERT_EQ(os::beginReplacement(path.c_str(), 0666, made), 0);
  EXPECT_EQ(modeOf(path + ".tmp"), 0600u);
  os::abandonReplacement(made);
  EXPECT_FALSE(fs::exists(path + ".tmp"));
  EXPECT_EQ(content(path), "old");
}

TEST_F(Replaced, OtherNamesOfTheTemporaryFileKeepTheirContent) {
  std::string precious = folder / "precious";
  ASSERT_EQ(put(precious, "precious"), 0);
  fs::create_hard_link(precious, path + ".tmp");
  ASSERT_EQ(put(path, "new"), 0);
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(content(precious), "precious");
}

TEST_F(Replaced, ALinkedTemporaryNameIsRefused) {
  std::string precious = folder / "precious";
  ASSERT_EQ(put(precious, "precious"), 0);
  fs::create_symlink(precious, path + ".tmp");
  EXPECT_EQ(put(path, "new"), os::temporaryNameTaken);
  EXPECT_EQ(content(precious), "precious");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Replaced, WhatIsNotARegularFileStays) {
  std::string pipe = folder / "pipe", inner = folder / "inner", socketPath = folder / "socket";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  fs::create_directory(inner);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socketPath.size(), sizeof address.sun_path);
  socketPath.copy(address.sun_path, socketPath.size());
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  std::vector<std::string> odd = {pipe, inner, socketPath};
  // Only some users may make a device.
  std::string device = folder / "null";
  if (mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0)
    odd.push_back(device);
  fs::create_symlink("/dev/null", folder / "linked");
  odd.push_back(folder / "linked");
  for (const std::string &each : odd) {
    fs::file_status before = fs::symlink_status(each);
    EXPECT_EQ(put(each, "new"), os::notARegularFile) << each;
    EXPECT_EQ(fs::symlink_status(each).type(), before.type()) << each;
    EXPECT_FALSE(fs::exists(each + ".tmp")) << each;
    fs::rename(each, path + ".tmp");
    EXPECT_EQ(put(path, "new"), os::temporaryNameTaken) << each;
    EXPECT_FALSE(fs::exists(path));
    fs::rename(path + ".tmp", each);
  }
  close(listener);
}

TEST_F(Replaced, ALinkIsFollowed) {
  fs::create_directory(folder / "store");
  std::string real = folder / "store" / "net.1";
  ASSERT_EQ(put(real, "old"), 0);
  fs::create_symlink("store/net.1", path);
  ASSERT_EQ(put(path, "new"), 0);
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(content(real), "new");
  fs::create_symlink("nowhere", folder / "dangling");
  EXPECT_EQ(put(folder / "dangling", "new"), ENOENT);
}

TEST_F(Replaced, AFileThatMayNotBeWrittenStays) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everything";
  ASSERT_EQ(put(path, "old"), 0);
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  EXPECT_EQ(put(path, "new"), EACCES);
  EXPECT_EQ(content(path), "old");
}

TEST_F(Replaced, WritersAtOnceLeaveAWholeFile) {
  // Each thread writes many bytes of its own letter, in pieces, sometimes gives up, and sometimes
  // plays a writer that died. A reader must only ever see whole files.
  constexpr int writers = 4, rounds = 60;
  constexpr size_t bytes = 40000;
  ASSERT_EQ(put(path, std::string(bytes, 'z')), 0);
  std::atomic<int> running = writers, finished = 0;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      std::mt19937 random(static_cast<unsigned>(w) + 1);
      std::string text(bytes, static_cast<char>('a' + w));
      for (int round = 0; round < rounds; ++round) {
        os::Replacement made;
        int failure = os::beginReplacement(path.c_str(), 0666, made);
        if (failure) {
          EXPECT_EQ(failure, os::writtenByAnother);
          std::this_thread::yield();
          continue;
        }
        for (size_t at = 0; at < bytes;) {
          size_t piece = std::min<size_t>(1 + random() % 9000, bytes - at);
          EXPECT_EQ(os::writeAll(made.descriptor, text.data() + at, piece), 0);
          at += piece;
        }
        int late = 0;
        switch (random() % 4) {
        case 0:
          os::abandonReplacement(made);
          break;
        case 1:
          os::closeFile(made.descriptor); // died: the file is there, the lock is not
          break;
        default:
          EXPECT_EQ(os::finishReplacement(made, false, late), 0);
          ++finished;
        }
      }
      --running;
    });
  while (running > 0) {
    std::string seen = content(path);
    ASSERT_EQ(seen.size(), bytes);
    ASSERT_EQ(seen.find_first_not_of(seen[0]), std::string::npos);
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(finished, 0);
}

} // namespace
} // namespace mxrt::test
