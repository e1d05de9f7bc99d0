// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What goes into the cache comes out of it, or nothing does.
#include "Target/ObjectCache.h"
#include "Target/Hasher.h"
#include "TargetTestSupport.h"
#include <fstream>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

using namespace mx::target;
namespace fs = std::filesystem;

namespace {

CacheOptions optionsFor(const std::string &folder) {
  CacheOptions options;
  options.folder = folder;
  options.buildId = "build-1";
  options.abiVersion = 3;
  return options;
}

std::vector<fs::path> filesIn(const std::string &folder) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(folder))
    files.push_back(entry.path());
  return files;
}

std::string contents(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

/// One small entry and the ways to spoil it.
class ObjectCacheEntry : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cache.store("key", "payload"));
    ASSERT_EQ(filesIn(folder.path).size(), 1u);
    file = filesIn(folder.path)[0];
    good = contents(file);
  }
  /// The spoilt entry is not returned and is gone; a good one can take its place.
  void expectRejected() {
    const auto before = cache.statistics();
    EXPECT_EQ(cache.load("key"), std::nullopt);
    EXPECT_EQ(cache.statistics().rejected, before.rejected + 1);
    EXPECT_EQ(cache.statistics().misses, before.misses + 1);
    EXPECT_FALSE(fs::exists(fs::symlink_status(file)));
  }

  TemporaryFolder folder;
  ObjectCache cache{optionsFor(folder.path)};
  fs::path file;
  std::string good;
};

TEST(ObjectCache, ReturnsWhatWasStored) {
  TemporaryFolder folder;
  ObjectCache cache(optionsFor(folder / "deep/er"));
  ASSERT_TRUE(cache.on()) << cache.whyOff();
  EXPECT_EQ(cache.load("a"), std::nullopt);
  std::string binary(100000, '\0');
  for (size_t i = 0; i < binary.size(); ++i)
    binary[i] = char(i * 7);
  EXPECT_TRUE(cache.store("a", binary));
  EXPECT_TRUE(cache.store("b", ""));
  EXPECT_TRUE(cache.store(std::string("a\0b", 3), "zero"));
  EXPECT_EQ(cache.load("a"), binary);
  EXPECT_EQ(cache.load("b"), "");
  EXPECT_EQ(cache.load(std::string("a\0b", 3)), "zero");
  EXPECT_TRUE(cache.store("a", "new"));
  EXPECT_EQ(cache.load("a"), "new");
  ObjectCache again(optionsFor(folder / "deep/er"));
  EXPECT_EQ(again.load("a"), "new");
  auto statistics = cache.statistics();
  EXPECT_EQ(statistics.hits, 4u);
  EXPECT_EQ(statistics.misses, 1u);
  EXPECT_EQ(statistics.stored, 4u);
  EXPECT_EQ(statistics.rejected, 0u);
}

TEST(ObjectCache, FolderAndFilesArePrivate) {
  TemporaryFolder folder;
  const mode_t old = ::umask(0);
  {
    ObjectCache cache(optionsFor(folder / "new/mx"));
    EXPECT_TRUE(cache.store("a", "b"));
  }
  ::umask(old);
  struct stat status;
  ASSERT_EQ(::stat((folder / "new/mx").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(filesIn(folder / "new/mx")[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(ObjectCache, FindsItsFolderInTheEnvironment) {
  struct Variable {
    const char *name;
    std::optional<std::string> old;
    explicit Variable(const char *name) : name(name) {
      if (const char *value = ::getenv(name))
        old = value;
    }
    ~Variable() {
      if (old)
        ::setenv(name, old->c_str(), 1);
      else
        ::unsetenv(name);
    }
  } own("MX_CACHE_DIR"), xdg("XDG_CACHE_HOME"), home("HOME");
  ::setenv("MX_CACHE_DIR", "/own", 1);
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  ::setenv("HOME", "/home/u", 1);
  EXPECT_EQ(ObjectCache::defaultFolder(), "/own");
  ::unsetenv("MX_CACHE_DIR");
  EXPECT_EQ(ObjectCache::defaultFolder(), "/xdg/mx");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(ObjectCache::defaultFolder(), "/home/u/.cache/mx");
  ::unsetenv("HOME");
  EXPECT_EQ(ObjectCache::defaultFolder(), "");
  ObjectCache cache(optionsFor(""));
  EXPECT_FALSE(cache.on());
  EXPECT_NE(cache.whyOff().find("HOME"), std::string::npos);
  EXPECT_FALSE(cache.store("a", "b"));
  EXPECT_EQ(cache.load("a"), std::nullopt);
}

TEST_F(ObjectCacheEntry, AnyChangedByteIsAMiss) {
  for (size_t i = 0; i < good.size(); ++i)
    for (char flip : {char(1), char(0x80), char(0xff)}) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ flip);
      overwrite(file, bad);
      SCOPED_TRACE(i);
      expectRejected();
    }
  EXPECT_TRUE(cache.store("key", "payload"));
  EXPECT_EQ(cache.load("key"), "payload");
}

TEST_F(ObjectCacheEntry, AnyOtherLengthIsAMiss) {
  for (size_t length = 0; length < good.size(); ++length) {
    overwrite(file, good.substr(0, length));
    SCOPED_TRACE(length);
    expectRejected();
  }
  overwrite(file, good + '\0');
  expectRejected();
  overwrite(file, good + good);
  expectRejected();
}

TEST_F(ObjectCacheEntry, TheWholeKeyIsCompared) {
  ASSERT_TRUE(cache.store("yek", "other"));
  fs::path other;
  for (const fs::path &each : filesIn(folder.path))
    if (each != file)
      other = each;
  fs::rename(other, file); // as if both had the same hash
  expectRejected();
}

TEST_F(ObjectCacheEntry, AnotherBuildOrAbiIsAMiss) {
  for (bool sameName : {false, true})
    for (int change : {0, 1}) {
      CacheOptions options = optionsFor(folder.path);
      if (change == 0)
        options.buildId = "build-2";
      else
        options.abiVersion = 4;
      ObjectCache other(options);
      EXPECT_EQ(other.load("key"), std::nullopt);
      if (sameName) { // even if somebody gives our file its name
        ASSERT_TRUE(other.store("key", "x"));
        for (const fs::path &each : filesIn(folder.path))
          if (each != file)
            overwrite(each, good);
        EXPECT_EQ(other.load("key"), std::nullopt);
        EXPECT_EQ(other.statistics().rejected, 1u);
      }
      EXPECT_EQ(cache.load("key"), "payload");
    }
}

TEST_F(ObjectCacheEntry, FilesOthersMayWriteAreMisses) {
  ASSERT_EQ(::chmod(file.c_str(), 0620), 0);
  expectRejected();
  ASSERT_TRUE(cache.store("key", "payload"));
  ASSERT_EQ(::chmod(file.c_str(), 0602), 0);
  expectRejected();
}

TEST_F(ObjectCacheEntry, LinksPipesAndFoldersAreMisses) {
  fs::path elsewhere = folder / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  expectRejected();
  EXPECT_TRUE(fs::exists(elsewhere));
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  expectRejected();
  fs::create_directory(file);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_FALSE(cache.store("key", "payload"));
}

TEST_F(ObjectCacheEntry, FilesOfOthersAreMisses) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  expectRejected();
}

TEST(ObjectCache, FoldersThatAreNotPrivateTurnItOff) {
  TemporaryFolder folder;
  auto expectOff = [&](const std::string &path, const std::string &why) {
    ObjectCache cache(optionsFor(path));
    EXPECT_FALSE(cache.on()) << path;
    EXPECT_NE(cache.whyOff().find(why), std::string::npos) << cache.whyOff();
    EXPECT_FALSE(cache.store("a", "b"));
    EXPECT_EQ(cache.load("a"), std::nullopt);
    EXPECT_EQ(cache.statistics().misses, 1u);
  };
  fs::create_directory(folder / "real");
  ::chmod((folder / "real").c_str(), 0770);
  expectOff(folder / "real", "by others");
  ::chmod((folder / "real").c_str(), 0707);
  expectOff(folder / "real", "by others");
  ::chmod((folder / "real").c_str(), 0755);
  EXPECT_TRUE(ObjectCache(optionsFor(folder / "real")).on());
  fs::create_directory_symlink(folder / "real", folder / "link");
  expectOff(folder / "link", "symbolic link");
  expectOff(folder / "link/", "symbolic link");
  std::ofstream(folder / "file") << "text";
  expectOff(folder / "file", "file");
  expectOff(folder / "file/below", "file/below");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((folder / "real").c_str(), 12345, 12345), 0);
    expectOff(folder / "real", "another user");
  }
}

TEST(ObjectCache, TheLeastRecentlyUsedGoFirst) {
  TemporaryFolder folder;
  CacheOptions options = optionsFor(folder.path);
  options.maxBytes = 10000;
  const std::string kilobyte(1000 - 72 - 7 - 2, 'x'); // 1000 bytes an entry
  {
    ObjectCache cache(options);
    for (int i = 10; i < 20; ++i)
      ASSERT_TRUE(cache.store(std::to_string(i), kilobyte));
    EXPECT_EQ(cache.statistics().evicted, 0u);
  }
  // All were used an hour ago, number 10 again just now.
  for (const fs::path &file : filesIn(folder.path))
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  ObjectCache cache(options);
  EXPECT_NE(cache.load("10"), std::nullopt);
  ASSERT_TRUE(cache.store("20", kilobyte));
  EXPECT_GT(cache.statistics().evicted, 0u);
  uint64_t total = 0;
  for (const fs::path &file : filesIn(folder.path))
    total += fs::file_size(file);
  EXPECT_LE(total, options.maxBytes);
  EXPECT_GE(total, options.maxBytes / 2);
  EXPECT_NE(cache.load("10"), std::nullopt);
  EXPECT_NE(cache.load("20"), std::nullopt);
  EXPECT_FALSE(cache.store("large", std::string(20000, 'x')));
  EXPECT_NE(cache.load("20"), std::nullopt);
}

TEST(ObjectCache, OldLeftoversOfWritersAreSwept) {
  TemporaryFolder folder;
  fs::path old = folder / ".writing-1-1-1", fresh = folder / ".writing-1-1-2";
  std::ofstream(old) << "half";
  std::ofstream(fresh) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::minutes(61));
  ObjectCache cache(optionsFor(folder.path));
  ASSERT_TRUE(cache.store("a", "b"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST(Hasher, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_NE(Hasher().add("ab").hex(), Hasher().add("ab").add("").hex());
  EXPECT_NE(Hasher().hex(), Hasher().add("").hex());
  EXPECT_EQ(Hasher().add("ab").add(7).hex(), Hasher().add("ab").add(7).hex());
  EXPECT_EQ(Hasher().hex().size(), 64u);
  // The same on every machine: BLAKE3 of nothing.
  EXPECT_EQ(Hasher().hex(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
}

} // namespace
