// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Markdown pages as a site: file names, navigation, links between pages, images and search entries.
#include "Docs/Site.h"
#include "Docs/Text.h"
#include "Support/Limits.h"
#include "Support/Page.h"
#include "Support/Suggest.h"
#include "Support/Unicode.h"
#include <algorithm>

namespace mx::docs {
namespace {

/// The order of the sections: folders, or pages directly in the folder of all pages.
constexpr std::string_view kSections[] = {"start",     "tour",       "guides",    "reference",
                                          "internals", "benchmarks", "decisions", "status"};
/// The library's pages follow this section.
constexpr std::string_view kLibraryAfter = "reference";

size_t rankOf(std::string_view section) {
  return static_cast<size_t>(std::find(std::begin(kSections), std::end(kSections), section) -
                             std::begin(kSections));
}

std::string_view folderOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view nameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string joined(std::string_view folder, std::string_view name) {
  return (folder.empty() ? "" : std::string(folder) + "/") + std::string(name);
}

/// A path without `.`, `..` and empty parts; nothing if it leaves the repository.
std::optional<std::string> normalPath(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('/', begin), path.size());
    std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".")
      continue;
    if (part != "..") {
      parts.push_back(part);
      continue;
    }
    if (parts.empty())
      return std::nullopt;
    parts.pop_back();
  }
  std::string out;
  for (std::string_view part : parts)
    out += (out.empty() ? "" : "/") + std::string(part);
  return out;
}

int hexValue(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/// An address without its `%` escapes. NUL ends a path of the file system, so it stays escaped.
std::string unescaped(std::string_view address) {
  std::string out;
  for (size_t i = 0; i < address.size(); ++i) {
    int high = address[i] == '%' && i + 2 < address.size() ? hexValue(address[i + 1]) : -1;
    int low = high >= 0 ? hexValue(address[i + 2]) : -1;
    if (low >= 0 && high * 16 + low != 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += address[i];
    }
  }
  return out;
}

/// `https` of `https://…`; empty for paths and anchors.
std::string_view schemeOf(std::string_view address) {
  size_t end = address.find_first_of(":/#?");
  return end != std::string_view::npos && address[end] == ':' ? address.substr(0, end)
                                                              : std::string_view();
}

bool isImageName(std::string_view path) {
  std::string ending(path.substr(std::min(path.rfind('.'), path.size())));
  for (char &c : ending)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (std::string_view known : {".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"})
    if (ending == known)
      return true;
  return false;
}

std::string capitalised(std::string_view word) {
  std::string out(word);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 32);
  return out;
}

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

/// The anchor that may be meant. Long anchors and pages are not searched: comparing takes the square
/// of the length.
std::string similarTo(const std::string &anchor, const std::set<std::string> &anchors) {
  constexpr size_t kMaxCompared = 80, kMaxAnchors = 1000;
  std::vector<std::string> known;
  if (anchor.size() <= kMaxCompared && anchors.size() <= kMaxAnchors)
    for (const std::string &each : anchors)
      if (each.size() <= kMaxCompared)
        known.push_back(each);
  return nearest(anchor, known);
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

/// All headings, those in lists and quotes too.
void headingsOf(const std::vector<Block> &blocks, std::vector<const Block *> &out) {
  for (const Block &block : blocks) {
    if (block.kind == Block::Kind::Heading)
      out.push_back(&block);
    headingsOf(block.parts, out);
  }
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
  page.file = &file;
  page.blocks = parseMarkdown(file.text());
  std::vector<const Block *> found;
  headingsOf(page.blocks, found);
  std::vector<std::string> texts;
  InlineHooks hooks = plainHooks();
  for (const Block *heading : found)
    texts.push_back(plainText(inlineHtml(heading->text, hooks)));
  std::vector<std::string> anchors = anchorsOf(texts);
  page.anchors.insert(anchors.begin(), anchors.end());
  for (size_t i = 0; i < found.size(); ++i)
    page.headings.push_back({found[i]->number, texts[i], anchors[i]});
  std::string_view name = nameOf(path);
  page.title = std::string(name.substr(0, name.rfind(".md")));
  for (const Heading &heading : page.headings)
    if (!heading.text.empty()) {
      page.title = heading.text;
      break;
    }
  page.path = std::move(path);
  pages.push_back(std::move(page));
}

/// Sorts the pages and gives each its file: `docs/guides/memory.md` is `guides/memory.html`, a
/// README.md is the index.html of its folder, if that is free.
void Site::nameOutputs() {
  auto isIndex = [](std::string_view path) {
    return nameOf(path) == "README.md" || nameOf(path) == "index.md";
  };
  auto key = [&](const Page &page) {
    std::string section = sectionOf(page);
    bool isOutside = folderOf(page.path) != options.folder &&
                     page.path.rfind(options.folder + "/", 0) != 0;
    return std::tuple(rankOf(section), section, !isOutside, std::string(folderOf(page.path)),
                      !isIndex(page.path), page.path);
  };
  std::sort(pages.begin(), pages.end(),
            [&](const Page &a, const Page &b) { return key(a) < key(b); });
  for (size_t i = 0; i < pages.size(); ++i) {
    Page &page = pages[i];
    std::string inside = page.path;
    if (inside.rfind(options.folder + "/", 0) == 0)
      inside.erase(0, options.folder.size() + 1);
    std::string stem = inside.substr(0, inside.size() - 3);
    page.output = isIndex(inside) ? joined(folderOf(inside), "index.html") : stem + ".html";
    if (taken.count(page.output) != 0)
      page.output = stem + ".html";
    while (!taken.insert(page.output).second)
      page.output = (stem += ".page") + ".html";
    byPath[page.path] = i;
  }
}

/// The section of a page: its first folder, `start` for the start page, otherwise its own name.
std::string Site::sectionOf(const Page &page) const {
  std::string_view inside = page.path;
  if (inside.substr(0, options.folder.size() + 1) == options.folder + "/")
    inside.remove_prefix(options.folder.size() + 1);
  size_t slash = inside.find('/');
  if (slash != std::string_view::npos)
    return std::string(inside.substr(0, slash));
  if (inside == "README.md" || inside == "index.md")
    return "start";
  return std::string(inside.substr(0, inside.size() - 3));
}

std::vector<NavSection> Site::navigation() const {
  std::vector<NavSection> out;
  std::string last;
  bool hasLibrary = false;
  auto addLibrary = [&](size_t rank) {
    if (hasLibrary || rank <= rankOf(kLibraryAfter))
      return;
    out.push_back(navigationOf(library, options.library));
    hasLibrary = true;
  };
  for (const Page &page : pages) {
    std::string section = sectionOf(page);
    addLibrary(rankOf(section));
    std::string_view folder = folderOf(page.path);
    bool isAlone = section != "start" && (folder.empty() || folder == options.folder);
    if (out.empty() || section != last) {
      out.emplace_back();
      out.back().title = isAlone ? "" : capitalised(section);
    } else if (!isAlone) {
      out.back().title = capitalised(section); // `guides.md` and the folder `guides`
    }
    last = section;
    out.back().entries.push_back({page.title, page.output});
  }
  addLibrary(std::size(kSections) + 1);
  for (NavSection &section : out)
    if (section.entries.size() == 1)
      section.title.clear();
  return out;
}

void Site::report(const Page &page, uint32_t at, std::string message) {
  if (result.problems.size() < static_cast<size_t>(limits::kMaxErrors))
    result.problems.push_back({{page.file->id(), at, at}, std::move(message)});
}

Site::Target Site::resolve(const Page &page, std::string_view address) const {
  Target target;
  size_t hash = std::min(address.find('#'), address.size());
  std::string path = unescaped(address.substr(0, hash));
  target.anchor = unescaped(address.substr(std::min(hash + 1, address.size())));
  if (path.empty()) {
    target.page = &page;
    return target;
  }
  auto normal = normalPath(path[0] == '/' ? path : joined(folderOf(page.path), path));
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
    if (!target.isFile && (target.path.empty() || !options.isFolder(target.path)))
      report(page, at, "the link " + shownAddress(address) + " leads to no page and no file");
    // Files of the repository are not part of the site.
    return Tags("<span class=\"file\" title=" + quoted(target.path) + ">", "</span>");
  }
  std::string href = target.page == &page ? "" : rootOf(page.output) + addressOf(target.page->output);
  if (!target.anchor.empty()) {
    if (target.page->anchors.count(target.anchor) == 0) {
      bool isKept = result.problems.size() < static_cast<size_t>(limits::kMaxErrors);
      std::string similar = isKept ? similarTo(target.anchor, target.page->anchors) : "";
      report(page, at,
             "the link " + shownAddress(address) + " leads to no heading of `" +
                 target.page->path + "`" +
                 (similar.empty() ? "" : "; did you mean `#" + similar + "`?"));
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
    report(page, at, "there is no image " + shownAddress(address));
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

/// The headings below the title, for the navigation.
std::string Site::outlineOf(const Page &page) const {
  std::string out;
  for (const Heading &heading : page.headings)
    if (heading.level == 2)
      out += "<li><a href=" + quoted("#" + heading.anchor) + ">" + escapedForPage(heading.text) +
             "</a></li>\n";
  return out.empty() ? "" : "<ul>\n" + out + "</ul>\n";
}

std::string Site::entriesOf(const Page &page) const {
  std::string out;
  std::string link = addressOf(page.output);
  if (page.headings.empty())
    out += searchEntry(page.title, "page", page.path, link, "");
  bool isTitle = true;
  for (const Heading &heading : page.headings) {
    out += searchEntry(heading.text, isTitle ? "page" : "section",
                       isTitle ? std::string_view(page.path) : std::string_view(page.title),
                       link + "#" + heading.anchor, "");
    isTitle = false;
  }
  return out;
}

SiteResult Site::write() {
  result = {};
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
  if (taken.insert("index.html").second) { // no README.md: the list of all pages
    std::string main = "<h1>" + escapedForPage(shell.title) + "</h1>\n";
    for (const NavSection &section : shell.sections) {
      main += section.title.empty() ? "" : "<h2>" + escapedForPage(section.title) + "</h2>\n";
      main += "<ul>\n";
      for (const NavSection::Entry &entry : section.entries)
        main += "<li><a href=" + quoted(addressOf(entry.file)) + ">" +
                escapedForPage(entry.title) + "</a></li>\n";
      main += "</ul>\n";
    }
    result.files.push_back({"index.html", shell.page("index.html", shell.title, "", main)});
  }
  for (File &file : pagesIn(shell, library, options.library, entries))
    result.files.push_back(std::move(file));
  result.files.push_back({"names.js", searchIndex(entries)});
  return std::move(result);
}

} // namespace mx::docs
