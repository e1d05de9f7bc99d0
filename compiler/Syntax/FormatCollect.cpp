// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token collection of the formatter, from source and tree: f-strings become one token, separators
// are dropped, brackets are matched, comments are attached to the gap that contains them.
#include "Support/Unicode.h"
#include "Syntax/FormatTokens.h"
#include <algorithm>

namespace mx::format {

int FormatTokens::at(uint32_t offset) const {
  auto it = std::lower_bound(tokens.begin(), tokens.end(), offset,
                             [](const FormatToken &t, uint32_t o) { return t.begin < o; });
  return static_cast<int>(it - tokens.begin());
}

namespace {

bool isOpen(Tok kind) {
  return kind == Tok::LParen || kind == Tok::LBracket || kind == Tok::LBrace;
}
bool isClose(Tok kind) {
  return kind == Tok::RParen || kind == Tok::RBracket || kind == Tok::RBrace;
}

class Collector {
public:
  Collector(const SourceFile &f, const LexedSource &l) : file(f), lexed(l) {}

  FormatTokens run(const ast::Module &module) {
    takeTokens();
    facts = markTokens(out, module);
    dropSeparators();
    matchBrackets();
    markStatements();
    takeGaps();
    return std::move(out);
  }

private:
  const SourceFile &file;
  const LexedSource &lexed;
  FormatTokens out;
  TreeFacts facts;

  void takeTokens() {
    std::string_view text = out.source = file.text();
    int strings = 0;
    for (const Token &token : lexed.tokens) {
      if (strings == 0 && (token.kind == Tok::Newline || token.kind == Tok::EndOfFile))
        continue;
      strings += token.kind == Tok::FStringBegin;
      if (strings > 0 && !(token.kind == Tok::FStringBegin && strings == 1)) {
        // The whole f-string is one token. Its contents are kept verbatim.
        out.tokens.back().end = token.end;
        strings -= token.kind == Tok::FStringEnd;
        continue;
      }
      FormatToken t;
      t.kind = token.kind == Tok::FStringBegin ? Tok::String : token.kind;
      t.begin = token.begin;
      t.end = token.end;
      out.tokens.push_back(std::move(t));
    }
    for (FormatToken &t : out.tokens) {
      t.width = displayWidth(text.substr(t.begin, t.end - t.begin));
      if (t.kind == Tok::Comma)
        t.level = kAfterComma;
      else if (t.kind == Tok::LParen || t.kind == Tok::LBracket)
        t.level = kAfterOpen;
    }
  }

  /// A `;` at the end of a top-level line mutes. Every other `;`, and a `,` between fields, is only
  /// a separator.
  void dropSeparators() {
    std::sort(facts.memberSpans.begin(), facts.memberSpans.end(),
              [](Span a, Span b) { return a.begin < b.begin; });
    std::sort(facts.nominalOpens.begin(), facts.nominalOpens.end());
    std::vector<int> kept(out.tokens.size() + 1, kNone);
    std::vector<Token> open;
    size_t count = 0;
    for (size_t i = 0; i < out.tokens.size(); ++i) {
      const FormatToken t = out.tokens[i];
      if (isOpen(t.kind))
        open.push_back({t.kind, t.begin, t.end});
      else if (isClose(t.kind) && !open.empty())
        open.pop_back();
      bool inBraces = open.empty() || open.back().kind == Tok::LBrace;
      bool drop = false;
      if (t.kind == Tok::Semicolon && inBraces)
        drop = !(open.empty() && count > 0 && mutes(t, out.tokens[count - 1].end));
      else if (t.kind == Tok::Comma && inBraces && !open.empty())
        drop = betweenMembers(open.back().begin, t.begin);
      if (!drop) {
        kept[i] = static_cast<int>(count);
        out.tokens[count++] = t;
      }
    }
    out.tokens.resize(count);
    auto moved = [&](int &index) {
      if (index != kNone)
        index = index < static_cast<int>(kept.size()) ? kept[index] : kNone;
    };
    for (FormatRow &row : out.rows) {
      moved(row.first);
      moved(row.last);
      moved(row.cells[0]);
      moved(row.cells[1]);
    }
  }

  bool mutes(const FormatToken &semicolon, uint32_t endBefore) const {
    if (!std::binary_search(facts.mutableEnds.begin(), facts.mutableEnds.end(), endBefore))
      return false;
    auto next = std::upper_bound(lexed.tokens.begin(), lexed.tokens.end(), semicolon.begin,
                                 [](uint32_t o, const Token &t) { return o < t.begin; });
    while (next != lexed.tokens.end() && next->kind == Tok::Semicolon)
      ++next;
    return next == lexed.tokens.end() || next->kind == Tok::Newline || next->kind == Tok::EndOfFile;
  }

  /// Members do not overlap, so only the last one that starts before the comma can contain it (a
  /// `where` clause has commas of its own).
  bool betweenMembers(uint32_t brace, uint32_t comma) const {
    if (!std::binary_search(facts.nominalOpens.begin(), facts.nominalOpens.end(), brace))
      return false;
    auto it = std::upper_bound(facts.memberSpans.begin(), facts.memberSpans.end(), comma,
                               [](uint32_t o, Span s) { return o < s.begin; });
    return it == facts.memberSpans.begin() || (it - 1)->end <= comma;
  }

  void matchBrackets() {
    std::vector<int> open;
    for (size_t i = 0; i < out.tokens.size(); ++i) {
      FormatToken &t = out.tokens[i];
      if (isClose(t.kind)) {
        t.match = open.back();
        out.tokens[open.back()].match = static_cast<int>(i);
        open.pop_back();
      }
      t.open = open.empty() ? kNone : open.back();
      t.depth = static_cast<int16_t>(std::min<size_t>(open.size(), INT16_MAX));
      if (isOpen(t.kind))
        open.push_back(static_cast<int>(i));
    }
  }

  void markStatements() {
    int count = static_cast<int>(out.tokens.size());
    auto mark = [&](uint32_t offset) {
      int i = out.at(offset);
      if (i < count)
        out.tokens[i].stmtStart = true;
      return i;
    };
    for (uint32_t offset : facts.moduleStarts)
      mark(offset);
    out.chains.resize(facts.chains);
    for (const TreeFacts::Body &body : facts.bodies) {
      FormatBlock b;
      b.open = out.at(body.open);
      b.close = out.tokens[b.open].match;
      b.owner = out.at(body.owner);
      b.chain = body.chain;
      for (uint32_t start : body.starts)
        b.starts.push_back(mark(start));
      std::string_view inside = file.text().substr(
          out.tokens[b.open].begin, out.tokens[b.close].begin - out.tokens[b.open].begin);
      bool several = inside.find('\n') != std::string_view::npos;
      bool comments =
          several && b.close == b.open + 1 && inside.find('#') != std::string_view::npos;
      b.spread =
          body.mustSpread || b.starts.size() > 1 || (several && !b.starts.empty()) || comments;
      int index = static_cast<int>(out.blocks.size());
      out.tokens[b.open].block = out.tokens[b.close].block = index;
      if (b.chain != kNone)
        out.chains[b.chain].push_back(index);
      out.blocks.push_back(std::move(b));
    }
    // The statement of every token. Statements nest like braces.
    std::vector<int> current = {0};
    for (int i = 0; i < count; ++i) {
      FormatToken &t = out.tokens[i];
      if (t.kind == Tok::RBrace && current.size() > 1)
        current.pop_back();
      if (t.stmtStart || t.afterAttribute)
        current.back() = i;
      t.stmt = current.back();
      if (t.kind == Tok::LBrace)
        current.push_back(i);
    }
  }

  void takeGaps() {
    std::string_view text = file.text();
    size_t comment = 0;
    uint32_t last = 0; // end of the previous token or comment
    auto breaks = [&](uint32_t from, uint32_t to) {
      return std::count(text.begin() + from, text.begin() + std::max(from, to), '\n');
    };
    auto take = [&](uint32_t until) {
      GapComments into;
      for (; comment < lexed.comments.size() && lexed.comments[comment].begin < until; ++comment) {
        const Comment &c = lexed.comments[comment];
        GapComment g;
        g.text = text.substr(c.begin, c.end - c.begin);
        g.ownLine = c.ownLine;
        g.blankBefore = breaks(last, c.begin) > 1;
        size_t line = text.rfind('\n', c.begin);
        line = line == std::string_view::npos ? 0 : line + 1;
        g.column = displayWidth(text.substr(line, c.begin - line));
        into.push_back(g);
        last = c.end;
      }
      return into;
    };
    for (size_t i = 0; i < out.tokens.size(); ++i) {
      FormatToken &t = out.tokens[i];
      uint32_t before = last;
      if (GapComments gap = take(t.begin); !gap.empty()) {
        t.hasComments = true;
        out.comments.emplace(static_cast<int>(i), std::move(gap));
      }
      t.sourceBreak = breaks(before, t.begin) > 0;
      t.blank = breaks(last, t.begin) > 1;
      last = t.end;
    }
    out.endComments = take(static_cast<uint32_t>(text.size()) + 1);
  }
};

} // namespace

FormatTokens collect(const SourceFile &file, const LexedSource &source, const ast::Module &module) {
  return Collector(file, source).run(module);
}

/// A `(` or `[` after one of these tokens belongs to it.
static bool takesBrackets(Tok kind) {
  switch (kind) {
  case Tok::Name:
  case Tok::Int:
  case Tok::Float:
  case Tok::String:
  case Tok::RParen:
  case Tok::RBracket:
  case Tok::RBrace:
  case Tok::KwTrue:
  case Tok::KwFalse:
  case Tok::KwFn:
  case Tok::KwGrad:
    return true;
  default:
    return false;
  }
}

bool spaceBetween(const FormatToken &left, const FormatToken &right) {
  if (right.spaceBefore)
    return true;
  switch (right.kind) {
  case Tok::Comma:
  case Tok::Semicolon:
  case Tok::RParen:
  case Tok::RBracket:
  case Tok::Dot:
  case Tok::DotDot:
    return false;
  case Tok::Colon:
    if (left.kind == Tok::Comma)
      return true;
    return right.wideColon && left.kind != Tok::LBracket && left.kind != Tok::Colon;
  case Tok::LParen:
  case Tok::LBracket:
    if (takesBrackets(left.kind))
      return false;
    break;
  default:
    break;
  }
  switch (left.kind) {
  case Tok::LParen:
  case Tok::LBracket:
  case Tok::Dot:
  case Tok::DotDot:
  case Tok::Ellipsis:
    return false;
  case Tok::Colon:
    return !left.sliceColon || left.wideColon;
  default:
    break;
  }
  if (left.unary || left.tight || left.attributeAt || left.argEqual)
    return false;
  return !right.tight && !right.argEqual;
}

} // namespace mx::format
