// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many writers, some of which are killed, and a disk without space.
#include "Target/ObjectCache.h"
#include "TargetTestSupport.h"
#include <atomic>
#include <csignal>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mx::target;

namespace {

CacheOptions optionsFor(const std::string &folder) {
  CacheOptions options;
  options.folder = folder;
  options.buildId = "build";
  return options;
}

/// A payload that shows whether it is whole: one letter throughout.
std::string payload(char letter) { return std::string(200000, letter); }
bool whole(const std::string &bytes) { return bytes == payload(bytes.empty() ? ' ' : bytes[0]); }

/// Runs in a process of its own, which ends by itself or is killed.
template <typename Body> pid_t spawn(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  return child;
}

void storeForever(const std::string &folder, char letter) {
  ObjectCache cache(optionsFor(folder));
  for (;;)
    cache.store("key", payload(letter));
}

TEST(CacheProcess, ThreadsMayStoreAndLoadTheSameKey) {
  TemporaryFolder folder;
  ObjectCache cache(optionsFor(folder.path));
  std::atomic<int> torn{0}, found{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if (t % 2)
          cache.store("key", payload(char('a' + i % 26)));
        else if (auto bytes = cache.load("key"))
          ++(whole(*bytes) ? found : torn);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(cache.statistics().rejected, 0u);
  EXPECT_TRUE(cache.load("key"));
}

TEST(CacheProcess, ProcessesMayStoreTheSameKey) {
  TemporaryFolder folder;
  std::vector<pid_t> children;
  for (char letter : {'a', 'b', 'c'})
    children.push_back(spawn([&] {
      ObjectCache cache(optionsFor(folder.path));
      for (int i = 0; i < 40; ++i)
        cache.store("key", payload(letter));
    }));
  ObjectCache cache(optionsFor(folder.path));
  for (int i = 0; i < 200; ++i)
    if (auto bytes = cache.load("key")) {
      EXPECT_TRUE(whole(*bytes));
    }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(cache.statistics().rejected, 0u);
  EXPECT_TRUE(cache.load("key"));
}

TEST(CacheProcess, AKilledWriterHurtsNobody) {
  TemporaryFolder folder;
  ObjectCache cache(optionsFor(folder.path));
  for (int round = 0; round < 30; ++round) {
    const pid_t child = spawn([&] { storeForever(folder.path, char('a' + round % 26)); });
    ASSERT_GT(child, 0);
    ::usleep(useconds_t(1000 + 211 * round)); // at another point each time
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (auto bytes = cache.load("key")) {
      EXPECT_TRUE(whole(*bytes));
    }
  }
  EXPECT_EQ(cache.statistics().rejected, 0u);
  EXPECT_TRUE(cache.store("key", payload('z')));
  EXPECT_EQ(cache.load("key"), payload('z'));
}

TEST(CacheProcess, WithoutSpaceItTurnsItselfOffQuietly) {
  TemporaryFolder folder;
  ASSERT_TRUE(ObjectCache(optionsFor(folder.path)).store("small", "bytes"));
  // A limit on the size of files makes write fail half way, as a full disk does.
  const pid_t child = spawn([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{10000, 10000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ObjectCache cache(optionsFor(folder.path));
    bool good = !cache.store("key", payload('a')) && cache.whyOff() != "" &&
                !cache.store("tiny", "x") && cache.load("small") == "bytes";
    ::_exit(good ? 0 : 1);
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // The half-written file is gone.
  size_t files = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(folder.path))
    ++files;
  EXPECT_EQ(files, 1u);
}

/// Root may write everywhere. Without its capabilities it is a user like any other.
void giveUpCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  ::syscall(SYS_capset, &header, none);
}

TEST(CacheProcess, AFolderThatCannotBeWrittenIsStillRead) {
  TemporaryFolder folder;
  ASSERT_TRUE(ObjectCache(optionsFor(folder.path)).store("a", "b"));
  ASSERT_EQ(::chmod(folder.path.c_str(), 0500), 0);
  const pid_t child = spawn([&] {
    giveUpCapabilities();
    ObjectCache cache(optionsFor(folder.path));
    bool good = !cache.store("c", "d") && cache.whyOff() != "" && cache.load("a") == "b";
    ::_exit(good ? 0 : 1);
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

} // namespace
