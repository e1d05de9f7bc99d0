// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output stage of the formatter: spaces, tables, comments, blank lines.
#include "Syntax/FormatTokens.h"
#include <algorithm>
#include <map>

namespace mx::format {
namespace {

/// Columns further apart than this are not aligned: the reader would not connect them.
constexpr int kMaxPadding = 3;

class Writer {
public:
  Writer(const FormatTokens &p, const std::vector<FormatLine> &l, const std::vector<int> &indents)
      : program(p), tokens(p.tokens), lines(l), commentIndent(indents), padding(p.tokens.size()),
        commentColumn(l.size()) {}

  std::string run() {
    alignRows();
    alignComments();
    for (size_t i = 0; i < lines.size(); ++i)
      writeLine(i);
    for (const GapComment &c : program.endComments)
      if (!isTrailing(program.endComments, c) || lines.empty())
        ownLine(c, 0, c.blankBefore);
    return std::move(out);
  }

private:
  const FormatTokens &program;
  const std::vector<FormatToken> &tokens;
  const std::vector<FormatLine> &lines;
  const std::vector<int> &commentIndent;
  std::vector<int> padding; ///< extra spaces before a token for alignment
  std::vector<int> commentColumn;
  std::string out;

  /// Only the first comment of a gap can be a trailing comment.
  static bool isTrailing(const GapComments &gap, const GapComment &c) {
    return !c.ownLine && &c == &gap.front();
  }
  const GapComments &gapAfter(size_t line) const {
    return line + 1 < lines.size() ? program.commentsBefore(lines[line + 1].first)
                                   : program.endComments;
  }
  const GapComment *trailing(size_t line) const {
    const auto &gap = gapAfter(line);
    return !gap.empty() && isTrailing(gap, gap.front()) ? &gap.front() : nullptr;
  }

  /// No empty line after an opening bracket or before a closing one.
  bool followsOpening(size_t line) const {
    if (line == 0)
      return true;
    Tok before = tokens[lines[line].first - 1].kind;
    return before == Tok::LBrace || before == Tok::LParen || before == Tok::LBracket;
  }
  bool closes(size_t line) const {
    Tok kind = tokens[lines[line].first].kind;
    return kind == Tok::RBrace || kind == Tok::RParen || kind == Tok::RBracket;
  }
  /// Whether the line directly follows the previous one, with at most a trailing comment between
  /// them.
  bool adjacent(size_t line) const {
    const GapComments &gap = program.commentsBefore(lines[line].first);
    bool ownLines = gap.size() > 1 || (gap.size() == 1 && !isTrailing(gap, gap[0]));
    bool blank = tokens[lines[line].first].blank && !followsOpening(line) && !closes(line);
    return !ownLines && !blank;
  }

  int columnOf(const FormatLine &line, int token) const {
    int at = line.indent;
    for (int i = line.first; i <= token; ++i) {
      if (i > line.first)
        at += spaceBetween(tokens[i - 1], tokens[i]) + padding[i];
      if (i < token)
        at += tokens[i].width;
    }
    return at;
  }
  int widthOf(const FormatLine &line) const {
    return columnOf(line, line.last) + tokens[line.last].width;
  }

  // ---- tables

  void alignRows() {
    std::map<int, size_t> lineOfFirst;
    for (size_t i = 0; i < lines.size(); ++i)
      lineOfFirst[lines[i].first] = i;
    std::vector<FormatRow> rows;
    for (const FormatRow &row : program.rows) {
      auto it = lineOfFirst.find(row.first);
      if (it != lineOfFirst.end() && lines[it->second].last == row.last)
        rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(),
              [](const FormatRow &a, const FormatRow &b) { return a.first < b.first; });
    for (size_t i = 0; i < rows.size();) {
      size_t end = i + 1;
      auto follows = [&](const FormatRow &row) {
        size_t line = lineOfFirst[row.first], before = lineOfFirst[rows[end - 1].first];
        return line == before + 1 && row.key == rows[i].key && adjacent(line) &&
               lines[line].indent == lines[before].indent;
      };
      while (end < rows.size() && follows(rows[end]))
        ++end;
      for (int cell = 0; cell < 2 && rows[i].cells[cell] != kNone; ++cell)
        alignCell(rows, i, end, cell, lineOfFirst);
      i = end;
    }
  }

  void alignCell(const std::vector<FormatRow> &rows, size_t begin, size_t end, int cell,
                 std::map<int, size_t> &lineOfFirst) {
    int last = 0, first = 1 << 30, widest = 0;
    auto lineOf = [&](size_t i) -> const FormatLine & { return lines[lineOfFirst[rows[i].first]]; };
    for (size_t i = begin; i < end; ++i) {
      int at = columnOf(lineOf(i), rows[i].cells[cell]);
      last = std::max(last, at);
      first = std::min(first, at);
    }
    for (size_t i = begin; i < end; ++i)
      widest =
          std::max(widest, widthOf(lineOf(i)) + last - columnOf(lineOf(i), rows[i].cells[cell]));
    if (last - first > kMaxPadding || widest > kColumns)
      return;
    for (size_t i = begin; i < end; ++i)
      padding[rows[i].cells[cell]] = last - columnOf(lineOf(i), rows[i].cells[cell]);
  }

  int blockDepth(size_t line) const {
    int depth = 0;
    for (int open = tokens[lines[line].first].open; open != kNone; open = tokens[open].open)
      depth += tokens[open].kind == Tok::LBrace;
    return depth;
  }

  void alignComments() {
    for (size_t i = 0; i < lines.size();) {
      if (!trailing(i)) {
        ++i;
        continue;
      }
      size_t end = i;
      int needed = 0, written = 1 << 30, depth = blockDepth(i);
      do {
        needed = std::max(needed, widthOf(lines[end]) + 2);
        written = std::min(written, trailing(end)->column);
        ++end;
      } while (end < lines.size() && trailing(end) && adjacent(end) && blockDepth(end) == depth);
      for (; i < end; ++i)
        commentColumn[i] = written >= needed && written < kColumns ? written : needed;
    }
  }
  // ---- text

  void ownLine(const GapComment &c, int indent, bool blankBefore) {
    if (blankBefore && !out.empty())
      out += '\n';
    out += std::string(indent, ' ');
    out += c.text;
    out += '\n';
  }

  void writeLine(size_t number) {
    const FormatLine &line = lines[number];
    const FormatToken &start = tokens[line.first];
    bool opened = followsOpening(number);
    const GapComments &gap = program.commentsBefore(line.first);
    // A trailing comment that is moved to its own line is not a doc comment: a blank line separates
    // it.
    bool apart = false;
    for (const GapComment &c : gap) {
      if (number > 0 && isTrailing(gap, c))
        continue; // written after the previous line
      ownLine(c, commentIndent[line.first], (c.blankBefore || apart) && !opened);
      apart = !c.ownLine;
      opened = false;
    }
    if ((start.blank || apart) && !opened && !closes(number))
      out += '\n';
    out += std::string(line.indent, ' ');
    for (int i = line.first; i <= line.last; ++i) {
      if (i > line.first)
        out += std::string(spaceBetween(tokens[i - 1], tokens[i]) + padding[i], ' ');
      out += program.text(i);
    }
    if (const GapComment *c = trailing(number)) {
      out += std::string(std::max(2, commentColumn[number] - widthOf(line)), ' ');
      out += c->text;
    }
    out += '\n';
  }
};

} // namespace

std::string writeLines(const FormatTokens &program, const std::vector<FormatLine> &lines,
                       const std::vector<int> &commentIndent) {
  return Writer(program, lines, commentIndent).run();
}

} // namespace mx::format
