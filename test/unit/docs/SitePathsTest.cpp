// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Docs/SitePaths.h"
#include <gtest/gtest.h>

using namespace mx::docs;

namespace {

TEST(SitePaths, NormalForm) {
  EXPECT_EQ(normalPath("a/./b//c/"), "a/b/c");
  EXPECT_EQ(normalPath("a/../b"), "b");
  EXPECT_EQ(normalPath(""), "");
  EXPECT_EQ(normalPath(".."), std::nullopt);
  EXPECT_EQ(normalPath("a/../../b"), std::nullopt);
  EXPECT_EQ(targetPath("../b.md", "docs/a"), "docs/b.md");
  EXPECT_EQ(targetPath("/b.md", "docs/a"), "b.md");
  EXPECT_EQ(targetPath("../../../b.md", "docs/a"), std::nullopt);
}

TEST(SitePaths, Relative) {
  EXPECT_EQ(relativePath("docs/a/b.md", "docs/a"), "b.md");
  EXPECT_EQ(relativePath("docs/b.md", "docs/a"), "../b.md");
  EXPECT_EQ(relativePath("docs/a/b.md", ""), "docs/a/b.md");
  EXPECT_EQ(relativePath("b.md", "docs/a"), "../../b.md");
  EXPECT_EQ(relativePath("docs/b", "docs/b"), "../b");
}

TEST(SitePaths, Addresses) {
  EXPECT_EQ(localAddress("a%20b.md#c%C3%A9").path, "a b.md");
  EXPECT_EQ(localAddress("a%20b.md#c%C3%A9").anchor, "c\xC3\xA9");
  EXPECT_EQ(localAddress("a%zz%4").path, "a%zz%4");
  EXPECT_EQ(localAddress("a%00b").path, "a%00b");
  EXPECT_EQ(localAddress("#").anchor, "");
  EXPECT_EQ(schemeOf("https://x"), "https");
  EXPECT_EQ(schemeOf("a/b:c"), "");
  EXPECT_EQ(schemeOf("#a:b"), "");
  EXPECT_TRUE(isImageName("a/b.PNG"));
  EXPECT_FALSE(isImageName("png"));
  EXPECT_FALSE(isImageName("a.html"));
}

} // namespace
