// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Head and navigation of the HTML pages, and the search index.
#include "Docs/Shell.h"
#include "Support/Diagnostic.h"
#include "Support/Page.h"
#include <algorithm>

namespace mx::docs {
namespace {

/// The entries of a section; the current page is marked and shows its outline.
std::string entriesOf(const NavSection &section, const std::string &file, const std::string &root,
                      const std::string &outline) {
  std::string out = "<ul class=\"modules\">\n";
  for (const NavSection::Entry &entry : section.entries) {
    bool isHere = entry.file == file;
    out += std::string("<li") + (isHere ? " class=\"here\"" : "") +
           "><a href=" + quoted(root + addressOf(entry.file)) +
           (isHere ? " aria-current=\"page\"" : "") + ">" + escapedForPage(entry.title) + "</a>" +
           (isHere ? outline : "") + "</li>\n";
  }
  return out + "</ul>\n";
}

} // namespace

std::string rootOf(std::string_view file) {
  std::string out;
  for (char c : file)
    if (c == '/')
      out += "../";
  return out;
}

std::string addressOf(std::string_view path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char c : path) {
    auto byte = static_cast<unsigned char>(c);
    bool isPlain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   std::string_view("-._~/").find(c) != std::string_view::npos;
    if (isPlain)
      out += c;
    else
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

std::string quoted(std::string_view text) { return "\"" + escapedForPage(text) + "\""; }

std::string searchIndex(const std::string &entries) {
  return "const NAMES = [\n" + entries + "];\n";
}

std::string searchEntry(std::string_view name, std::string_view kind, std::string_view module,
                        std::string_view link, std::string_view doc) {
  std::string out = "[";
  for (std::string_view part : {name, kind, module, link, doc})
    out += (out.size() > 1 ? "," : "") + jsonString(part);
  return out + "],\n";
}

std::string Shell::page(const std::string &file, const std::string &pageTitle,
                        const std::string &outline, const std::string &main) const {
  std::string root = rootOf(file);
  std::string tree;
  for (const NavSection &section : sections) {
    std::string entries = entriesOf(section, file, root, outline);
    bool isHere = std::any_of(section.entries.begin(), section.entries.end(),
                              [&](const NavSection::Entry &e) { return e.file == file; });
    if (section.title.empty())
      tree += entries;
    else
      tree += std::string("<details class=\"part\"") + (isHere ? " open" : "") + "><summary>" +
              escapedForPage(section.title) + "</summary>\n" + entries + "</details>\n";
  }
  std::string shown = pageTitle == title ? title : pageTitle + " - " + title;
  // On a narrow screen the style hides the tree while `menu` is closed; on a wide one it hides
  // `menu`.
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escapedForPage(shown) + "</title>\n<style>" + kStyle +
         "</style>\n</head>\n<body data-root=" + quoted(root) + ">\n<nav>\n<a class=\"home\" href=" +
         quoted(root + "index.html") + ">" + escapedForPage(title) +
         "</a>\n<label for=\"search\">Search</label>\n<input id=\"search\" type=\"search\" "
         "placeholder=\"name or word   /\" autocomplete=\"off\">\n<ol id=\"found\" hidden></ol>\n"
         "<details class=\"menu\"><summary>Contents</summary></details>\n<div class=\"tree\">\n" +
         tree + "</div>\n</nav>\n<main>\n" + main + "</main>\n<script src=" +
         quoted(root + "names.js") + "></script>\n<script>" + kScript +
         "</script>\n</body>\n</html>\n";
}

} // namespace mx::docs
