// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sites of pages in memory: file names, order, links, images and what is wrong with them.
#include "Docs/Site.h"
#include "Support/Limits.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace mx;
using namespace mx::docs;

namespace {

struct Made {
  SourceManager sources;
  SiteResult result;

  std::string page(std::string_view name) const {
    for (const File &file : result.files)
      if (file.name == name)
        return file.text;
    return "";
  }
  bool has(std::string_view name, std::string_view text) const {
    return page(name).find(text) != std::string::npos;
  }
  std::vector<std::string> problems() const {
    std::vector<std::string> out;
    for (const SiteProblem &problem : result.problems)
      out.push_back(sources.location(problem.span) + " " + problem.message);
    return out;
  }
};

/// Files of the repository that are not pages: `src/a.cpp`, `docs/a.png` and the folder `src`.
Made siteOf(const std::vector<std::pair<std::string, std::string>> &pages) {
  Made made;
  Library library;
  library.resolve(false);
  SiteOptions options;
  options.library.title = "";
  options.library.folder = "library/";
  options.library.primitives = false;
  options.folder = "docs";
  options.isFile = [](const std::string &path) {
    return path == "src/a.cpp" || path == "docs/a.png";
  };
  options.isFolder = [](const std::string &path) { return path == "src"; };
  Site site(library, options);
  for (const auto &[path, text] : pages)
    site.add(path, made.sources.add(path, path, cleanText(text)));
  made.result = site.write();
  return made;
}

/// The titles of the navigation in their order.
std::vector<std::string> navigationOf(const std::string &page) {
  std::vector<std::string> out;
  size_t end = page.find("</nav>");
  for (size_t at = page.find("<nav"); at < end;) {
    size_t begin = page.find("href=\"", at);
    size_t summary = page.find("<summary>", at);
    at = std::min(begin, summary);
    if (at >= end)
      break;
    size_t from = at == summary ? at + 9 : page.find('>', at) + 1;
    at = page.find('<', from);
    out.push_back((from == summary + 9 ? "# " : "") + page.substr(from, at - from));
  }
  return out;
}

TEST(Site, SectionsAndPagesHaveAnOrder) {
  Made made = siteOf({{"docs/zoo/a.md", "# Animals"},
                      {"docs/decisions/0001-a.md", "# 1. One"},
                      {"docs/decisions/README.md", "# Decisions\n[one](0001-a.md)"},
                      {"docs/internals/a.md", "# Inside"},
                      {"docs/guides/README.md", "# Guides\n- [b](b.md)\n- [a](a.md)"},
                      {"docs/guides/a.md", "# A"},
                      {"docs/guides/b.md", "# B"},
                      {"docs/guides/c.md", "# C"},
                      {"docs/start/install.md", "# Install"},
                      {"docs/reference/b.md", "# Types"},
                      {"docs/reference/a.md", "no heading"},
                      {"docs/benchmarks/x.md", "# X"},
                      {"docs/status.md", "# Status"},
                      {"docs/tour.md", "# Tour"},
                      {"CHANGELOG.md", "# Changelog"},
                      {"README.md", "# mx\n[status](docs/status.md) [log](CHANGELOG.md)"}});
  EXPECT_EQ(made.problems(), std::vector<std::string>());
  EXPECT_EQ(navigationOf(made.page("tour.html")),
            (std::vector<std::string>{"Home",        "# Getting started",
                                      "Install",     "Tour",
                                      "# Guides",    "Overview",
                                      "B",           "A",
                                      "C",           "# Reference",
                                      "a",           "Types",
                                      "# Library",   "All modules",
                                      "# Internals", "Inside",
                                      "# Decisions", "Overview",
                                      "1. One",      "# Benchmarks",
                                      "X",           "# Project",
                                      "Status",      "Changelog",
                                      "# Zoo",       "Animals"}));
  EXPECT_TRUE(made.has("tour.html", "<title>Tour - mx</title>"));
  EXPECT_TRUE(made.has("index.html", "<title>mx</title>"));
  EXPECT_TRUE(made.has("guides/index.html", "aria-current=\"page\">Overview</a>"));
  EXPECT_TRUE(made.has("tour.html", "<a rel=\"prev\" href=\"start/install.html\"><small>Previous"
                                    "</small>Getting started: Install</a>"));
  EXPECT_TRUE(made.has("guides/b.html", "<a rel=\"next\" href=\"../guides/a.html\"><small>Next"
                                        "</small>A</a>"));
}

TEST(Site, IndexPagesOfFoldersAboveOrderPages) {
  Made made = siteOf({{"docs/guides/README.md", "# G\n[d](d.md)"},
                      {"docs/guides/a.md", "# A"},
                      {"docs/guides/b.md", "# B"},
                      {"docs/guides/c.md", "# C"},
                      {"docs/guides/d.md", "# D"},
                      {"docs/guides/e.md", "# E"},
                      {"docs/README.md", "# All pages\n[c](guides/c.md) [a](guides/a.md#a)"},
                      {"README.md", "# R\n[a](docs/guides/a.md) [b](docs/guides/b.md)"}});
  EXPECT_EQ(navigationOf(made.page("index.html")),
            (std::vector<std::string>{"Home", "All pages", "# Guides", "Overview", "D", "C", "A",
                                      "B", "E", "# Library", "All modules"}));
}

TEST(Site, LinksLeadToPagesAndAnchors) {
  Made made =
      siteOf({{"docs/guides/a.md", "# A\n[b](../b.md#two) [r](../../README.md) [g](/docs/b.md)\n"
                                   "[self](#a) [me](a.md) [web](https://x.org/a.md)"},
              {"docs/b.md", "# B\n## Two\n## Two\n[2](#two-1) [%](b%2Emd)"},
              {"README.md", "# R\n[guides](docs/guides/a.md)"}});
  EXPECT_EQ(made.problems(), std::vector<std::string>());
  EXPECT_TRUE(made.has("guides/a.html",
                       "<p><a href=\"../b.html#two\">b</a> <a href=\"../index.html\">r</a> "
                       "<a href=\"../b.html\">g</a> <a href=\"#a\">self</a> "
                       "<a href=\"a.html\">me</a> <a href=\"https://x.org/a.md\">web</a></p>"));
  EXPECT_TRUE(made.has("b.html", "<a href=\"#two-1\">2</a> <a href=\"b.html\">%</a>"));
  EXPECT_TRUE(made.has("b.html", "<h2 id=\"two-1\">Two"));
}

TEST(Site, FilesOfTheRepositoryAreText) {
  Made made = siteOf({{"docs/a.md", "[code](../src/a.cpp) [folder](../src/) [x](javascript:x)"}});
  EXPECT_EQ(made.problems(), std::vector<std::string>());
  EXPECT_TRUE(made.has("a.html", "<p><span class=\"file\" title=\"src/a.cpp\">code</span> "
                                 "<span class=\"file\" title=\"src\">folder</span> "
                                 "[x](javascript:x)</p>"));
}

TEST(Site, DeadLinks) {
  Made made = siteOf({{"docs/a.md", "# A\n\n- [x](none.md)\n- a `b` [y](b.md#tow)\n\n"
                                    "| a |\n|---|\n| [z](../../../b.md) |\n"},
                      {"docs/b.md", "# B\n## Two\n[a](#) [m](guides/memory.md) [p](memroy.md)\n"},
                      {"docs/internals/memory.md", "# M\n[up](b.md)\n"}});
  EXPECT_EQ(
      made.problems(),
      (std::vector<std::string>{
          "docs/internals/memory.md:2:1 the link `b.md` leads to no page and no file; did you "
          "mean `../b.md`?",
          "docs/a.md:3:3 the link `none.md` leads to no page and no file",
          "docs/a.md:4:9 the link `b.md#tow` leads to no heading of `docs/b.md`; did you mean "
          "`#two`?",
          "docs/a.md:8:3 the link `../../../b.md` leads to no page and no file; did you mean "
          "`b.md`?",
          "docs/b.md:3:8 the link `guides/memory.md` leads to no page and no file; did you "
          "mean `internals/memory.md`?",
          "docs/b.md:3:30 the link `memroy.md` leads to no page and no file; did you mean "
          "`internals/memory.md`?"}));
}

TEST(Site, Images) {
  Made made = siteOf({{"docs/guides/a.md", "![a \"b\"](../a.png) ![](https://x.org/a.png)"}});
  EXPECT_EQ(made.problems(), std::vector<std::string>());
  EXPECT_TRUE(made.has("guides/a.html", "<img src=\"../a.png\" alt=\"a &quot;b&quot;\"> "
                                        "<a href=\"https://x.org/a.png\">https://x.org/a.png</a>"));
  ASSERT_EQ(made.result.copies.size(), 1u);
  EXPECT_EQ(made.result.copies[0].first, "docs/a.png");
  EXPECT_EQ(made.result.copies[0].second, "a.png");
  Made dead = siteOf({{"docs/a.md", "![a](b.png)\n![c](../src/a.cpp)"}});
  EXPECT_EQ(dead.problems(),
            (std::vector<std::string>{
                "docs/a.md:1:1 the image `b.png` does not exist",
                "docs/a.md:2:1 the image `../src/a.cpp` is not a file of a known kind: png, jpg, "
                "jpeg, gif, svg or webp"}));
}

TEST(Site, ProblemsAreLimited) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += "[a](none" + std::to_string(i) + ".md) ";
  EXPECT_EQ(siteOf({{"docs/a.md", text}}).result.problems.size(),
            static_cast<size_t>(limits::kMaxErrors));
}

TEST(Site, NamesThatAreTaken) {
  Made made = siteOf({{"README.md", "# R"},
                      {"docs/README.md", "# D"},
                      {"docs/index.md", "# I"},
                      {"docs/library/README.md", "# L"},
                      {"docs/library/index.md", "# M"}});
  std::vector<std::string> names;
  for (const File &file : made.result.files)
    names.push_back(file.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_TRUE(made.has("index.html", "<h1 id=\"r\">R"));
  EXPECT_TRUE(made.has("library/index.html", "<h1>Library</h1>"));
}

TEST(Site, EmptyPagesAndNoStartPage) {
  Made made = siteOf({{"docs/a.md", ""}, {"docs/b&c.md", "\xEF\xBB\xBF# \x01<b>"}});
  EXPECT_TRUE(made.has("a.html", "<title>a - docs</title>"));
  EXPECT_TRUE(made.has("index.html", "<a href=\"b%26c.html\">\uFFFD&lt;b&gt;</a>"));
}

TEST(Site, CleanText) {
  EXPECT_EQ(cleanText("a\tb\r\n"), "a\tb\r\n");
  EXPECT_EQ(cleanText("\xEF\xBB\xBF"
                      "a\xFF"
                      "b\0"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(cleanText("\x1B[31m\u202E"), "\uFFFD[31m\uFFFD");
}

TEST(Site, TheSearchIndexHoldsTheText) {
  Made made =
      siteOf({{"docs/a.md", "before\n# A *b*\nsome `code`\n\n- item\n## Two\n```\nx  y\n```\n"}});
  EXPECT_TRUE(made.has("names.js", "[\"A b\",\"page\",\"docs/a.md\",\"a.html\",\"before\"],\n"));
  EXPECT_TRUE(
      made.has("names.js", "[\"A b\",\"section\",\"A b\",\"a.html#a-b\",\"some code item\"],\n"));
  EXPECT_TRUE(made.has("names.js", "[\"Two\",\"section\",\"A b\",\"a.html#two\",\"x y\"],\n"));
}

} // namespace
