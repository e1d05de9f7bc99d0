// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that `mxc build` writes: atomic replacement, errors, archives.
#include "Build/Write.h"
#include "llvm/Object/Archive.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>

using namespace mx::build;
namespace fs = std::filesystem;

namespace {

class Write : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mx-write-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const char *name) const { return (folder / name).string(); }
  static std::string read(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t count() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  fs::path folder;
  Trouble trouble;
};

TEST_F(Write, ReplacesAWholeFile) {
  std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(writeFile(path("x"), bytes, trouble)) << trouble.why;
  EXPECT_EQ(read(path("x")), bytes);
  ASSERT_TRUE(writeFile(path("x"), "", trouble));
  EXPECT_EQ(fs::file_size(path("x")), 0u);
  EXPECT_EQ(count(), 1u); // no temporary file stays
}

TEST_F(Write, TheModeIsForANewFile) {
  mode_t old = umask(022);
  ASSERT_TRUE(writeFile(path("program"), "#!", trouble, 0777));
  umask(old);
  struct stat info;
  ASSERT_EQ(stat(path("program").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
}

TEST_F(Write, AFailureLeavesTheOldFile) {
  EXPECT_FALSE(writeFile(path("none/x"), "new", trouble));
  EXPECT_EQ(trouble.why, "No such file or directory");
  EXPECT_EQ(count(), 0u);
  ASSERT_TRUE(writeFile(path("x"), "old", trouble));
  EXPECT_FALSE(writeArchive(path("x"), {{"a.o", "A"}}, path("none.a"), trouble));
  EXPECT_EQ(trouble.why, "cannot read `" + path("none.a") + "`: No such file or directory");
  ASSERT_TRUE(writeFile(path("text"), "not an archive", trouble));
  EXPECT_FALSE(writeArchive(path("x"), {{"a.o", "A"}}, path("text"), trouble));
  EXPECT_FALSE(trouble.why.empty());
  EXPECT_EQ(read(path("x")), "old");
}

std::vector<std::pair<std::string, std::string>> membersOf(const std::string &path) {
  std::vector<std::pair<std::string, std::string>> out;
  auto buffer = llvm::cantFail(llvm::errorOrToExpected(
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false)));
  auto archive = llvm::cantFail(llvm::object::Archive::create(buffer->getMemBufferRef()));
  llvm::Error problem = llvm::Error::success();
  for (const auto &child : archive->children(problem))
    out.emplace_back(llvm::cantFail(child.getName()).str(),
                     llvm::cantFail(child.getBuffer()).str());
  llvm::cantFail(std::move(problem));
  return out;
}

TEST_F(Write, ArchivesHaveTheirOwnMembersFirst) {
  using Members = std::vector<std::pair<std::string, std::string>>;
  std::string longName = "an_object_with_a_name_that_is_long.o";
  Members own = {{"a.o", "odd"}, {longName, std::string("\0even", 5)}}, more = {{"b.o", "B"}};
  ASSERT_TRUE(writeArchive(path("first.a"), own, "", trouble)) << trouble.why;
  EXPECT_EQ(membersOf(path("first.a")), own);
  ASSERT_TRUE(writeArchive(path("both.a"), more, path("first.a"), trouble)) << trouble.why;
  EXPECT_EQ(membersOf(path("both.a")), (Members{more[0], own[0], own[1]}));
  // The same members give the same bytes: an archive holds no timestamps.
  ASSERT_TRUE(writeArchive(path("again.a"), own, "", trouble));
  EXPECT_EQ(read(path("again.a")), read(path("first.a")));
}

TEST_F(Write, TheLinkerSaysWhatFailed) {
  setenv("CC", "/no/such/compiler", 1);
  EXPECT_FALSE(runLinker({}, {path("a.o")}, path("program"), trouble));
  EXPECT_EQ(trouble.why,
            "there is no C compiler to link with: `/no/such/compiler` is not in PATH");
  EXPECT_NE(trouble.help.find("set CC"), std::string::npos);
  unsetenv("CC");
  trouble = {};
  ASSERT_TRUE(writeFile(path("program"), "old", trouble));
  EXPECT_FALSE(runLinker({}, {path("none.o")}, path("program"), trouble));
  EXPECT_NE(trouble.why.find("failed"), std::string::npos);
  EXPECT_NE(trouble.why.find("none.o"), std::string::npos) << trouble.why;
  EXPECT_EQ(read(path("program")), "old");
}

} // namespace
