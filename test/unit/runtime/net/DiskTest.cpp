// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../TestAllocator.h"
#include "net/SimDisk.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace mxrt::test {
namespace {

std::string contentOf(net::Disk &disk, const char *name, const mxrt_allocator *alloc) {
  Vec<char> bytes(alloc);
  Status status = disk.read(name, 1000, bytes);
  return status.ok() ? std::string(bytes.data(), bytes.size())
                     : "R0" + std::to_string(int(status.code()));
}

/// The behaviour that both kinds of disk share.
void exercise(net::Disk &disk, const mxrt_allocator *alloc) {
  EXPECT_EQ(contentOf(disk, "log", alloc), "R0601");
  EXPECT_TRUE(disk.append("log", "ab", 2).ok());
  EXPECT_TRUE(disk.append("log", "", 0).ok());
  EXPECT_TRUE(disk.append("log", "cd", 2).ok());
  EXPECT_TRUE(disk.sync("log").ok());
  EXPECT_EQ(contentOf(disk, "log", alloc), "abcd");
  EXPECT_TRUE(disk.append("new", "xyz", 3).ok());
  EXPECT_TRUE(disk.sync("new").ok());
  EXPECT_TRUE(disk.rename("new", "log").ok());
  EXPECT_EQ(contentOf(disk, "log", alloc), "xyz");
  EXPECT_EQ(contentOf(disk, "new", alloc), "R0601");
  EXPECT_EQ(disk.rename("new", "log").code(), MXRT_FILE_ACCESS);
  EXPECT_EQ(disk.sync("none").code(), MXRT_FILE_ACCESS);
  Vec<char> bytes(alloc);
  EXPECT_EQ(disk.read("log", 2, bytes).code(), MXRT_SIZE_OVERFLOW);
  for (const char *name : {"", ".", "..", "a/b", "/etc/passwd"})
    EXPECT_EQ(disk.append(name, "x", 1).code(), MXRT_INVALID_ARGUMENT) << name;
}

TEST(Disk, FolderDisk) {
  TestAllocator memory;
  std::string folder =
      (std::filesystem::temp_directory_path() / ("mx-disk-" + std::to_string(getpid()))).string();
  std::filesystem::create_directory(folder);
  net::FolderDisk disk(memory.get(), folder.c_str());
  exercise(disk, memory.get());
  std::filesystem::remove_all(folder);
  EXPECT_EQ(memory.liveBlocks(), 0);
}

TEST(Disk, SimDisk) {
  TestAllocator memory;
  {
    net::SimDisk disk(memory.get(), 1);
    exercise(disk, memory.get());
  }
  EXPECT_EQ(memory.liveBlocks(), 0);
  EXPECT_EQ(memory.mistake(), "");
}

TEST(Disk, CrashLosesOnlyWhatWasNotSynced) {
  int shorter = 0, gone = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    TestAllocator memory;
    net::SimDisk disk(memory.get(), seed);
    ASSERT_TRUE(disk.append("log", "abc", 3).ok());
    ASSERT_TRUE(disk.sync("log").ok());
    ASSERT_TRUE(disk.append("log", "defg", 4).ok());
    ASSERT_TRUE(disk.append("other", "x", 1).ok());
    disk.crash();
    std::string log = contentOf(disk, "log", memory.get());
    EXPECT_EQ(log, std::string("abcdefg").substr(0, log.size()));
    EXPECT_GE(log.size(), 3u);
    shorter += log.size() < 7;
    gone += contentOf(disk, "other", memory.get()) == "R0601";
  }
  EXPECT_GT(shorter, 10);
  EXPECT_GT(gone, 10);
}

} // namespace
} // namespace mxrt::test
