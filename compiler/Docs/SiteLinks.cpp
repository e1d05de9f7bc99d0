// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links and images on the pages of a site: where they lead, and what is wrong with them.
#include "Docs/Site.h"
#include "Docs/SitePaths.h"
#include "Support/Limits.h"
#include "Support/Page.h"
#include "Support/Suggest.h"
#include <algorithm>

namespace mx::docs {
namespace {

/// An address in a message.
std::string shownAddress(std::string_view address) {
  constexpr size_t kMaxShown = 120;
  if (address.size() <= kMaxShown)
    return "`" + std::string(address) + "`";
  size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(address[end]) & 0xC0) == 0x80)
    --end; // not inside of a character
  return "`" + std::string(address.substr(0, end)) + "…`";
}

/// The most similar of some names. Long names and long lists are not searched: a comparison takes
/// the square of the length.
template <class Names> std::string similarTo(std::string_view name, const Names &names) {
  constexpr size_t kMaxCompared = 80, kMaxNames = 1000;
  std::vector<std::string> known;
  if (name.size() <= kMaxCompared && names.size() <= kMaxNames)
    for (const std::string &each : names)
      if (each.size() <= kMaxCompared)
        known.push_back(each);
  return nearest(name, known);
}

} // namespace

bool Site::isFull() const {
  return result.problems.size() >= static_cast<size_t>(limits::kMaxErrors);
}

void Site::report(const Page &page, uint32_t at, std::string message) {
  if (!isFull())
    result.problems.push_back({{page.file->id(), at, at}, std::move(message)});
}

Site::Target Site::resolve(const Page &page, std::string_view address) const {
  auto [path, anchor] = localAddress(address);
  Target target;
  target.anchor = std::move(anchor);
  if (path.empty()) {
    target.page = &page;
    return target;
  }
  auto normal = targetPath(path, folderOf(page.path));
  if (!normal)
    return target;
  target.path = *normal;
  for (const std::string &known :
       {target.path, joined(target.path, "README.md"), joined(target.path, "index.md")})
    if (auto found = byPath.find(known); found != byPath.end() && !target.page)
      target.page = &pages[found->second];
  target.isFile = !target.page && options.isFile(target.path);
  return target;
}

/// The address of the page that a dead link may mean: one of the same name in another folder, or
/// of a similar name.
std::string Site::suggestionFor(const Page &page, std::string_view address) const {
  auto stemOf = [](std::string_view path) {
    std::string_view name = nameOf(path);
    return std::string(name.substr(0, name.rfind(".md")));
  };
  std::string stem = stemOf(localAddress(address).path);
  std::vector<std::string> stems;
  for (const Page &each : pages)
    if (!isIndexPage(each.path))
      stems.push_back(stemOf(each.path));
  bool isKnown = std::find(stems.begin(), stems.end(), stem) != stems.end();
  std::string meant = isKnown ? stem : similarTo(stem, stems);
  for (const Page &each : pages)
    if (!meant.empty() && !isIndexPage(each.path) && stemOf(each.path) == meant)
      return relativePath(each.path, folderOf(page.path));
  return "";
}

std::optional<std::pair<std::string, std::string>>
Site::link(const Page &page, std::string_view address, uint32_t at) {
  using Tags = std::pair<std::string, std::string>;
  std::string_view scheme = schemeOf(address);
  if (scheme == "http" || scheme == "https" || scheme == "mailto")
    return Tags("<a href=" + quoted(address) + ">", "</a>");
  if (!scheme.empty() || address.empty())
    return std::nullopt;
  Target target = resolve(page, address);
  if (!target.page) {
    if (!target.isFile && (target.path.empty() || !options.isFolder(target.path)) && !isFull()) {
      std::string similar = suggestionFor(page, address);
      report(page, at,
             "the link " + shownAddress(address) + " leads to no page and no file" +
                 (similar.empty() ? "" : "; did you mean `" + similar + "`?"));
    }
    // Files of the repository are not part of the site.
    return Tags("<span class=\"file\" title=" + quoted(target.path) + ">", "</span>");
  }
  std::string href =
      target.page == &page ? "" : rootOf(page.output) + addressOf(target.page->output);
  if (!target.anchor.empty()) {
    if (target.page->anchors.count(target.anchor) == 0 && !isFull()) {
      std::string similar = similarTo(target.anchor, target.page->anchors);
      report(page, at,
             "the link " + shownAddress(address) + " leads to no heading of `" + target.page->path +
                 "`" + (similar.empty() ? "" : "; did you mean `#" + similar + "`?"));
    }
    href += "#" + target.anchor;
  }
  if (href.empty())
    href = addressOf(nameOf(page.output));
  return Tags("<a href=" + quoted(href) + ">", "</a>");
}

/// Images of the repository are copied. Those of the web are links, since pages load nothing.
std::optional<Inline> Site::image(const Page &page, std::string_view address,
                                  std::string_view alternative, uint32_t at) {
  std::string bare = escapedForPage(alternative.empty() ? address : alternative);
  std::string_view scheme = schemeOf(address);
  if (scheme == "http" || scheme == "https")
    return Inline{"<a href=" + quoted(address) + ">" + bare + "</a>", bare};
  if (!scheme.empty() || address.empty())
    return std::nullopt;
  Target target = resolve(page, address);
  if (!target.isFile || !isImageName(target.path)) {
    report(page, at,
           target.isFile || target.page
               ? "the image " + shownAddress(address) +
                     " is not a file of a known kind: png, jpg, jpeg, gif, svg or webp"
               : "the image " + shownAddress(address) + " does not exist");
    return Inline{bare, bare};
  }
  std::string &name = images[target.path];
  if (name.empty()) {
    bool isInside = target.path.rfind(options.folder + "/", 0) == 0;
    name = isInside ? target.path.substr(options.folder.size() + 1) : "files/" + target.path;
    while (!taken.insert(name).second)
      name = "files/" + name;
    result.copies.emplace_back(target.path, name);
  }
  return Inline{"<img src=" + quoted(rootOf(page.output) + addressOf(name)) +
                    " alt=" + quoted(alternative) + ">",
                ""};
}

} // namespace mx::docs
