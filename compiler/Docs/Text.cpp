// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax highlighting, and HTML of doc comments and pages.
#include "Docs/Text.h"
#include "Docs/Highlight.h"
#include "Support/ElementType.h"
#include "Support/Page.h"
#include "Syntax/Lexer.h"
#include <cctype>

namespace mx::docs {
namespace {

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string span(const char *style, std::string_view text) {
  return std::string("<span class=\"") + style + "\">" + escapedForPage(text) + "</span>";
}

/// The name that `Conv`, `nn.Conv` or `leaves(…)` in a text refers to, or an empty string.
std::string_view spokenOf(std::string_view code) {
  size_t end = 0;
  while (end < code.size() && (isWord(code[end]) || (code[end] == '.' && end > 0)))
    ++end;
  bool whole = end == code.size() || code[end] == '(' || code[end] == '[';
  return whole && end > 0 && std::isdigit(static_cast<unsigned char>(code[0])) == 0
             ? code.substr(0, end)
             : std::string_view();
}

/// Names in documents are not longer.
constexpr size_t kMaxNameBytes = 200;
constexpr int kMaxNameParts = 8;

/// Whether a link is a web or relative address, and not a script.
bool isAddress(std::string_view link) {
  size_t colon = link.find_first_of(":/#)");
  bool isPlain = colon == std::string_view::npos || link[colon] != ':';
  return !link.empty() &&
         (isPlain || link.substr(0, 7) == "http://" || link.substr(0, 8) == "https://");
}

bool isContextual(std::string_view word) {
  for (std::string_view known : contextualWords())
    if (word == known)
      return true;
  return false;
}

} // namespace

/// The names that `from loss import mse` in a text defines.
std::map<std::string, std::string, std::less<>>
Writer::importedIn(std::string_view text, const std::vector<Token> &tokens) const {
  std::map<std::string, std::string, std::less<>> out;
  auto textOf = [&](const Token &t) { return text.substr(t.begin, t.end - t.begin); };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != Tok::KwFrom)
      continue;
    std::string path;
    for (++i; tokens[i].kind == Tok::Name || tokens[i].kind == Tok::Dot; ++i)
      path += textOf(tokens[i]);
    if (tokens[i].kind != Tok::KwImport || path.size() > kMaxNameBytes)
      continue;
    for (++i; tokens[i].kind == Tok::Name || tokens[i].kind == Tok::Comma; ++i)
      if (tokens[i].kind == Tok::Name)
        out[std::string(textOf(tokens[i]))] =
            library.linkOf(module, path + "." + std::string(textOf(tokens[i])));
  }
  return out;
}

std::string Writer::linked(std::string_view target, std::string_view shown) const {
  if (target.empty())
    return escapedForPage(shown);
  return "<a href=\"" + escapedForPage((page ? page->library : "") + std::string(target)) + "\">" +
         escapedForPage(shown) + "</a>";
}

std::string Writer::code(std::string_view text, const OwnNames &own) const {
  SourceManager sources;
  Diagnostics quiet(sources);
  const SourceFile &file = sources.add("", "", std::string(text));
  LexedSource lexed = lex(file, quiet);
  std::string out;
  uint32_t at = 0;
  auto comment = lexed.comments.begin();
  auto upTo = [&](uint32_t end) { // white space and comments
    for (; comment != lexed.comments.end() && comment->begin < end; ++comment) {
      out += escapedForPage(text.substr(at, comment->begin - at));
      out += span("c", text.substr(comment->begin, comment->end - comment->begin));
      at = comment->end;
    }
    if (end > at)
      out += escapedForPage(text.substr(at, end - at));
    at = std::max(at, end);
  };
  const std::vector<Token> &tokens = lexed.tokens;
  auto imported = importedIn(text, tokens);
  auto linkOf = [&](const std::string &name) {
    auto known = imported.find(name);
    return known == imported.end() ? library.linkOf(module, name) : known->second;
  };
  auto textOf = [&](const Token &t) { return text.substr(t.begin, t.end - t.begin); };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    if (token.kind == Tok::EndOfFile || token.kind == Tok::Newline)
      continue;
    upTo(token.begin);
    std::string_view word = textOf(token);
    at = token.end;
    bool afterDot = i > 0 && tokens[i - 1].kind == Tok::Dot;
    if (token.kind != Tok::Name) {
      bool isText = word.find('"') != std::string_view::npos;
      bool isNumber = token.kind == Tok::Int || token.kind == Tok::Float;
      out += tokenInfo(token.kind).keyword && !afterDot ? span("k", word)
             : isText                                   ? span("s", word)
             : isNumber                                 ? span("n", word)
                                                        : escapedForPage(word);
      continue;
    }
    // `nn.Conv` is one name if its prefix is a module.
    size_t last = i;
    std::string path(word);
    for (int parts = 1; parts < kMaxNameParts && !afterDot && last + 2 < tokens.size() &&
                        tokens[last + 1].kind == Tok::Dot && tokens[last + 2].kind == Tok::Name;
         ++parts) {
      path += "." + std::string(textOf(tokens[last + 2]));
      last += 2;
    }
    while (last > i && (linkOf(path).empty() || own.count(word) != 0)) {
      path.resize(path.rfind('.'));
      last -= 2;
    }
    Tok next = last + 1 < tokens.size() ? tokens[last + 1].kind : Tok::EndOfFile;
    bool isCalled = next == Tok::LParen;
    bool isNew =
        i > 0 && (tokens[i - 1].kind == Tok::KwFn || tokens[i - 1].kind == Tok::KwModel ||
                  tokens[i - 1].kind == Tok::KwStruct || tokens[i - 1].kind == Tok::KwType);
    bool isType = std::isupper(static_cast<unsigned char>(word[0])) != 0 && word.size() > 1;
    bool leads = !isNew && (last > i || (isCalled && (afterDot || own.count(word) == 0)) ||
                            (isType && !afterDot && own.count(word) == 0) ||
                            (i > 0 && tokens[i - 1].kind == Tok::Pipe));
    std::string_view whole = text.substr(token.begin, tokens[last].end - token.begin);
    if (leads && !linkOf(path).empty())
      out += linked(linkOf(path), whole);
    else if (!afterDot && last == i && elementNamed(word))
      out += span("t", word);
    else if (!afterDot && last == i && isContextual(word) && next == Tok::Name)
      out += span("k", word);
    else
      out += escapedForPage(whole);
    at = tokens[last].end;
    i = last;
  }
  upTo(static_cast<uint32_t>(text.size()));
  return out;
}

InlineHooks Writer::hooks(const OwnNames &own) const {
  InlineHooks hooks;
  hooks.code = [this, &own](std::string_view inside) -> Inline {
    std::string_view name = spokenOf(inside);
    bool leads = !name.empty() && name.size() <= kMaxNameBytes &&
                 own.count(name.substr(0, name.find('.'))) == 0;
    std::string bare = "<code>" + escapedForPage(inside) + "</code>";
    if (!leads)
      return {bare, bare};
    return {"<code>" + linked(library.linkOf(module, name), inside) + "</code>", bare};
  };
  if (page) {
    hooks.link = page->link;
    hooks.image = page->image;
    return hooks;
  }
  hooks.link = [](std::string_view address,
                  uint32_t) -> std::optional<std::pair<std::string, std::string>> {
    if (!isAddress(address))
      return std::nullopt;
    return std::pair<std::string, std::string>("<a href=\"" + escapedForPage(address) + "\">",
                                               "</a>");
  };
  // The pages of modules have no images beside them.
  hooks.image = [](std::string_view address, std::string_view alternative,
                   uint32_t) -> std::optional<Inline> {
    if (!isAddress(address))
      return std::nullopt;
    std::string bare = escapedForPage(alternative);
    return Inline{"<a href=\"" + escapedForPage(address) + "\">" + bare + "</a>", bare};
  };
  return hooks;
}

std::string Writer::line(std::string_view text, const OwnNames &own) const {
  BlockText block;
  block.addLine(text, 0);
  return inlineHtml(block, hooks(own));
}

void Writer::writeItem(std::string &out, const Block &item, bool isTight,
                       Document &document) const {
  out += "<li>";
  bool isFirst = true;
  for (const Block &part : item.parts) {
    if (isTight && part.kind == Block::Kind::Paragraph) {
      out += (isFirst ? "" : "\n") + inlineHtml(part.text, document.hooks);
    } else {
      out += isFirst || out.back() != '\n' ? "\n" : "";
      write(out, part, document);
    }
    isFirst = false;
  }
  out += "</li>\n";
}

void Writer::writeTable(std::string &out, const Block &table, Document &document) const {
  static constexpr const char *kClasses[] = {"", " class=\"left\"", " class=\"center\"",
                                             " class=\"right\""};
  out += "<div class=\"wide\"><table class=\"plain\">\n";
  const char *cell = "th";
  for (const std::vector<BlockText> &row : table.rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      out += std::string("<") + cell + kClasses[static_cast<size_t>(table.columns[i])] + ">" +
             inlineHtml(row[i], document.hooks) + "</" + cell + ">";
    out += "</tr>\n";
    cell = "td";
  }
  out += "</table></div>\n";
}

/// Recurses into lists and quotes, which nest at most kMaxMarkdownDepth levels.
void Writer::write(std::string &out, const Block &block, Document &document) const {
  switch (block.kind) {
  case Block::Kind::Heading: {
    std::string text = inlineHtml(block.text, document.hooks);
    if (!page) { // the headings of the page are names of the library
      out += "<h4>" + text + "</h4>\n";
      return;
    }
    std::string level = "h" + std::to_string(block.number);
    std::string anchor = escapedForPage(page->anchors[document.headings++]);
    out += "<" + level + " id=\"" + anchor + "\">" + text + " <a class=\"anchor\" href=\"#" +
           anchor + "\" aria-label=\"link to this section\">#</a></" + level + ">\n";
    return;
  }
  case Block::Kind::Paragraph:
    out += "<p>" + inlineHtml(block.text, document.hooks) + "</p>\n";
    return;
  case Block::Kind::Code:
    out += "<pre class=\"example\">" +
           (block.language == "mx" ? code(block.text.text)
                                   : highlighted(block.text.text, block.language)) +
           "</pre>\n";
    return;
  case Block::Kind::Rule:
    out += "<hr>\n";
    return;
  case Block::Kind::Quote:
    out += "<blockquote>\n";
    for (const Block &part : block.parts)
      write(out, part, document);
    out += "</blockquote>\n";
    return;
  case Block::Kind::List: {
    const char *tag = block.number < 0 ? "ul" : "ol";
    out +=
        std::string("<") + tag +
        (block.number > 1 || block.number == 0 ? " start=\"" + std::to_string(block.number) + "\""
                                               : "") +
        ">\n";
    for (const Block &item : block.parts)
      writeItem(out, item, block.isTight, document);
    out += std::string("</") + tag + ">\n";
    return;
  }
  case Block::Kind::Item: // written by its list
    return;
  case Block::Kind::Table:
    writeTable(out, block, document);
    return;
  }
}

std::string Writer::prose(const std::vector<Block> &blocks, const OwnNames &own) const {
  InlineHooks known = hooks(own);
  Document document{known};
  std::string out;
  for (const Block &block : blocks)
    write(out, block, document);
  return out;
}

std::string Writer::prose(std::string_view doc, const OwnNames &own) const {
  return prose(parseMarkdown(doc), own);
}

} // namespace mx::docs
