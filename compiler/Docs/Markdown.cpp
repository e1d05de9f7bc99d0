// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of Markdown: headings, paragraphs, lists, quotes, code, tables and rules. A container
// collects its lines without their markers and parses them again, so a line is read at most once
// for each of kMaxMarkdownDepth levels.
#include "Docs/Markdown.h"
#include <algorithm>

namespace mx::docs {

uint32_t BlockText::offset(size_t at) const {
  auto after = std::upper_bound(lines.begin(), lines.end(), at,
                                [](size_t x, const auto &line) { return x < line.first; });
  if (after == lines.begin())
    return static_cast<uint32_t>(at);
  --after;
  return after->second + static_cast<uint32_t>(at - after->first);
}

void BlockText::addLine(std::string_view line, uint32_t offset) {
  if (!lines.empty())
    text += '\n';
  lines.emplace_back(static_cast<uint32_t>(text.size()), offset);
  text += line;
}

namespace {

struct Line {
  std::string_view text;
  uint32_t offset; ///< in the document
};
using Lines = std::vector<Line>;

bool isSpace(char c) { return c == ' ' || c == '\t'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The columns of the indentation. Tabs stop at every fourth.
size_t indentOf(std::string_view text) {
  size_t columns = 0;
  for (char c : text) {
    if (c == '\t')
      columns += 4 - columns % 4;
    else if (c == ' ')
      ++columns;
    else
      break;
  }
  return columns;
}

/// A line without up to `columns` of its indentation.
Line dedented(Line line, size_t columns) {
  size_t at = 0, passed = 0;
  while (at < line.text.size() && isSpace(line.text[at]) && passed < columns) {
    passed += line.text[at] == '\t' ? 4 - passed % 4 : 1;
    ++at;
  }
  return {line.text.substr(at), line.offset + static_cast<uint32_t>(at)};
}

Line trimmedLeft(Line line) { return dedented(line, line.text.size() * 4); }

std::string_view trimmedRight(std::string_view text) {
  while (!text.empty() && isSpace(text.back()))
    text.remove_suffix(1);
  return text;
}

bool isBlank(std::string_view text) { return trimmedRight(text).empty(); }

/// The text of a line that is indented by less than a code block; empty otherwise.
std::string_view markOf(std::string_view text) {
  size_t columns = indentOf(text);
  return columns > 3 ? std::string_view() : text.substr(columns);
}

/// The level of `## Heading`, or 0.
int headingLevel(std::string_view text) {
  text = markOf(text);
  size_t level = 0;
  while (level < text.size() && text[level] == '#')
    ++level;
  bool ends = level == text.size() || isSpace(text[level]);
  return ends && level <= 6 ? static_cast<int>(level) : 0;
}

bool isRule(std::string_view text) {
  text = markOf(text);
  if (text.empty() || (text[0] != '-' && text[0] != '*' && text[0] != '_'))
    return false;
  size_t marks = 0;
  for (char c : text) {
    if (c != text[0] && !isSpace(c))
      return false;
    marks += c == text[0] ? 1 : 0;
  }
  return marks >= 3;
}

bool isComment(std::string_view text) {
  text = trimmedRight(markOf(text));
  return text.size() >= 7 && text.substr(0, 4) == "<!--" &&
         text.find("-->", 4) == text.size() - 3;
}

bool isQuote(std::string_view text) {
  text = markOf(text);
  return !text.empty() && text[0] == '>';
}

struct Fence {
  char mark = 0; ///< 0: not a fence
  size_t length = 0, indent = 0;
  std::string_view info;
};

Fence fenceOf(std::string_view line) {
  std::string_view text = markOf(line);
  if (text.empty() || (text[0] != '`' && text[0] != '~'))
    return {};
  Fence fence{text[0], 0, indentOf(line), {}};
  while (fence.length < text.size() && text[fence.length] == fence.mark)
    ++fence.length;
  fence.info = trimmedRight(text.substr(fence.length));
  while (!fence.info.empty() && isSpace(fence.info.front()))
    fence.info.remove_prefix(1);
  bool isSpan = fence.mark == '`' && fence.info.find('`') != std::string_view::npos;
  return fence.length < 3 || isSpan ? Fence() : fence;
}

bool closes(std::string_view line, const Fence &fence) {
  Fence other = fenceOf(line);
  return other.mark == fence.mark && other.length >= fence.length && other.info.empty();
}

/// The marker of a list item: `- `, `* `, `+ `, `1. ` or `1) `.
struct Marker {
  char mark = 0; ///< `-`, `*`, `+`, or the character behind a number; 0: not an item
  int64_t number = -1;
  size_t content = 0; ///< the column where the item's text begins
  bool isEmpty = false;
};

Marker markerOf(std::string_view line) {
  std::string_view text = markOf(line);
  size_t end = 0;
  Marker marker;
  while (end < text.size() && end < 9 && isDigit(text[end])) {
    marker.number = std::max<int64_t>(marker.number, 0) * 10 + (text[end] - '0');
    ++end;
  }
  std::string_view known = end > 0 ? ".)" : "-*+";
  if (end == text.size() || known.find(text[end]) == std::string_view::npos)
    return {};
  char mark = text[end++];
  if ((end < text.size() && !isSpace(text[end])) || isRule(line))
    return {};
  marker.mark = mark;
  marker.isEmpty = isBlank(text.substr(end));
  size_t spaces = indentOf(text.substr(end));
  marker.content = indentOf(line) + end + (marker.isEmpty || spaces > 4 ? 1 : spaces);
  return marker;
}

/// Cells of a row of a table; bars behind a backslash do not separate.
std::vector<Line> cellsOf(Line line) {
  line = trimmedLeft(line);
  line.text = trimmedRight(line.text);
  if (!line.text.empty() && line.text[0] == '|') {
    line.text.remove_prefix(1);
    ++line.offset;
  }
  std::vector<Line> cells;
  size_t begin = 0;
  auto add = [&](size_t end) {
    Line cell = trimmedLeft(
        {line.text.substr(begin, end - begin), line.offset + static_cast<uint32_t>(begin)});
    cells.push_back({trimmedRight(cell.text), cell.offset});
  };
  for (size_t i = 0; i < line.text.size(); ++i) {
    if (line.text[i] == '\\') {
      ++i;
    } else if (line.text[i] == '|') {
      add(i);
      begin = i + 1;
    }
  }
  if (begin < line.text.size())
    add(line.text.size());
  return cells;
}

/// The columns of `|:--|--:|`, or none.
std::vector<Align> columnsOf(std::string_view line) {
  if (line.find_first_not_of(" \t|:-") != std::string_view::npos ||
      line.find('-') == std::string_view::npos)
    return {};
  std::vector<Align> columns;
  for (const Line &cell : cellsOf({line, 0})) {
    std::string_view text = cell.text;
    bool left = !text.empty() && text.front() == ':';
    text.remove_prefix(left ? 1 : 0);
    bool right = !text.empty() && text.back() == ':';
    text.remove_suffix(right ? 1 : 0);
    if (text.empty() || text.find_first_not_of('-') != std::string_view::npos)
      return {};
    columns.push_back(left && right ? Align::Center
                      : left        ? Align::Left
                      : right       ? Align::Right
                                    : Align::None);
  }
  return columns;
}

/// Tracks whether a container that is being collected ends in a paragraph, which the next line may
/// continue without the container's marker.
class OpenParagraph {
public:
  void add(std::string_view line) {
    if (fence.mark != 0) {
      if (closes(line, fence))
        fence = {};
      isOpen = false;
      return;
    }
    fence = fenceOf(line);
    isOpen = fence.mark == 0 && !isBlank(line) && headingLevel(line) == 0 && !isRule(line);
  }
  bool open() const { return isOpen; }

private:
  Fence fence;
  bool isOpen = false;
};

class Parser {
public:
  /// Sets `isSpaced` if a blank line separates two of the blocks.
  static std::vector<Block> blocks(const Lines &lines, int depth, bool &isSpaced) {
    return Parser(lines, depth).run(isSpaced);
  }

private:
  const Lines &lines;
  int depth;
  size_t at = 0;
  std::vector<Block> out;

  Parser(const Lines &lines, int depth) : lines(lines), depth(depth) {}

  std::string_view text(size_t i) const { return lines[i].text; }
  bool hasContainers() const { return depth < kMaxMarkdownDepth; }

  Block &add(Block::Kind kind) {
    out.emplace_back();
    out.back().kind = kind;
    return out.back();
  }

  std::vector<Block> run(bool &isSpaced) {
    bool afterBlank = false;
    while (at < lines.size()) {
      if (isBlank(text(at)) || isComment(text(at))) {
        afterBlank |= isBlank(text(at));
        ++at;
        continue;
      }
      isSpaced |= afterBlank && !out.empty();
      afterBlank = false;
      block();
    }
    return std::move(out);
  }

  void block() {
    std::string_view line = text(at);
    if (indentOf(line) > 3)
      indentedCode();
    else if (Fence fence = fenceOf(line); fence.mark != 0)
      fencedCode(fence);
    else if (int level = headingLevel(line))
      heading(level);
    else if (isRule(line)) {
      add(Block::Kind::Rule);
      ++at;
    } else if (hasContainers() && isQuote(line))
      quote();
    else if (Marker marker = markerOf(line); hasContainers() && marker.mark != 0)
      list(marker);
    else if (isTable(at))
      table();
    else
      paragraph();
  }

  /// Whether a line ends the paragraph above it. A number other than 1 may be part of a sentence.
  bool interrupts(size_t i) const {
    std::string_view line = text(i);
    if (isBlank(line) || headingLevel(line) != 0 || isRule(line) || fenceOf(line).mark != 0 ||
        isComment(line))
      return true;
    if (!hasContainers())
      return false;
    Marker marker = markerOf(line);
    return isQuote(line) || (marker.mark != 0 && !marker.isEmpty && marker.number <= 1);
  }

  bool isTable(size_t i) const {
    if (i + 1 >= lines.size() || text(i).find('|') == std::string_view::npos)
      return false;
    std::vector<Align> columns = columnsOf(text(i + 1));
    return !columns.empty() && columns.size() == cellsOf(lines[i]).size();
  }

  void heading(int level) {
    Line line = trimmedLeft(lines[at++]);
    line = trimmedLeft(
        {line.text.substr(static_cast<size_t>(level)), line.offset + static_cast<uint32_t>(level)});
    std::string_view shown = trimmedRight(line.text), less = shown;
    while (!less.empty() && less.back() == '#')
      less.remove_suffix(1);
    if (less.empty() || isSpace(less.back()))
      shown = trimmedRight(less);
    Block &block = add(Block::Kind::Heading);
    block.number = level;
    block.text.addLine(shown, line.offset);
  }

  void indentedCode() {
    Block &block = add(Block::Kind::Code);
    size_t end = at;
    for (size_t i = at; i < lines.size() && (isBlank(text(i)) || indentOf(text(i)) > 3); ++i)
      if (!isBlank(text(i)))
        end = i + 1;
    for (; at < end; ++at) {
      Line line = dedented(lines[at], 4);
      block.text.addLine(line.text, line.offset);
    }
  }

  /// A fence that is not closed ends with its container.
  void fencedCode(const Fence &fence) {
    Block &block = add(Block::Kind::Code);
    block.language = fence.info.substr(0, fence.info.find_first_of(" \t"));
    for (++at; at < lines.size() && !closes(text(at), fence); ++at) {
      Line line = dedented(lines[at], fence.indent);
      block.text.addLine(line.text, line.offset);
    }
    at = std::min(at + 1, lines.size());
  }

  void quote() {
    Lines inner;
    OpenParagraph last;
    for (; at < lines.size(); ++at) {
      Line line = lines[at];
      if (isQuote(line.text)) {
        line = trimmedLeft(line);
        line = {line.text.substr(1), line.offset + 1};
        if (!line.text.empty() && isSpace(line.text[0]))
          line = {line.text.substr(1), line.offset + 1};
      } else if (!last.open() || interrupts(at)) {
        break;
      } else {
        line = trimmedLeft(line);
      }
      inner.push_back(line);
      last.add(line.text);
    }
    bool isSpaced = false;
    std::vector<Block> parts = blocks(inner, depth + 1, isSpaced);
    add(Block::Kind::Quote).parts = std::move(parts);
  }

  void list(const Marker &first) {
    Block list;
    list.kind = Block::Kind::List;
    list.number = first.number;
    for (Marker marker = first; marker.mark == first.mark;) {
      bool isSpaced = false;
      Lines inner = item(marker);
      list.parts.emplace_back();
      list.parts.back().kind = Block::Kind::Item;
      list.parts.back().parts = blocks(inner, depth + 1, isSpaced);
      size_t next = at;
      while (next < lines.size() && isBlank(text(next)))
        ++next;
      marker = next < lines.size() ? markerOf(text(next)) : Marker();
      if (marker.mark == first.mark && (marker.number < 0) == (first.number < 0)) {
        isSpaced |= next > at;
        at = next;
      } else {
        marker = Marker();
      }
      list.isTight &= !isSpaced;
      if (marker.mark == 0)
        break;
    }
    out.push_back(std::move(list));
  }

  /// The lines of an item, without its marker and indentation.
  Lines item(const Marker &marker) {
    Lines inner;
    OpenParagraph last;
    auto take = [&](Line line) {
      inner.push_back(line);
      last.add(line.text);
      ++at;
    };
    // The marker counts as indentation of the first line.
    Line line = trimmedLeft(lines[at]);
    size_t width = marker.content - indentOf(text(at));
    size_t marks = std::min(line.text.find_first_of(" \t"), line.text.size());
    Line behind{line.text.substr(marks), line.offset + static_cast<uint32_t>(marks)};
    take(marker.isEmpty ? trimmedLeft(behind) : dedented(behind, width - marks));
    while (at < lines.size()) {
      size_t next = at;
      while (next < lines.size() && isBlank(text(next)))
        ++next;
      if (next == lines.size())
        break;
      if (indentOf(text(next)) >= marker.content && (next == at || !isBlank(inner.back().text) ||
                                                     inner.size() > 1)) {
        while (at < next)
          take({std::string_view(), lines[at].offset});
        take(dedented(lines[at], marker.content));
      } else if (next == at && last.open() && !interrupts(at) && markerOf(text(at)).mark == 0) {
        take(trimmedLeft(lines[at]));
      } else {
        break;
      }
    }
    return inner;
  }

  /// Rows may have fewer cells than the header; further cells are dropped. Missing cells are not
  /// added, so the output stays linear in the input.
  void table() {
    Block &block = add(Block::Kind::Table);
    block.columns = columnsOf(text(at + 1));
    size_t header = at;
    for (; at < lines.size() && (at < header + 2 || !interrupts(at)); ++at) {
      if (at == header + 1)
        continue;
      std::vector<Line> cells = cellsOf(lines[at]);
      block.rows.emplace_back();
      for (size_t i = 0; i < std::min(cells.size(), block.columns.size()); ++i) {
        block.rows.back().emplace_back();
        block.rows.back().back().isCell = true;
        block.rows.back().back().addLine(cells[i].text, cells[i].offset);
      }
    }
  }

  void paragraph() {
    Block &block = add(Block::Kind::Paragraph);
    size_t first = at;
    for (; at < lines.size() && (at == first || (!interrupts(at) && !isTable(at))); ++at) {
      Line line = trimmedLeft(lines[at]);
      block.text.addLine(line.text, line.offset);
    }
  }
};

} // namespace

std::vector<Block> parseMarkdown(std::string_view document) {
  Lines lines;
  for (size_t begin = 0; begin < document.size();) {
    size_t end = std::min(document.find('\n', begin), document.size());
    std::string_view text = document.substr(begin, end - begin);
    if (!text.empty() && text.back() == '\r')
      text.remove_suffix(1);
    lines.push_back({text, static_cast<uint32_t>(begin)});
    begin = end + 1;
  }
  bool isSpaced = false;
  return Parser::blocks(lines, 0, isSpaced);
}

} // namespace mx::docs
