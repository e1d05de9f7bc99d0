// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Head, navigation and frame of the HTML pages, and the search index.
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

std::string Shell::tree(const std::string &file, const std::string &outline) const {
  std::string root = rootOf(file), out;
  for (const NavSection &section : sections) {
    std::string entries = entriesOf(section, file, root, outline);
    bool isHere = std::any_of(section.entries.begin(), section.entries.end(),
                              [&](const NavSection::Entry &e) { return e.file == file; });
    if (section.title.empty())
      out += entries;
    else
      out += std::string("<details class=\"part\"") + (isHere ? " open" : "") + "><summary>" +
             escapedForPage(section.title) + "</summary>\n" + entries + "</details>\n";
  }
  return out;
}

/// Links to the pages before and behind a page.
std::string Shell::pager(const std::string &file) const {
  std::string root = rootOf(file);
  std::vector<const NavSection::Entry *> all;
  std::vector<const NavSection *> in;
  for (const NavSection &section : sections)
    for (const NavSection::Entry &entry : section.entries) {
      all.push_back(&entry);
      in.push_back(&section);
    }
  auto here =
      std::find_if(all.begin(), all.end(), [&](auto *entry) { return entry->file == file; });
  if (here == all.end() || all.size() < 2)
    return "";
  auto at = static_cast<size_t>(here - all.begin());
  auto link = [&](size_t to, const char *relation, const char *word) {
    // `Overview` says little outside of its section.
    bool isElsewhere = in[to] != in[at] && !in[to]->title.empty();
    return std::string("<a rel=\"") + relation +
           "\" href=" + quoted(root + addressOf(all[to]->file)) + "><small>" + word + "</small>" +
           (isElsewhere ? escapedForPage(in[to]->title) + ": " : "") +
           escapedForPage(all[to]->title) + "</a>\n";
  };
  return "<footer class=\"pager\">\n" + (at > 0 ? link(at - 1, "prev", "Previous") : "") +
         (at + 1 < all.size() ? link(at + 1, "next", "Next") : "") + "</footer>\n";
}

std::string Shell::page(const std::string &file, const std::string &pageTitle,
                        const std::string &outline, const std::string &main) const {
  std::string root = rootOf(file), crumb;
  for (const NavSection &section : sections)
    for (const NavSection::Entry &entry : section.entries)
      if (entry.file == file && !section.title.empty())
        crumb = "<p class=\"crumb\">" + escapedForPage(section.title) + "</p>\n";
  std::string shown = pageTitle == title ? title : pageTitle + " - " + title;
  std::string aside =
      outline.empty()
          ? ""
          : "<aside aria-label=\"On this page\">\n<p>On this page</p>\n" + outline + "</aside>\n";
  // On a narrow screen the style hides the tree while `menu` is closed; on a wide one it hides
  // `menu`.
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escapedForPage(shown) + "</title>\n<style>" + kStyle + "</style>\n<script>" +
         kThemeScript + "</script>\n</head>\n<body data-root=" + quoted(root) +
         ">\n<a class=\"skip\" href=\"#main\">Skip to the text</a>\n<header>\n"
         "<details class=\"menu\"><summary aria-label=\"Contents\">&#9776;</summary></details>\n"
         "<a class=\"home\" href=" +
         quoted(root + "index.html") + ">" + escapedForPage(title) +
         "</a>\n<div class=\"search\"><label for=\"search\">Search</label>\n<input id=\"search\" "
         "type=\"search\" placeholder=\"Search\" autocomplete=\"off\" spellcheck=\"false\">"
         "<kbd>/</kbd>\n<ol id=\"found\" hidden></ol></div>\n"
         "<button id=\"theme\" type=\"button\" aria-label=\"Light or dark\" hidden></button>\n"
         "</header>\n<nav aria-label=\"Contents\">\n" +
         tree(file, outline) + "</nav>\n<main id=\"main\">\n" + crumb + main + pager(file) +
         "</main>\n" + aside + "<script>" + kScript + "</script>\n</body>\n</html>\n";
}

} // namespace mx::docs
