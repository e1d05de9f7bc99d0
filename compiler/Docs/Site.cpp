// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Markdown pages as a site: sections, order, file names, navigation and search entries.
#include "Docs/Site.h"
#include "Docs/SitePaths.h"
#include "Docs/Text.h"
#include "Support/Page.h"
#include "Support/Unicode.h"
#include <algorithm>

namespace mx::docs {
namespace {

constexpr std::string_view kHome = "home";       ///< the start page
constexpr std::string_view kProject = "project"; ///< pages beside the folder, or directly in it

/// The sections in their order: folders, pages directly in the folder of all pages, and the two
/// above. Other folders follow in the order of their names.
struct KnownSection {
  std::string_view name, title;
};
constexpr KnownSection kSections[] = {{kHome, ""},
                                      {"start", "Getting started"},
                                      {"tour", ""},
                                      {"guides", "Guides"},
                                      {"reference", "Reference"},
                                      {"internals", "Internals"},
                                      {"decisions", "Decisions"},
                                      {"benchmarks", "Benchmarks"},
                                      {kProject, "Project"}};
/// The library's pages follow this section.
constexpr std::string_view kLibraryAfter = "reference";

size_t rankOf(std::string_view section) {
  return static_cast<size_t>(
      std::find_if(std::begin(kSections), std::end(kSections),
                   [&](const KnownSection &known) { return known.name == section; }) -
      std::begin(kSections));
}

/// `scaling-out` is `Scaling out`.
std::string titleOf(std::string_view folder) {
  std::string out(folder);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '-' || c == '_'; }, ' ');
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 32);
  return out;
}

/// Rendering of headings for anchors and titles, before links can be resolved.
InlineHooks plainHooks() {
  InlineHooks hooks;
  hooks.code = [](std::string_view code) -> Inline { return {escapedForPage(code), ""}; };
  hooks.link = [](std::string_view, uint32_t) {
    return std::optional(std::pair<std::string, std::string>());
  };
  hooks.image = [](std::string_view, std::string_view alternative, uint32_t) {
    return std::optional(Inline{escapedForPage(alternative), ""});
  };
  return hooks;
}

/// All texts of blocks, in order, with the heading or code block they are in.
template <class Visit> void visitTexts(const std::vector<Block> &blocks, const Visit &visit) {
  for (const Block &block : blocks) {
    if (!block.text.text.empty() || block.kind == Block::Kind::Heading)
      visit(block, block.text);
    for (const std::vector<BlockText> &row : block.rows)
      for (const BlockText &cell : row)
        visit(block, cell);
    visitTexts(block.parts, visit); // at most kMaxMarkdownDepth levels
  }
}

/// Adds words to a text, with single spaces between them.
void appendWords(std::string &out, std::string_view text) {
  bool isSpaced = true;
  out += out.empty() ? "" : " ";
  for (char c : text) {
    bool isSpace = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!isSpace)
      out += c;
    else if (!isSpaced)
      out += ' ';
    isSpaced = isSpace;
  }
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
}

} // namespace

std::string cleanText(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") // byte order mark
    text.remove_prefix(3);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    CodePoint c = decodeUtf8(text, i);
    bool isControl = (c.value < 0x20 && c.value != '\t' && c.value != '\n' && c.value != '\r') ||
                     (c.value >= 0x7F && c.value < 0xA0) || isBidiControl(c.value);
    if (c.bytes == 0 || isControl)
      appendUtf8(out, 0xFFFD);
    else
      out += text.substr(i, c.bytes);
    i += c.bytes == 0 ? 1 : c.bytes;
  }
  return out;
}

Site::Site(const Library &library, SiteOptions given)
    : library(library), options(std::move(given)) {
  taken.insert("names.js");
  for (const NavSection::Entry &entry : navigationOf(library, options.library).entries)
    taken.insert(entry.file);
}

void Site::add(std::string path, const SourceFile &file) {
  Page page;
  page.path = std::move(path);
  page.section = sectionOf(page.path);
  page.file = &file;
  page.blocks = parseMarkdown(file.text());
  readHeadings(page);
  if (isIndexPage(page.path))
    readOrder(page);
  std::string_view name = nameOf(page.path);
  page.title = std::string(name.substr(0, name.rfind(".md")));
  for (const Heading &heading : page.headings)
    if (!heading.text.empty()) {
      page.title = heading.text;
      break;
    }
  pages.push_back(std::move(page));
}

/// All headings, those in lists and quotes too, and the text below each.
void Site::readHeadings(Page &page) const {
  std::vector<std::string> texts;
  InlineHooks hooks = plainHooks();
  visitTexts(page.blocks, [&](const Block &block, const BlockText &text) {
    std::string words =
        block.kind == Block::Kind::Code ? text.text : plainText(inlineHtml(text, hooks));
    if (block.kind == Block::Kind::Heading) {
      texts.push_back(words);
      page.headings.push_back({block.number, words, "", ""});
    } else {
      appendWords(page.headings.empty() ? page.above : page.headings.back().below, words);
    }
  });
  std::vector<std::string> anchors = anchorsOf(texts);
  page.anchors.insert(anchors.begin(), anchors.end());
  for (size_t i = 0; i < anchors.size(); ++i)
    page.headings[i].anchor = anchors[i];
}

void Site::readOrder(Page &page) const {
  InlineHooks hooks = plainHooks();
  hooks.link = [&](std::string_view address,
                   uint32_t) -> std::optional<std::pair<std::string, std::string>> {
    if (schemeOf(address).empty())
      if (auto path = targetPath(localAddress(address).path, folderOf(page.path)))
        page.order.emplace(*path, page.order.size());
    return std::pair<std::string, std::string>();
  };
  visitTexts(page.blocks, [&](const Block &block, const BlockText &text) {
    if (block.kind != Block::Kind::Code)
      inlineHtml(text, hooks);
  });
}

std::string Site::sectionOf(std::string_view path) const {
  std::string folder = options.folder + "/";
  bool isInside = path.substr(0, folder.size()) == folder;
  path.remove_prefix(isInside ? folder.size() : 0);
  if (size_t slash = path.find('/'); slash != std::string_view::npos)
    return std::string(path.substr(0, slash));
  if (isIndexPage(path))
    return std::string(kHome);
  std::string name(path.substr(0, path.size() - 3));
  return isInside && rankOf(name) < std::size(kSections) ? name : std::string(kProject);
}

/// By section, then by folder; in a folder the index page, then the pages in the order of the links
/// of the nearest index page that has any: that of the folder, or of a folder above it. The others
/// follow by name.
void Site::sortPages() {
  std::map<std::string_view, const Page *> indexes;
  for (const Page &page : pages)
    if (isIndexPage(page.path))
      indexes.emplace(folderOf(page.path), &page);
  /// How far above a folder the index page with a link to a page is, and the number of the link.
  using Position = std::pair<size_t, size_t>;
  auto positionOf = [&](const Page &page, std::string_view folder) {
    for (size_t above = 0;; ++above, folder = folderOf(folder)) {
      if (auto index = indexes.find(folder); index != indexes.end())
        if (auto link = index->second->order.find(page.path); link != index->second->order.end())
          return Position(above, link->second);
      if (folder.empty())
        return Position(SIZE_MAX, 0);
    }
  };
  using Key = std::tuple<size_t, std::string, std::string, bool, Position, std::string>;
  std::vector<std::pair<Key, size_t>> keys;
  for (const Page &page : pages) {
    // The pages of the project are in two folders; the start page orders both.
    bool isProject = page.section == kProject;
    std::string_view folder = isProject ? std::string_view() : folderOf(page.path);
    keys.push_back({{rankOf(page.section), page.section, std::string(folder),
                     !isIndexPage(page.path), positionOf(page, folder), page.path},
                    keys.size()});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Page> sorted;
  for (const auto &[key, i] : keys)
    sorted.push_back(std::move(pages[i]));
  pages = std::move(sorted);
}

/// `docs/guides/memory.md` is `guides/memory.html`, an index page is the index.html of its folder,
/// if that is free.
void Site::nameOutputs() {
  for (size_t i = 0; i < pages.size(); ++i) {
    Page &page = pages[i];
    std::string inside = page.path;
    if (inside.rfind(options.folder + "/", 0) == 0)
      inside.erase(0, options.folder.size() + 1);
    std::string stem = inside.substr(0, inside.size() - 3);
    page.output = isIndexPage(inside) ? joined(folderOf(inside), "index.html") : stem + ".html";
    if (taken.count(page.output) != 0)
      page.output = stem + ".html";
    while (!taken.insert(page.output).second)
      page.output = (stem += ".page") + ".html";
    byPath[page.path] = i;
  }
}

std::vector<NavSection> Site::navigation() const {
  std::vector<NavSection> out;
  bool hasLibrary = false;
  auto addLibrary = [&](size_t rank) {
    if (hasLibrary || rank <= rankOf(kLibraryAfter))
      return;
    out.push_back(navigationOf(library, options.library));
    hasLibrary = true;
  };
  const Page *last = nullptr;
  for (const Page &page : pages) {
    size_t rank = rankOf(page.section);
    addLibrary(rank);
    bool isIndex = isIndexPage(page.path);
    if (!last || last->section != page.section) {
      out.emplace_back();
      out.back().title = rank < std::size(kSections) ? std::string(kSections[rank].title)
                         : isIndex                   ? page.title
                                                     : titleOf(page.section);
    }
    bool isHome = page.output == "index.html";
    bool isOverview = isIndex && page.section != kHome && (!last || last->section != page.section);
    out.back().entries.push_back({isHome       ? "Home"
                                  : isOverview ? "Overview"
                                               : page.title,
                                  page.output});
    last = &page;
  }
  addLibrary(std::size(kSections) + 1);
  return out;
}

/// The headings below the title, for the navigation.
std::string Site::outlineOf(const Page &page) const {
  std::string out;
  for (const Heading &heading : page.headings)
    if (heading.level == 2 || heading.level == 3)
      out += std::string("<li") + (heading.level == 3 ? " class=\"sub\"" : "") +
             "><a href=" + quoted("#" + heading.anchor) + ">" + escapedForPage(heading.text) +
             "</a></li>\n";
  return out.empty() ? "" : "<ul>\n" + out + "</ul>\n";
}

std::string Site::entriesOf(const Page &page) const {
  std::string out, link = addressOf(page.output);
  if (page.headings.empty() || !page.above.empty())
    out += searchEntry(page.title, "page", page.path, link, page.above);
  bool isTitle = page.above.empty();
  for (const Heading &heading : page.headings) {
    out += searchEntry(heading.text, isTitle ? "page" : "section",
                       isTitle ? std::string_view(page.path) : std::string_view(page.title),
                       link + "#" + heading.anchor, heading.below);
    isTitle = false;
  }
  return out;
}

/// The list of all pages.
std::string Site::contents(const Shell &shell) const {
  std::string out = "<h1>" + escapedForPage(shell.title) + "</h1>\n";
  for (const NavSection &section : shell.sections) {
    out += section.title.empty() ? "" : "<h2>" + escapedForPage(section.title) + "</h2>\n";
    out += "<ul>\n";
    for (const NavSection::Entry &entry : section.entries)
      out += "<li><a href=" + quoted(addressOf(entry.file)) + ">" + escapedForPage(entry.title) +
             "</a></li>\n";
    out += "</ul>\n";
  }
  return out;
}

SiteResult Site::write() {
  result = {};
  sortPages();
  nameOutputs();
  if (options.library.title.empty()) {
    auto start = std::find_if(pages.begin(), pages.end(),
                              [](const Page &page) { return page.output == "index.html"; });
    options.library.title = start == pages.end() ? options.folder : start->title;
  }
  Shell shell{options.library.title, navigation()};
  std::string entries;
  for (const Page &page : pages) {
    PageContext context;
    context.library = rootOf(page.output) + options.library.folder;
    for (const Heading &heading : page.headings)
      context.anchors.push_back(heading.anchor);
    context.link = [&](std::string_view address, uint32_t at) { return link(page, address, at); };
    context.image = [&](std::string_view address, std::string_view alternative, uint32_t at) {
      return image(page, address, alternative, at);
    };
    std::string main = Writer(library, nullptr, &context).prose(page.blocks);
    result.files.push_back(
        {page.output, shell.page(page.output, page.title, outlineOf(page), main)});
    entries += entriesOf(page);
  }
  if (taken.insert("index.html").second) // no README.md
    result.files.push_back(
        {"index.html", shell.page("index.html", shell.title, "", contents(shell))});
  for (File &file : pagesIn(shell, library, options.library, entries))
    result.files.push_back(std::move(file));
  result.files.push_back({"names.js", searchIndex(entries)});
  return std::move(result);
}

} // namespace mx::docs
