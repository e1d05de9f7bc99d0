// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of every page: head, navigation, search and style.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mx::docs {

struct File {
  std::string name, text;
};

/// A part of the navigation. Files are relative to the folder of all pages.
struct NavSection {
  struct Entry {
    std::string title, file;
  };
  std::string title; ///< empty: the entries are not folded below a title
  std::vector<Entry> entries;
};

struct Shell {
  std::string title; ///< of all pages
  std::vector<NavSection> sections;

  /// A whole page. `outline` is the list of its own sections.
  std::string page(const std::string &file, const std::string &title, const std::string &outline,
                   const std::string &main) const;

private:
  std::string tree(const std::string &file, const std::string &outline) const;
  std::string pager(const std::string &file) const;
};

/// `../` for each folder of a file: the way from it to the folder of all pages.
std::string rootOf(std::string_view file);
/// A path as an address, with `%` escapes.
std::string addressOf(std::string_view path);
/// A quoted attribute.
std::string quoted(std::string_view text);
/// The search index, names.js.
std::string searchIndex(const std::string &entries);
/// One entry of the search index: name, kind, module or page, link, text.
std::string searchEntry(std::string_view name, std::string_view kind, std::string_view module,
                        std::string_view link, std::string_view doc);

/// Style (Style.cpp) and scripts (Script.cpp) of every page. The theme's script runs before
/// anything is shown.
extern const char *const kStyle;
extern const char *const kThemeScript;
extern const char *const kScript;

} // namespace mx::docs
