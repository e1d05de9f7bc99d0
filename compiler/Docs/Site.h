// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A site: Markdown pages and the reference of a library, with one navigation and one search index.
// Links between pages and their anchors are checked. Nothing here reads or writes files.
#pragma once
#include "Docs/Markdown.h"
#include "Docs/Pages.h"

namespace mx::docs {

/// Longer pages are refused.
inline constexpr uint64_t kMaxPageBytes = 4ull << 20;

/// Valid UTF-8 without control characters: other bytes become U+FFFD. Lines stay the same.
std::string cleanText(std::string_view text);

/// Paths are relative to the repository, which holds the folder of the pages and its README.md.
/// They are in normal form, with `/`.
struct SiteOptions {
  PageOptions library; ///< its title is empty if the first heading of the start page is to be used
  std::string folder;  ///< of the pages: `docs`
  std::function<bool(const std::string &path)> isFile, isFolder;
};

struct SiteProblem {
  Span span;
  std::string message;
};

struct SiteResult {
  std::vector<File> files;
  /// Images: the path in the repository and the file name in the site.
  std::vector<std::pair<std::string, std::string>> copies;
  /// In the order of the pages. The site is not to be written if there are any.
  std::vector<SiteProblem> problems;
};

class Site {
public:
  /// The library is resolved, and outlives the site.
  Site(const Library &library, SiteOptions options);
  /// Adds a page, whose text is clean. The file outlives the site.
  void add(std::string path, const SourceFile &file);
  SiteResult write();

private:
  struct Heading {
    int64_t level;
    std::string text, anchor;
    std::string below; ///< the text up to the next heading, for the search
  };
  struct Page {
    std::string path, output, title;
    std::string section; ///< a folder of pages, or one of the names in Site.cpp
    const SourceFile *file;
    std::vector<Block> blocks;
    std::string above; ///< the text above the first heading
    std::vector<Heading> headings;
    std::set<std::string> anchors;
    /// Paths of an index page's links: their order is that of the pages in its folder.
    std::map<std::string, size_t> order;
  };
  /// A link within the repository: the page or file it leads to.
  struct Target {
    const Page *page = nullptr;
    std::string path, anchor;
    bool isFile = false;
  };

  const Library &library;
  SiteOptions options;
  std::vector<Page> pages;
  std::map<std::string, size_t> byPath;
  std::map<std::string, std::string> images; ///< by path: the file name in the site
  std::set<std::string> taken;               ///< file names of the site
  SiteResult result;

  // Site.cpp
  void readHeadings(Page &page) const;
  void readOrder(Page &page) const;
  std::string sectionOf(std::string_view path) const;
  void sortPages();
  void nameOutputs();
  std::vector<NavSection> navigation() const;
  std::string outlineOf(const Page &page) const;
  std::string entriesOf(const Page &page) const;
  std::string contents(const Shell &shell) const;

  // SiteLinks.cpp
  Target resolve(const Page &page, std::string_view address) const;
  std::string suggestionFor(const Page &page, std::string_view address) const;
  std::optional<std::pair<std::string, std::string>> link(const Page &page,
                                                          std::string_view address, uint32_t at);
  std::optional<Inline> image(const Page &page, std::string_view address,
                              std::string_view alternative, uint32_t at);
  bool isFull() const;
  void report(const Page &page, uint32_t at, std::string message);
};

} // namespace mx::docs
