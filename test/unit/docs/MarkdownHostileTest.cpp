// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Markdown that was made to inject HTML, to nest without bound or to take the square of its length.
#include "Rendered.h"
#include <gtest/gtest.h>

using namespace mx;
using namespace mx::docs;

namespace {

TEST(MarkdownHostile, HtmlIsText) {
  EXPECT_EQ(rendered("<script>alert(1)</script>"),
            "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n");
  EXPECT_EQ(rendered("a <b onclick='x'>c</b> &lt; &amp;"),
            "<p>a &lt;b onclick=&#39;x&#39;&gt;c&lt;/b&gt; &amp;lt; &amp;amp;</p>\n");
  EXPECT_EQ(rendered("<!-- a comment -->\nb"), "<p>b</p>\n");
  EXPECT_EQ(rendered("# <img src=x onerror=y>"), "<h4>&lt;img src=x onerror=y&gt;</h4>\n");
  EXPECT_EQ(rendered("```<b>\n<i>\n```"), "<pre class=\"example\">&lt;i&gt;</pre>\n");
  EXPECT_EQ(rendered("|<b>|\n|-|\n|<i>|"),
            "<div class=\"wide\"><table class=\"plain\">\n<tr><th>&lt;b&gt;</th></tr>\n"
            "<tr><td>&lt;i&gt;</td></tr>\n</table></div>\n");
}

TEST(MarkdownHostile, ScriptsAreNotAddresses) {
  for (const char *address : {"javascript:x", "JAVASCRIPT:x", "java\\script:x", "data:text/html,x",
                              "vbscript:x", "file:///etc/passwd", "x:y"})
    EXPECT_EQ(rendered("[a](" + std::string(address) + ")").find("<a"), std::string::npos)
        << address;
  EXPECT_EQ(rendered("<javascript:x>"), "<p>&lt;javascript:x&gt;</p>\n");
  EXPECT_EQ(rendered("![a](javascript:x)").find("<a"), std::string::npos);
  EXPECT_EQ(rendered("[a](b\"onclick=\"c)"), "<p><a href=\"b&quot;onclick=&quot;c\">a</a></p>\n");
  EXPECT_EQ(rendered("[a](<b><c>)").find("<c>"), std::string::npos);
}

TEST(MarkdownHostile, DeepNestingIsText) {
  std::string quotes = rendered(std::string(100'000, '>') + " a");
  EXPECT_NE(quotes.find("&gt;&gt;&gt; a"), std::string::npos);
  size_t open = 0;
  for (size_t at = quotes.find("<blockquote>"); at != std::string::npos;
       at = quotes.find("<blockquote>", at + 1))
    ++open;
  EXPECT_EQ(open, static_cast<size_t>(kMaxMarkdownDepth));
  std::string list;
  for (size_t depth = 0; depth < 200; ++depth)
    list += std::string(2 * depth, ' ') + "- a\n";
  EXPECT_NE(rendered(list).find("<li>a"), std::string::npos);
  EXPECT_NE(rendered(repeated("- ", 100'000) + "a").find("<ul>"), std::string::npos);
  EXPECT_NE(rendered(repeated("*a ", 100'000)).find("*a"), std::string::npos);
}

/// A megabyte of each takes a fraction of a second, and hours if it took the square of its length;
/// lit's limit of time stops a test that hangs.
TEST(MarkdownHostile, LongTexts) {
  constexpr size_t kMega = 1 << 20;
  for (const char *part :
       {"[",          "]",       "![",         "[a](",    "[a](b",        "[a](<",
        "[a](b \"",   "[a](b '", "`",          "`a",      "``a`",         "*",
        "*a",         "a*",      "**a*",       "_a",      "a_ ",          "*_",
        "\\",         "<",       "<https://",  "|",       "|a\n",         "|-",
        "a|b\n-|-\n", "> ",      ">\n",        "- ",      "- a\n",        "- a\n\n",
        "  - a\n",    "1. ",     "#",          "# a\n",   "```\n",        "~~~",
        "\t",         "\n",      " \n",        "    a\n", "---\n",        "a  \n",
        "é",          "<!--",    "<!-- -->\n", "[a](b) ", "[![a](b)](c)", "- \n\n\n",
        "> - ",       "a\n=\n",  "&",          "(",       "[[](",         "[a](\\",
        "[](()"}) {
    SCOPED_TRACE(part);
    std::string text = repeated(part, kMega / std::string_view(part).size());
    std::string html = rendered(text);
    EXPECT_LE(html.size(), 40 * kMega);
  }
}

} // namespace
