// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Markdown of doc comments and pages. parseMarkdown() splits a document into blocks, inlineHtml()
// renders the text of one block. Both accept any bytes, take linear time, and recurse at most
// kMaxMarkdownDepth levels. HTML has no meaning: it is shown as text, and a line that is an HTML
// comment is dropped.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mx::docs {

/// Nested lists and quotes. Deeper ones are shown as text.
inline constexpr int kMaxMarkdownDepth = 16;

/// The text of a block: its lines, joined by '\n', without indentation and markers.
struct BlockText {
  std::string text;
  /// Where each line begins: in `text`, and in the document.
  std::vector<std::pair<uint32_t, uint32_t>> lines;
  bool isCell = false; ///< of a table, where `\|` is a bar even inside of code

  /// The offset in the document of a character of `text`.
  uint32_t offset(size_t at) const;
  void addLine(std::string_view line, uint32_t offset);
};

enum class Align : uint8_t { None, Left, Center, Right };

struct Block {
  enum class Kind : uint8_t { Heading, Paragraph, Code, Rule, Quote, List, Item, Table };

  Kind kind = Kind::Paragraph;
  bool isTight = true;      ///< List: its items are lines, not paragraphs
  int64_t number = 0;       ///< Heading: the level, 1 to 6. List: the first number, -1 for bullets
  std::string language;     ///< Code: the first word behind the fence
  BlockText text;           ///< Heading, Paragraph, Code
  std::vector<Block> parts; ///< Quote, Item: blocks. List: items
  std::vector<Align> columns;               ///< Table
  std::vector<std::vector<BlockText>> rows; ///< Table: the header first
};

std::vector<Block> parseMarkdown(std::string_view document);

/// HTML of a part of a text. `bare` is the form without links, for the text of a link.
struct Inline {
  std::string html, bare;
};

/// What the renderer does not know itself. Addresses are unescaped; `at` is an offset in the
/// document.
struct InlineHooks {
  std::function<Inline(std::string_view code)> code;
  /// The tags around the text of a link; nothing if it is not an address, which is shown as text.
  std::function<std::optional<std::pair<std::string, std::string>>(std::string_view address,
                                                                   uint32_t at)>
      link;
  std::function<std::optional<Inline>(std::string_view address, std::string_view alternative,
                                      uint32_t at)>
      image;
};

std::string inlineHtml(const BlockText &text, const InlineHooks &hooks);

/// The text that HTML of this renderer shows.
std::string plainText(std::string_view html);

/// The anchors of the headings of one page, as GitHub names them: `Early release` is
/// `early-release`, the second one `early-release-1`.
std::vector<std::string> anchorsOf(const std::vector<std::string> &headings);

} // namespace mx::docs
