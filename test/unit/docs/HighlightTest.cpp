// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Docs/Highlight.h"
#include <gtest/gtest.h>

using mx::docs::highlighted;

namespace {

TEST(Highlight, UnknownLanguagesAreEscaped) {
  EXPECT_EQ(highlighted("if <a> # b", ""), "if &lt;a&gt; # b");
  EXPECT_EQ(highlighted("if <a> # b", "text"), "if &lt;a&gt; # b");
  EXPECT_EQ(highlighted("if", " c "), "if");
}

TEST(Highlight, CommentsStringsAndKeywords) {
  EXPECT_EQ(highlighted("cd a#b # <c>\nd", "sh"),
            "<span class=\"k\">cd</span> a#b <span class=\"c\"># &lt;c&gt;</span>\nd");
  EXPECT_EQ(highlighted("return f(\"a \\\" b\"); // c", "cpp"),
            "<span class=\"k\">return</span> f(<span class=\"s\">&quot;a \\&quot; b&quot;</span>); "
            "<span class=\"c\">// c</span>");
  EXPECT_EQ(highlighted("import numpy as np", "python"),
            "<span class=\"k\">import</span> numpy <span class=\"k\">as</span> np");
  EXPECT_EQ(highlighted("int returned;", "c"), "<span class=\"k\">int</span> returned;");
}

TEST(Highlight, OpenStringsEndNowhere) {
  EXPECT_EQ(highlighted("\"a\n\"b\"", "sh"), "&quot;a\n<span class=\"s\">&quot;b&quot;</span>");
  EXPECT_EQ(highlighted("\"", "c"), "&quot;");
  EXPECT_EQ(highlighted("\"\\", "c"), "&quot;\\");
  EXPECT_EQ(highlighted("", "sh"), "");
  EXPECT_EQ(highlighted("http://x.org", "cpp"), "http://x.org");
}

} // namespace
