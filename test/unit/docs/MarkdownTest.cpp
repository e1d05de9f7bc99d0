// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks and text of Markdown as HTML. The expected forms are CommonMark's, with tables as on
// GitHub; doc comments have headings of level 4.
#include "Rendered.h"
#include <gtest/gtest.h>

using namespace mx;
using namespace mx::docs;

namespace {

TEST(Markdown, Paragraphs) {
  EXPECT_EQ(rendered(""), "");
  EXPECT_EQ(rendered("\n \n\t\n"), "");
  EXPECT_EQ(rendered("a"), "<p>a</p>\n");
  EXPECT_EQ(rendered("a\nb\n\n\nc"), "<p>a b</p>\n<p>c</p>\n");
  EXPECT_EQ(rendered("a\r\nb\r\n\r\nc\r\n"), "<p>a b</p>\n<p>c</p>\n");
  EXPECT_EQ(rendered("   a\n      b"), "<p>a b</p>\n");
  EXPECT_EQ(rendered("a  \nb\\\nc"), "<p>a<br>\nb<br>\nc</p>\n");
}

TEST(Markdown, HeadingsAndRules) {
  EXPECT_EQ(rendered("# a"), "<h4>a</h4>\n");
  EXPECT_EQ(rendered("### a ##"), "<h4>a</h4>\n");
  EXPECT_EQ(rendered("# a#"), "<h4>a#</h4>\n");
  EXPECT_EQ(rendered("#a"), "<p>#a</p>\n");
  EXPECT_EQ(rendered("####### a"), "<p>####### a</p>\n");
  EXPECT_EQ(rendered("a\n# b\nc"), "<p>a</p>\n<h4>b</h4>\n<p>c</p>\n");
  EXPECT_EQ(rendered("---\n* * *\n__"), "<hr>\n<hr>\n<p>__</p>\n");
  std::vector<Block> blocks = parseMarkdown("##");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].kind, Block::Kind::Heading);
  EXPECT_EQ(blocks[0].number, 2);
  EXPECT_EQ(blocks[0].text.text, "");
}

TEST(Markdown, Fences) {
  EXPECT_EQ(rendered("```\n<a>\n\n  b\n```\nc"),
            "<pre class=\"example\">&lt;a&gt;\n\n  b</pre>\n<p>c</p>\n");
  EXPECT_EQ(rendered("````\n```\n````"), "<pre class=\"example\">```</pre>\n");
  EXPECT_EQ(rendered("~~~\n```\n~~~"), "<pre class=\"example\">```</pre>\n");
  EXPECT_EQ(rendered("```\n~~~"), "<pre class=\"example\">~~~</pre>\n");
  EXPECT_EQ(rendered("a\n```\nb\n```"), "<p>a</p>\n<pre class=\"example\">b</pre>\n");
  // An open fence ends with its container.
  EXPECT_EQ(rendered("```\na\n\nb"), "<pre class=\"example\">a\n\nb</pre>\n");
  EXPECT_EQ(rendered("```"), "<pre class=\"example\"></pre>\n");
  EXPECT_EQ(rendered("- ```\n  a\n\nb"),
            "<ul>\n<li>\n<pre class=\"example\">a</pre>\n</li>\n</ul>\n<p>b</p>\n");
  EXPECT_EQ(rendered("> ```\n> a\n\nb"),
            "<blockquote>\n<pre class=\"example\">a</pre>\n</blockquote>\n<p>b</p>\n");
  // A span of one line is not a fence.
  EXPECT_EQ(rendered("```a```"), "<p><code>a</code></p>\n");
  std::vector<Block> blocks = parseMarkdown("``` mx file=a.mx\nx\n```");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].language, "mx");
  EXPECT_EQ(rendered("    a\n\n      b\n\nc"), "<pre class=\"example\">a\n\n  b</pre>\n<p>c</p>\n");
}

TEST(Markdown, CodeOfMxIsHighlighted) {
  EXPECT_EQ(rendered("```mx\nlet x = 1 # one\n```"),
            "<pre class=\"example\"><span class=\"k\">let</span> x = <span class=\"n\">1</span> "
            "<span class=\"c\"># one</span></pre>\n");
  EXPECT_EQ(rendered("```mx\n\" ( <\n```"), rendered("```mx\n\" ( <"));
}

TEST(Markdown, Lists) {
  EXPECT_EQ(rendered("- a\n- b"), "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n");
  EXPECT_EQ(rendered("- a\n\n- b"), "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n");
  EXPECT_EQ(rendered("1. a\n2. b"), "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n");
  EXPECT_EQ(rendered("3) a"), "<ol start=\"3\">\n<li>a</li>\n</ol>\n");
  EXPECT_EQ(rendered("0. a"), "<ol start=\"0\">\n<li>a</li>\n</ol>\n");
  EXPECT_EQ(rendered("- a\n* b"), "<ul>\n<li>a</li>\n</ul>\n<ul>\n<li>b</li>\n</ul>\n");
  EXPECT_EQ(rendered("-\n- a"), "<ul>\n<li></li>\n<li>a</li>\n</ul>\n");
  EXPECT_EQ(rendered("- a\nb"), "<ul>\n<li>a b</li>\n</ul>\n");
  EXPECT_EQ(rendered("-a"), "<p>-a</p>\n");
  // A number may begin a line of a sentence.
  EXPECT_EQ(rendered("there are\n14. b"), "<p>there are 14. b</p>\n");
  EXPECT_EQ(rendered("1234567890. a"), "<p>1234567890. a</p>\n");
}

TEST(Markdown, NestedLists) {
  EXPECT_EQ(rendered("- a\n  - b\n    - c\n- d"),
            "<ul>\n<li>a\n<ul>\n<li>b\n<ul>\n<li>c</li>\n</ul>\n</li>\n</ul>\n</li>\n"
            "<li>d</li>\n</ul>\n");
  EXPECT_EQ(rendered("1. a\n   - b\n\n   c\n2. d"),
            "<ol>\n<li>\n<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n<p>c</p>\n</li>\n"
            "<li>\n<p>d</p>\n</li>\n</ol>\n");
  EXPECT_EQ(rendered("- - a\n  - b"),
            "<ul>\n<li>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n</li>\n</ul>\n");
  EXPECT_EQ(rendered("- a\n\n  ```\n  b\n  ```"),
            "<ul>\n<li>\n<p>a</p>\n<pre class=\"example\">b</pre>\n</li>\n</ul>\n");
}

TEST(Markdown, Quotes) {
  EXPECT_EQ(rendered("> a\nb\n\nc"), "<blockquote>\n<p>a b</p>\n</blockquote>\n<p>c</p>\n");
  EXPECT_EQ(rendered(">> a"),
            "<blockquote>\n<blockquote>\n<p>a</p>\n</blockquote>\n</blockquote>\n");
  EXPECT_EQ(rendered("> - a\n> - b"),
            "<blockquote>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n</blockquote>\n");
}

TEST(Markdown, Tables) {
  EXPECT_EQ(rendered("|a|b|\n|:-|-:|\n|1|2|"),
            "<div class=\"wide\"><table class=\"plain\">\n"
            "<tr><th class=\"left\">a</th><th class=\"right\">b</th></tr>\n"
            "<tr><td class=\"left\">1</td><td class=\"right\">2</td></tr>\n</table></div>\n");
  EXPECT_EQ(rendered("a | b\n--|--\n1"),
            "<div class=\"wide\"><table class=\"plain\">\n<tr><th>a</th><th>b</th></tr>\n"
            "<tr><td>1</td></tr>\n</table></div>\n");
  // A path may break behind its slashes; numbers and code do not, nor do paths outside of tables.
  EXPECT_EQ(rendered("|x/y|\n|-|\n|test/run/a.mx 1/2 `c/d`|\n\na/b"),
            "<div class=\"wide\"><table class=\"plain\">\n<tr><th>x/<wbr>y</th></tr>\n"
            "<tr><td>test/<wbr>run/<wbr>a.mx 1/2 <code>c/d</code></td></tr>\n</table></div>\n"
            "<p>a/b</p>\n");
  // Further cells are dropped; a row of another width is not a header.
  EXPECT_EQ(rendered("|a|\n|-|\n|1|2|"),
            "<div class=\"wide\"><table class=\"plain\">\n<tr><th>a</th></tr>\n"
            "<tr><td>1</td></tr>\n</table></div>\n");
  EXPECT_EQ(rendered("|a|b|\n|-|"), "<p>|a|b| |-|</p>\n");
  EXPECT_EQ(rendered("|a|\n|-|\n\nb"),
            "<div class=\"wide\"><table class=\"plain\">\n<tr><th>a</th></tr>\n</table></div>\n"
            "<p>b</p>\n");
}

TEST(Markdown, BarsInTables) {
  EXPECT_EQ(rendered("|a|\n|-|\n|`x \\| y`|"),
            "<div class=\"wide\"><table class=\"plain\">\n<tr><th>a</th></tr>\n"
            "<tr><td><code>x | y</code></td></tr>\n</table></div>\n");
  EXPECT_EQ(rendered("|a|\n|-|\n|x \\| y|"),
            "<div class=\"wide\"><table class=\"plain\">\n<tr><th>a</th></tr>\n"
            "<tr><td>x | y</td></tr>\n</table></div>\n");
  EXPECT_EQ(rendered("`x \\| y`"), "<p><code>x \\| y</code></p>\n");
}

TEST(Markdown, CodeSpans) {
  EXPECT_EQ(rendered("`a``b`"), "<p><code>a``b</code></p>\n");
  EXPECT_EQ(rendered("`` `a` ``"), "<p><code>`a`</code></p>\n");
  EXPECT_EQ(rendered("`a\nb`"), "<p><code>a b</code></p>\n");
  EXPECT_EQ(rendered("`a *b* [c](d) <e>`"), "<p><code>a *b* [c](d) &lt;e&gt;</code></p>\n");
  EXPECT_EQ(rendered("a ` b"), "<p>a ` b</p>\n");
  EXPECT_EQ(rendered("\\`a\\`"), "<p>`a`</p>\n");
}

TEST(Markdown, Emphasis) {
  EXPECT_EQ(rendered("*a* **b** ***c***"),
            "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em></p>\n");
  EXPECT_EQ(rendered("*a **b** c*"), "<p><em>a <strong>b</strong> c</em></p>\n");
  EXPECT_EQ(rendered("_a_ snake_case_name"), "<p><em>a</em> snake_case_name</p>\n");
  EXPECT_EQ(rendered("2 * 3 * 4, a*b, **c"), "<p>2 * 3 * 4, a*b, **c</p>\n");
  EXPECT_EQ(rendered("*a [b*](c)"), "<p>*a <a href=\"c\">b*</a></p>\n");
}

TEST(Markdown, Links) {
  EXPECT_EQ(rendered("[a](b.html#c \"title\")"), "<p><a href=\"b.html#c\">a</a></p>\n");
  EXPECT_EQ(rendered("[a](<b c>)"), "<p><a href=\"b c\">a</a></p>\n");
  EXPECT_EQ(rendered("[a](b(c))"), "<p><a href=\"b(c)\">a</a></p>\n");
  EXPECT_EQ(rendered("[`a`](b) [**c**](d)"),
            "<p><a href=\"b\"><code>a</code></a> <a href=\"d\"><strong>c</strong></a></p>\n");
  EXPECT_EQ(rendered("[a [b](c) d](e)"), "<p>[a <a href=\"c\">b</a> d](e)</p>\n");
  EXPECT_EQ(rendered("[a] (b) [c][d] [e]"), "<p>[a] (b) [c][d] [e]</p>\n");
  EXPECT_EQ(rendered("[a]( b"), "<p>[a]( b</p>\n");
  EXPECT_EQ(rendered("<https://x.org/?a=1&b>"),
            "<p><a href=\"https://x.org/?a=1&amp;b\">https://x.org/?a=1&amp;b</a></p>\n");
  EXPECT_EQ(rendered("\\[a](b)"), "<p>[a](b)</p>\n");
}

TEST(Markdown, OffsetsAreThoseOfTheDocument) {
  std::string text = "> - a\n>   bc `d\n>   e` [f](g)\n";
  std::vector<Block> blocks = parseMarkdown(text);
  uint32_t seen = 0;
  InlineHooks hooks;
  hooks.code = [](std::string_view code) -> Inline { return {std::string(code), ""}; };
  hooks.link = [&](std::string_view, uint32_t at) {
    seen = at;
    return std::optional(std::pair<std::string, std::string>());
  };
  inlineHtml(blocks[0].parts[0].parts[0].parts[0].text, hooks);
  EXPECT_EQ(seen, text.find('['));
}

TEST(Markdown, Anchors) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(anchorsOf({"Early release", "Early release", "Early release"}),
            (Names{"early-release", "early-release-1", "early-release-2"}));
  EXPECT_EQ(anchorsOf({"`mxc run --tune`: what?", "C++ & C", "Größe", "x_y", "1.2"}),
            (Names{"mxc-run---tune-what", "c--c", "größe", "x_y", "12"}));
  EXPECT_EQ(anchorsOf({"a", "a 1", "a", "", "?"}),
            (Names{"a", "a-1", "a-2", "section", "section-1"}));
}

} // namespace
