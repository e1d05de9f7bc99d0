// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax highlighting and rendering of doc comments to HTML.
#include "Docs/Text.h"
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
    if (tokens[i].kind != Tok::KwImport)
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
  return "<a href=\"" + escapedForPage(target) + "\">" + escapedForPage(shown) + "</a>";
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
    while (!afterDot && last + 2 < tokens.size() && tokens[last + 1].kind == Tok::Dot &&
           tokens[last + 2].kind == Tok::Name) {
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

std::string Writer::line(std::string_view text, const OwnNames &own) const {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = std::string_view::npos;
    if (text[i] == '`' && (end = text.find('`', i + 1)) != std::string_view::npos) {
      std::string_view inside = text.substr(i + 1, end - i - 1), name = spokenOf(inside);
      bool leads = !name.empty() && own.count(name.substr(0, name.find('.'))) == 0;
      out += "<code>" +
             (leads ? linked(library.linkOf(module, name), inside) : escapedForPage(inside)) +
             "</code>";
      i = end + 1;
    } else if (text.substr(i, 2) == "**" && text.substr(i + 2, 1) != " " &&
               (end = text.find("**", i + 2)) != std::string_view::npos) {
      out += "<strong>" + escapedForPage(text.substr(i + 2, end - i - 2)) + "</strong>";
      i = end + 2;
    } else if (text[i] == '[' && (end = text.find("](", i)) != std::string_view::npos &&
               text.find(')', end) != std::string_view::npos &&
               isAddress(text.substr(end + 2, text.find(')', end) - end - 2))) {
      size_t close = text.find(')', end);
      out += "<a href=\"" + escapedForPage(text.substr(end + 2, close - end - 2)) + "\">" +
             escapedForPage(text.substr(i + 1, end - i - 1)) + "</a>";
      i = close + 1;
    } else {
      out += escapedForPage(text.substr(i++, 1));
    }
  }
  return out;
}

std::string Writer::prose(std::string_view doc, const OwnNames &own) const {
  std::string out, paragraph;
  bool inList = false;
  auto flush = [&] {
    if (!paragraph.empty())
      out += inList ? line(paragraph, own) + "</li>\n" : "<p>" + line(paragraph, own) + "</p>\n";
    paragraph.clear();
  };
  auto endList = [&] {
    flush();
    if (inList)
      out += "</ul>\n";
    inList = false;
  };
  while (!doc.empty()) {
    size_t end = std::min(doc.find('\n'), doc.size());
    std::string_view text = doc.substr(0, end);
    doc.remove_prefix(std::min(end + 1, doc.size()));
    if (text.substr(0, 3) == "```") {
      endList();
      size_t close = doc.substr(0, 3) == "```" ? 0 : doc.find("\n```");
      std::string_view block = doc.substr(0, std::min(close, doc.size()));
      bool isCode = text.substr(0, 5) == "```mx";
      out +=
          "<pre class=\"example\">" + (isCode ? code(block) : escapedForPage(block)) + "</pre>\n";
      size_t next = close == std::string_view::npos ? close : doc.find('\n', close + 1);
      doc.remove_prefix(next == std::string_view::npos ? doc.size() : next + 1);
    } else if (text.empty()) {
      endList();
    } else if (text.substr(0, 2) == "- ") {
      flush();
      if (!inList)
        out += "<ul>\n";
      inList = true;
      out += "<li>";
      paragraph = text.substr(2);
    } else {
      while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
      paragraph += (paragraph.empty() ? "" : " ") + std::string(text);
    }
  }
  endList();
  return out;
}

} // namespace mx::docs
