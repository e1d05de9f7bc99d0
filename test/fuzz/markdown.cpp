// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes are a page. Its tags close in order, its text is valid UTF-8, and nothing of the input
// becomes a tag: what is between `<` and `>` is one of the renderer's own.
#include "Docs/Site.h"
#include "Docs/Text.h"
#include "Support/Unicode.h"
#include <cstdlib>

using namespace mx;
using namespace mx::docs;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static bool isOneOf(std::string_view word, std::initializer_list<std::string_view> known) {
  for (std::string_view each : known)
    if (word == each)
      return true;
  return false;
}

/// Whether tags are known and close in order.
static void checkTags(std::string_view html) {
  std::vector<std::string_view> open;
  for (size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    size_t end = html.find('>', at);
    require(end != std::string_view::npos);
    std::string_view tag = html.substr(at + 1, end - at - 1);
    bool closes = !tag.empty() && tag[0] == '/';
    std::string_view name = tag.substr(closes ? 1 : 0, tag.find(' ') - (closes ? 1 : 0));
    if (isOneOf(name, {"br", "hr", "img"}))
      continue;
    require(
        isOneOf(name, {"a",    "p",   "h1",    "h2",         "h3",   "h4",  "h5",     "h6",
                       "ul",   "ol",  "li",    "tr",         "th",   "td",  "em",     "strong",
                       "code", "pre", "table", "blockquote", "span", "div", "footer", "small"}));
    if (!closes) {
      // A link is not in a link.
      require(name != "a" || std::find(open.begin(), open.end(), "a") == open.end());
      open.push_back(name);
      continue;
    }
    require(!open.empty() && open.back() == name);
    open.pop_back();
  }
  require(open.empty());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text = cleanText({reinterpret_cast<const char *>(data), size});
  for (size_t i = 0; i < text.size();) {
    CodePoint c = decodeUtf8(text, i);
    require(c.bytes != 0);
    i += c.bytes;
  }
  Library library;
  library.resolve(true);
  checkTags(Writer(library, nullptr).prose(text));

  SourceManager sources;
  SiteOptions options;
  options.library.folder = "library/";
  options.library.primitives = false;
  options.folder = "docs";
  options.isFile = [](const std::string &path) { return path.size() % 2 == 0; };
  options.isFolder = [](const std::string &) { return false; };
  Site site(library, options);
  const SourceFile &file = sources.add("fuzz.md", "fuzz.md", text);
  site.add("docs/fuzz.md", file);
  SiteResult result = site.write();
  for (const SiteProblem &problem : result.problems)
    require(problem.span.begin <= text.size() && file.lineNumber(problem.span.begin) > 0);
  for (const File &page : result.files)
    if (page.name == "fuzz.html") {
      size_t begin = page.text.find("<main"), end = page.text.find("</main>");
      require(begin < end && end != std::string::npos);
      begin = page.text.find('>', begin) + 1;
      checkTags(std::string_view(page.text).substr(begin, end - begin));
    }
  return 0;
}
