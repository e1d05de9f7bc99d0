// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of Markdown blocks: code, strong, emphasis, links, images and line breaks. The algorithm is
// CommonMark's: a list of pieces, a stack of open brackets, and a list of delimiter runs that are
// paired when a bracket closes and at the end. Nothing recurses, and every piece is visited a
// bounded number of times.
#include "Docs/Markdown.h"
#include "Support/Page.h"
#include "Support/Unicode.h"
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace mx::docs {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool isPunctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Longer runs of `*` are shown as text, so that tags do not nest without bound.
constexpr size_t kMaxRun = 32;
constexpr int kMaxParentheses = 32;

class Renderer {
public:
  Renderer(const BlockText &block, const InlineHooks &hooks)
      : block(block), text(block.text), hooks(hooks) {}

  std::string run() {
    findTicks();
    while (at < text.size())
      step();
    while (!plain.empty() && isSpace(plain.back()))
      plain.pop_back();
    flush();
    pairDelimiters(-1);
    return html(0);
  }

private:
  struct Piece {
    std::string html;
    std::string bare; ///< without links; empty if it is the same
    int delimiter = -1;
  };
  struct Delimiter {
    char mark;
    size_t left, count; ///< marks that are not paired yet, and all
    bool opens, closes;
    int before, after; ///< in the list of delimiters that may still be paired
    std::string closing;
    std::vector<bool> opening; ///< innermost first; true: strong
  };
  struct Bracket {
    size_t piece, at;
    bool isImage;
    int delimiter; ///< the last one before it
  };

  const BlockText &block;
  std::string_view text;
  const InlineHooks &hooks;
  size_t at = 0;
  std::string plain; ///< text that is not a piece yet, not escaped
  std::vector<Piece> pieces;
  std::vector<Delimiter> delimiters;
  int lastDelimiter = -1;
  std::vector<Bracket> brackets;
  /// Brackets below these heights of the stack cannot open a link or an image: neither nests in
  /// itself.
  size_t noLinksBelow = 0, noImagesBelow = 0;
  std::unordered_map<size_t, size_t> closingTicks; ///< of a run of backticks, by its start

  void flush() {
    if (!plain.empty())
      pieces.push_back(
          {block.isCell ? breakable(escapedForPage(plain)) : escapedForPage(plain), "", -1});
    plain.clear();
  }
  /// HTML in which a line may end behind the slashes of a path: a cell of a table is narrow.
  static std::string breakable(const std::string &html) {
    auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    std::string out;
    for (size_t i = 0; i < html.size(); ++i) {
      out += html[i];
      if (html[i] == '/' && i > 0 && i + 1 < html.size() && isLetter(html[i - 1]) &&
          isLetter(html[i + 1]))
        out += "<wbr>";
    }
    return out;
  }
  void add(std::string html, std::string bare = "") {
    flush();
    pieces.push_back({std::move(html), std::move(bare), -1});
  }
  char charAt(size_t i) const { return i < text.size() ? text[i] : '\0'; }
  size_t runAt(size_t begin) const {
    size_t end = begin;
    while (end < text.size() && text[end] == text[begin])
      ++end;
    return end - begin;
  }

  /// A run of backticks is closed by the next run of the same length.
  void findTicks() {
    std::map<size_t, size_t> open; // by length
    for (size_t i = text.find('`'); i != std::string_view::npos; i = text.find('`', i)) {
      size_t length = runAt(i);
      if (auto before = open.find(length); before != open.end())
        closingTicks[before->second] = i;
      open[length] = i;
      i += length;
    }
  }

  void step() {
    char c = text[at];
    if (c == '\\')
      escape();
    else if (c == '`')
      code();
    else if (c == '*' || c == '_')
      delimiter();
    else if (c == '[')
      open(false, 1);
    else if (c == '!' && charAt(at + 1) == '[')
      open(true, 2);
    else if (c == ']')
      close();
    else if (c == '<')
      autolink();
    else if (c == '\n')
      lineEnd();
    else
      plain += text[at++];
  }

  void escape() {
    char next = charAt(at + 1);
    if (next == '\n') {
      add("<br>\n");
      at += 2;
    } else if (isPunctuation(next)) {
      plain += next;
      at += 2;
    } else {
      plain += text[at++];
    }
  }

  /// Two spaces at the end of a line break it; otherwise it is joined with the next.
  void lineEnd() {
    size_t end = plain.size();
    while (end > 0 && isSpace(plain[end - 1]))
      --end;
    bool isBreak = plain.size() - end >= 2;
    plain.resize(end);
    if (isBreak)
      add("<br>\n");
    else
      plain += ' ';
    ++at;
  }

  void code() {
    size_t length = runAt(at);
    auto end = closingTicks.find(at);
    if (end == closingTicks.end()) {
      plain.append(length, '`');
      at += length;
      return;
    }
    std::string inside;
    for (size_t i = at + length; i < end->second; ++i) {
      if (block.isCell && text[i] == '\\' && charAt(i + 1) == '|')
        continue;
      inside += text[i] == '\n' ? ' ' : text[i];
    }
    bool isBlank = inside.find_first_not_of(' ') == std::string::npos;
    if (inside.size() > 2 && !isBlank && inside.front() == ' ' && inside.back() == ' ')
      inside = inside.substr(1, inside.size() - 2);
    Inline shown = hooks.code(inside);
    add(std::move(shown.html), std::move(shown.bare));
    at = end->second + length;
  }

  void autolink() {
    size_t end = text.find_first_of("<> \t\n", at + 1);
    std::string_view address = text.substr(at + 1, std::min(end, text.size()) - at - 1);
    bool isWeb = address.substr(0, 7) == "http://" || address.substr(0, 8) == "https://";
    if (isWeb && charAt(end) == '>') {
      if (auto tags = hooks.link(address, block.offset(at))) {
        std::string shown = escapedForPage(address);
        add(tags->first + shown + tags->second, shown);
        at = end + 1;
        return;
      }
    }
    plain += text[at++];
  }

  // ------------------------------------------------------------------------- strong and emphasis

  void delimiter() {
    char mark = text[at];
    size_t count = runAt(at);
    char before = at == 0 ? ' ' : text[at - 1], after = charAt(at + count);
    if (after == '\0' && at + count == text.size())
      after = ' ';
    bool leftFlanking =
        !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before));
    bool rightFlanking =
        !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after));
    // `_` inside of a word is part of a name.
    bool isWord = mark == '_';
    bool opens = leftFlanking && (!isWord || !rightFlanking || isPunctuation(before));
    bool closes = rightFlanking && (!isWord || !leftFlanking || isPunctuation(after));
    at += count;
    if (count > kMaxRun || (!opens && !closes)) {
      plain.append(count, mark);
      return;
    }
    flush();
    auto index = static_cast<int>(delimiters.size());
    pieces.push_back({"", "", index});
    delimiters.push_back({mark, count, count, opens, closes, lastDelimiter, -1, "", {}});
    if (lastDelimiter >= 0)
      delimiters[static_cast<size_t>(lastDelimiter)].after = index;
    lastDelimiter = index;
  }

  Delimiter &of(int index) { return delimiters[static_cast<size_t>(index)]; }

  void remove(int index) {
    Delimiter &d = of(index);
    if (d.before >= 0)
      of(d.before).after = d.after;
    if (d.after >= 0)
      of(d.after).before = d.before;
    if (lastDelimiter == index)
      lastDelimiter = d.before;
  }

  /// Pairs the delimiters behind `bottom` and removes them from the list. `floors` remembers below
  /// which delimiter a kind of closer has no opener, so that the search stays linear.
  void pairDelimiters(int bottom) {
    std::array<int, 12> floors;
    floors.fill(bottom);
    int closer = lastDelimiter;
    if (closer <= bottom)
      return;
    while (of(closer).before > bottom)
      closer = of(closer).before;
    while (closer >= 0) {
      Delimiter &c = of(closer);
      if (!c.closes) {
        closer = c.after;
        continue;
      }
      int &floor = floors[(c.mark == '_' ? 6u : 0u) + (c.opens ? 3u : 0u) + c.count % 3];
      int opener = c.before;
      for (; opener > floor; opener = of(opener).before) {
        const Delimiter &o = of(opener);
        bool isOdd = (o.closes || c.opens) && (o.count + c.count) % 3 == 0 &&
                     (o.count % 3 != 0 || c.count % 3 != 0);
        if (o.opens && o.mark == c.mark && !isOdd)
          break;
      }
      if (opener <= floor) {
        floor = c.before;
        int next = c.after;
        if (!c.opens)
          remove(closer);
        closer = next;
        continue;
      }
      pair(opener, closer);
      if (of(opener).left == 0)
        remove(opener);
      if (c.left == 0) {
        int next = c.after;
        remove(closer);
        closer = next;
      }
    }
    while (lastDelimiter > bottom)
      remove(lastDelimiter);
  }

  void pair(int opener, int closer) {
    while (of(closer).before != opener)
      remove(of(closer).before);
    Delimiter &o = of(opener), &c = of(closer);
    bool isStrong = o.left >= 2 && c.left >= 2;
    o.left -= isStrong ? 2 : 1;
    c.left -= isStrong ? 2 : 1;
    o.opening.push_back(isStrong);
    c.closing += isStrong ? "</strong>" : "</em>";
  }

  /// The HTML of all pieces from one on.
  std::string html(size_t from) const {
    std::string out;
    for (size_t i = from; i < pieces.size(); ++i) {
      out += pieces[i].html;
      if (pieces[i].delimiter < 0)
        continue;
      const Delimiter &d = delimiters[static_cast<size_t>(pieces[i].delimiter)];
      out += d.closing;
      out.append(d.left, d.mark);
      for (auto tag = d.opening.rbegin(); tag != d.opening.rend(); ++tag)
        out += *tag ? "<strong>" : "<em>";
    }
    return out;
  }

  // ----------------------------------------------------------------------------- links and images

  void open(bool isImage, size_t length) {
    add(std::string(text.substr(at, length)));
    brackets.push_back({pieces.size() - 1, at, isImage, lastDelimiter});
    at += length;
  }

  void close() {
    if (brackets.empty()) {
      plain += text[at++];
      return;
    }
    Bracket bracket = brackets.back();
    brackets.pop_back();
    size_t height = brackets.size();
    bool isActive = height >= (bracket.isImage ? noImagesBelow : noLinksBelow);
    noLinksBelow = std::min(noLinksBelow, height);
    noImagesBelow = std::min(noImagesBelow, height);
    // A refused image counts too: its text is not collected again for the one around it.
    noImagesBelow = bracket.isImage ? height : noImagesBelow;
    std::string address;
    size_t end = isActive ? destination(at + 1, address) : std::string_view::npos;
    if (end == std::string_view::npos || !(bracket.isImage ? image(bracket, address)
                                                           : link(bracket, address))) {
      plain += text[at++];
      return;
    }
    at = end;
    if (!bracket.isImage)
      noLinksBelow = noImagesBelow = height;
  }

  bool link(const Bracket &bracket, const std::string &address) {
    auto tags = hooks.link(address, block.offset(bracket.at));
    if (!tags)
      return false;
    flush();
    pairDelimiters(bracket.delimiter);
    pieces[bracket.piece].html = std::move(tags->first);
    for (size_t i = bracket.piece + 1; i < pieces.size(); ++i)
      if (!pieces[i].bare.empty())
        pieces[i].html = std::move(pieces[i].bare);
    add(std::move(tags->second));
    return true;
  }

  bool image(const Bracket &bracket, const std::string &address) {
    flush();
    pairDelimiters(bracket.delimiter);
    auto shown =
        hooks.image(address, plainText(html(bracket.piece + 1)), block.offset(bracket.at));
    if (!shown)
      return false;
    pieces.resize(bracket.piece);
    add(std::move(shown->html), std::move(shown->bare));
    return true;
  }

  size_t afterSpaces(size_t i) const {
    while (i < text.size() && isSpace(text[i]))
      ++i;
    return i;
  }

  /// Reads `(address "title")` at `i`; returns its end, or npos.
  size_t destination(size_t i, std::string &address) const {
    if (charAt(i) != '(')
      return std::string_view::npos;
    i = afterSpaces(i + 1);
    bool isAngled = charAt(i) == '<';
    i += isAngled ? 1 : 0;
    for (int depth = 0; i < text.size(); ++i) {
      char c = text[i];
      if (c == '\\' && isPunctuation(charAt(i + 1))) {
        address += text[++i];
        continue;
      }
      if (isAngled ? c == '>' || c == '<' || c == '\n' : isSpace(c) || (c == ')' && depth == 0))
        break;
      depth += isAngled ? 0 : c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth > kMaxParentheses)
        return std::string_view::npos;
      address += c;
    }
    if (isAngled && charAt(i++) != '>')
      return std::string_view::npos;
    size_t next = afterSpaces(i);
    if (char quote = charAt(next); next > i && (quote == '"' || quote == '\'')) {
      for (++next; next < text.size() && text[next] != quote; ++next)
        next += text[next] == '\\' ? 1 : 0;
      next = afterSpaces(next + 1);
    }
    return charAt(next) == ')' ? next + 1 : std::string_view::npos;
  }
};

/// Whether GitHub keeps a character of a heading in its anchor: letters, digits, `-` and `_`.
bool isKept(uint32_t c) {
  if (c < 0x80)
    return c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  if (c < 0xC0)
    return c == 0xAA || c == 0xB5 || c == 0xBA;
  bool isSign = c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c < 0x2C00) ||
                (c >= 0x3000 && c < 0x3040) || (c >= 0xFE00 && c < 0xFE70) || c >= 0xFFF0;
  return !isSign;
}

} // namespace

std::string inlineHtml(const BlockText &text, const InlineHooks &hooks) {
  return Renderer(text, hooks).run();
}

std::string plainText(std::string_view html) {
  static constexpr std::pair<std::string_view, char> kEscapes[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  for (size_t i = 0; i < html.size();) {
    if (html[i] == '<') {
      size_t end = html.find('>', i);
      i = end == std::string_view::npos ? html.size() : end + 1;
      continue;
    }
    bool isEscape = false;
    for (const auto &[written, c] : kEscapes)
      if (html[i] == '&' && html.substr(i, written.size()) == written) {
        out += c;
        i += written.size();
        isEscape = true;
        break;
      }
    if (!isEscape)
      out += html[i++];
  }
  return out;
}

std::vector<std::string> anchorsOf(const std::vector<std::string> &headings) {
  std::vector<std::string> anchors;
  std::unordered_map<std::string, size_t> uses;
  for (const std::string &heading : headings) {
    std::string name;
    for (size_t i = 0; i < heading.size();) {
      CodePoint c = decodeUtf8(heading, i);
      size_t bytes = c.bytes == 0 ? 1 : c.bytes;
      char first = lower(heading[i]);
      if (c.bytes == 1 && first == ' ')
        name += '-';
      else if (c.bytes == 1 && isKept(static_cast<unsigned char>(first)))
        name += first;
      else if (c.bytes > 1 && isKept(c.value))
        name += heading.substr(i, bytes);
      i += bytes;
    }
    if (name.empty())
      name = "section";
    std::string unique = name;
    while (uses.count(unique) != 0)
      unique = name + "-" + std::to_string(++uses[name]);
    uses[unique] = 0;
    anchors.push_back(unique);
  }
  return anchors;
}

} // namespace mx::docs
