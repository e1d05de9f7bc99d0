// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Line breaking of the formatter. Breaks are only ever added: first mandatory breaks and valid
// breaks of the author, then, line by line, the breaks of a line over the limit. The breaks before
// a line determine its indentation. A formatted text therefore has all its breaks, every line fits
// or cannot be broken, and formatting is idempotent.
#include "Syntax/FormatTokens.h"
#include <algorithm>
#include <tuple>

namespace mx::format {
namespace {

constexpr int kBlockIndent = 2, kContinued = 4;
/// A bracket whose first element starts right of this column is broken after the bracket.
constexpr int kMaxAlign = 60;

class Breaker {
public:
  explicit Breaker(FormatTokens &p)
      : program(p), tokens(p.tokens), count(static_cast<int>(p.tokens.size())), breaks(count + 1),
        column(count), lineOf(count) {}

  std::vector<FormatLine> run(std::vector<int> &commentIndent) {
    startBreaks();
    int next = 0;
    while (next < count)
      next = layLine(next);
    commentIndent.resize(count);
    for (const FormatLine &line : lines)
      commentIndent[line.first] = indentOfComment(line);
    return std::move(lines);
  }

private:
  FormatTokens &program;
  std::vector<FormatToken> &tokens;
  int count;
  std::vector<bool> breaks; ///< before the token
  std::vector<int> column, lineOf;
  std::vector<FormatLine> lines;

  bool isBracket(int i) const {
    return tokens[i].kind == Tok::LParen || tokens[i].kind == Tok::LBracket;
  }
  bool isCloser(int i) const {
    return tokens[i].kind == Tok::RParen || tokens[i].kind == Tok::RBracket;
  }
  bool inBrackets(int i) const { return tokens[i].open != kNone && isBracket(tokens[i].open); }
  FormatBlock *blockAt(int open) {
    return tokens[open].kind == Tok::LBrace && tokens[open].block != kNone
               ? &program.blocks[tokens[open].block]
               : nullptr;
  }

  // ---- initial breaks

  void startBreaks() {
    for (int i = 1; i < count; ++i) {
      FormatToken &t = tokens[i];
      if (t.open == kNone && t.stmtStart)
        breaks[i] = true;
      if (t.afterAttribute || t.hasComments)
        breaks[i] = true;
      if (t.sourceBreak)
        keepBreak(i);
    }
    for (size_t i = 0; i < program.blocks.size(); ++i)
      if (program.blocks[i].spread) {
        program.blocks[i].spread = false;
        spread(program.blocks[i]);
      }
    for (int i = 1; i < count; ++i) // a comment after a bracket opens it like a line break
      if (breaks[i] && isBracket(i - 1) && tokens[i - 1].match != i)
        breaks[tokens[i - 1].match] = true;
  }

  /// Keeps the author's break before token i. An operator or comma ends a line and never starts
  /// one. Breaks at other positions are dropped.
  void keepBreak(int i) {
    const FormatToken &t = tokens[i];
    if (goodGap(i)) {
      breaks[i] = true;
    } else if (!t.hasComments && t.level != kNoBreak && !t.breakBefore && !t.tight &&
               !isBracket(i) && i + 1 < count && goodGap(i + 1)) {
      breaks[i + 1] = true;
    }
  }

  /// Whether a line may be broken before token i.
  bool goodGap(int i) const {
    const FormatToken &left = tokens[i - 1], &right = tokens[i];
    if (isCloser(i) || right.kind == Tok::Semicolon)
      return false;
    if (right.breakBefore)
      return inBrackets(i);
    return left.level != kNoBreak && !left.breakBefore && !left.tight;
  }

  /// Puts a block on several lines, together with the other blocks of its `if` and all enclosing
  /// blocks: a one-line block has no line breaks inside.
  void spread(FormatBlock &b) {
    if (b.spread)
      return;
    b.spread = true;
    bool empty = b.close == b.open + 1 && !tokens[b.close].hasComments;
    if (!empty) {
      breaks[b.open + 1] = breaks[b.close] = true;
      for (int start : b.starts)
        if (start < count)
          breaks[start] = true;
    }
    if (b.chain != kNone)
      for (int other : program.chains[b.chain])
        spread(program.blocks[other]);
    for (int open = tokens[b.open].open; open != kNone; open = tokens[open].open)
      if (FormatBlock *outer = blockAt(open)) {
        spread(*outer);
        break;
      }
  }

  // ---- indentation

  int indentOfLineWith(int token) const { return lines[lineOf[token]].indent; }
  bool hangs(int open) const { return breaks[open + 1]; }

  int indentBefore(int i) const {
    const FormatToken &t = tokens[i];
    if (t.kind == Tok::RBrace && t.block != kNone)
      return indentOfLineWith(program.blocks[t.block].owner);
    if (isCloser(i))
      return hangs(t.match) ? indentOfLineWith(t.match) : column[t.match] + 1;
    if (t.open != kNone && isBracket(t.open))
      return hangs(t.open) ? indentOfLineWith(t.open) + kBlockIndent : column[t.open + 1];
    if (t.stmtStart || t.afterAttribute || t.stmt == i)
      return indentInBlock(t.open);
    return indentOfLineWith(t.stmt) + kContinued;
  }
  /// A break directly after a bracket changes the indentation of its lines.
  int indentIfBroken(int i) const {
    return isBracket(i - 1) ? indentOfLineWith(i - 1) + kBlockIndent : indentBefore(i);
  }
  int indentInBlock(int open) const {
    if (open == kNone)
      return 0;
    int block = tokens[open].block;
    int owner = block == kNone ? open : program.blocks[block].owner;
    return indentOfLineWith(owner) + kBlockIndent;
  }
  int indentOfComment(const FormatLine &line) const {
    const FormatToken &t = tokens[line.first];
    if (t.kind == Tok::RBrace && t.block != kNone)
      return indentInBlock(t.match);
    if (isCloser(line.first) && hangs(t.match))
      return indentOfLineWith(t.match) + kBlockIndent;
    return line.indent;
  }

  // ---- layout, line by line

  /// Lays out the line that starts with this token; returns the token at which to continue.
  int layLine(int first) {
    lines.push_back({first, first, first == 0 ? 0 : indentBefore(first)});
    int line = static_cast<int>(lines.size()) - 1;
    int at = lines.back().indent;
    int i = first;
    bool breakable = true;
    for (; i < count && (i == first || !breaks[i]); ++i) {
      if (i > first)
        at += spaceBetween(tokens[i - 1], tokens[i]);
      column[i] = at;
      lineOf[i] = line;
      at += tokens[i].width;
      FormatBlock *b = blockAt(i);
      // A header on several lines is not followed by a one-line block.
      if (b && !b->spread && b->close > b->open + 1 && lineOf[b->owner] != line) {
        spread(*b);
        return restartAt(b->owner);
      }
      if (at > kColumns && i > first && breakable) {
        if (addBreak(first, i)) {
          lines.pop_back();
          return first;
        }
        breakable = false; // the whole line was visited
      }
    }
    lines.back().last = i - 1;
    return i;
  }

  int restartAt(int token) {
    int line = lineOf[token];
    int first = lines[line].first;
    lines.resize(line);
    return first;
  }

  struct Candidate {
    bool weak = true;
    int depth = 1 << 20, level = 1 << 20;
    int gap = kNone;
    FormatBlock *block = nullptr;
    bool betterThan(const Candidate &other) const {
      return std::tie(weak, depth, level) < std::tie(other.weak, other.depth, other.level);
    }
    bool likeOrBetterThan(const Candidate &other) const { return !other.betterThan(*this); }
  };

  /// The line from `first` exceeds the limit at token `past`. Adds the best break before it, or the
  /// first one after it.
  bool addBreak(int first, int past) {
    Candidate best;
    for (int i = first; i < count && (i == first || !breaks[i]); ++i) {
      if (i > past && best.gap != kNone)
        break;
      if (i > past) { // not laid out yet; an approximate column suffices
        column[i] = column[i - 1] + tokens[i - 1].width + spaceBetween(tokens[i - 1], tokens[i]);
        lineOf[i] = lineOf[first];
      }
      Candidate here;
      if (i > first && goodGap(i) && column[i - 1] + tokens[i - 1].width <= limitAt(i, past))
        here = candidateBefore(i);
      if (here.gap != kNone && indentIfBroken(i) < column[i] && here.likeOrBetterThan(best))
        best = here;
      FormatBlock *b = blockAt(i);
      if (b && !b->spread && b->close > b->open + 1) {
        Candidate inner = candidateOf(*b);
        if (inner.betterThan(best))
          best = inner;
        skipTo(i, b->close, past);
        i = b->close;
      }
    }
    if (best.gap == kNone)
      return false;
    if (best.block) {
      spread(*best.block);
    } else {
      breaks[best.gap] = true;
      if (isBracket(best.gap - 1))
        breaks[tokens[best.gap - 1].match] = true;
    }
    return true;
  }
  /// Past the limit any gap is accepted.
  static int limitAt(int gap, int past) { return gap > past ? 1 << 30 : kColumns; }

  void skipTo(int from, int close, int past) {
    for (int i = std::max(from, past) + 1; i <= close; ++i) {
      column[i] = column[i - 1] + tokens[i - 1].width + spaceBetween(tokens[i - 1], tokens[i]);
      lineOf[i] = lineOf[from];
    }
  }

  Candidate candidateBefore(int i) const {
    const FormatToken &left = tokens[i - 1], &right = tokens[i];
    const FormatToken &owner = right.breakBefore && inBrackets(i) ? right : left;
    Candidate c;
    c.gap = i;
    c.weak = owner.weak;
    c.level = owner.level;
    c.depth = right.depth;
    // Breaks after the bracket are preferred to narrow columns of elements at the right margin.
    bool squeezed = !isBracket(i - 1) && inBrackets(i) && lineOf[right.open] == lineOf[i - 1] &&
                    column[right.open + 1] > kMaxAlign;
    if (squeezed)
      c.level += kAfterOpen + 1;
    return c;
  }
  Candidate candidateOf(FormatBlock &b) const {
    Candidate c;
    c.gap = b.open + 1;
    c.block = &b;
    c.weak = false;
    c.depth = tokens[b.open].depth;
    bool lastArgument = b.close + 1 < count && isCloser(b.close + 1);
    c.level = !inBrackets(b.open) || lastArgument ? kAfterComma - 1 : kAfterComma + 1;
    return c;
  }
};

} // namespace

std::vector<FormatLine> breakLines(FormatTokens &program, std::vector<int> &commentIndent) {
  return Breaker(program).run(commentIndent);
}

} // namespace mx::format
