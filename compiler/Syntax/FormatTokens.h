// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data structures of the formatter: the tokens of a program, each with its role in the syntax tree.
// Private to the Format*.cpp files.
//
// Tokens never change their text or their order, so formatting decides only two things for each gap
// between tokens: space or no space, line break or no line break.
#pragma once
#include "Syntax/Ast.h"
#include "Syntax/Lexer.h"
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mx::format {

inline constexpr int kColumns = 100;
inline constexpr int kNone = -1;

/// Cost of a line break at a gap; lower is better at the same bracket depth.
enum BreakLevel : int8_t {
  kNoBreak = -1,
  kAfterComma = 0,
  kPipe,
  kOr,
  kAnd,
  kComparison,
  kSum,
  kMultiplicative,
  kPower,
  kBeforeDot,
  kAfterOpen,
};

struct GapComment {
  std::string_view text;
  bool ownLine = false;     ///< as written
  bool blankBefore = false; ///< an empty line precedes it
  int column = 0;           ///< of its `#`, from 0, in terminal cells
};

/// Kept small: a file may have millions of tokens.
struct FormatToken {
  uint32_t begin = 0, end = 0;
  int width = 0;     ///< in terminal cells
  int open = kNone;  ///< the innermost enclosing bracket; a bracket does not enclose itself
  int match = kNone; ///< of a bracket: its partner
  int block = kNone; ///< of `{` and `}`: index into blocks
  int stmt = kNone;  ///< first token of its statement
  int16_t depth = 0; ///< number of enclosing brackets
  Tok kind = Tok::EndOfFile;
  int8_t level = kNoBreak; ///< of the gap after it, or before it for `.` and `for`

  // From the syntax tree.
  bool unary : 1 = false;       ///< `-x`
  bool tight : 1 = false;       ///< a binary operator without spaces
  bool argEqual : 1 = false;    ///< `axis=1`
  bool attributeAt : 1 = false; ///< `@name`
  bool sliceColon : 1 = false, wideColon : 1 = false;
  bool spaceBefore : 1 = false; ///< an exception to the rule: `limit (n)`
  bool weak : 1 = false;        ///< break here only if no break inside brackets helps
  bool breakBefore : 1 = false; ///< `level` refers to the gap before it
  bool stmtStart : 1 = false;   ///< the first token of a statement or field
  bool afterAttribute : 1 = false;
  // Of the gap before it.
  bool hasComments : 1 = false;
  bool sourceBreak : 1 = false; ///< the source has a line break
  bool blank : 1 = false;       ///< the source has an empty line, after the comments
};

struct FormatBlock {
  int open = kNone, close = kNone;
  int owner = kNone; ///< first token of the `fn`, `if`, `for`, … the block belongs to
  int chain = kNone; ///< blocks of one `if` or `try` share a number
  std::vector<int> starts;
  bool spread = false; ///< on several lines
};

/// A statement that may be a row of a table: its cells are aligned with its neighbours.
struct FormatRow {
  int first = kNone, last = kNone;
  int key = 0; ///< rows of one table have the same key
  int cells[2] = {kNone, kNone};
};

using GapComments = std::vector<GapComment>;

struct FormatTokens {
  std::string_view source;
  std::vector<FormatToken> tokens;
  std::unordered_map<int, GapComments> comments; ///< before a token
  std::vector<FormatBlock> blocks;
  std::vector<FormatRow> rows;
  std::vector<std::vector<int>> chains; ///< blocks of each chain
  GapComments endComments;              ///< after the last token

  /// The token that starts at this offset, or the first one after it.
  int at(uint32_t offset) const;
  std::string_view text(int i) const {
    return source.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
  }
  const GapComments &commentsBefore(int i) const {
    static const GapComments none;
    return tokens[i].hasComments ? comments.at(i) : none;
  }
};

/// Facts from the tree about tokens, keyed by source offset.
struct TreeFacts {
  struct Body {
    uint32_t open, close; ///< of the braces
    uint32_t owner;
    int chain;
    std::vector<uint32_t> starts;
    bool mustSpread;
  };
  std::vector<uint32_t> moduleStarts;
  std::vector<uint32_t> mutableEnds;  ///< ends of statements at the top that `;` mutes
  std::vector<uint32_t> nominalOpens; ///< bodies of models and structs, where `,` may separate
  std::vector<Span> memberSpans;      ///< of the fields and functions in them
  std::vector<Body> bodies;
  int chains = 0;
};

/// Collects the tokens to keep and their roles. The source must have no errors.
FormatTokens collect(const SourceFile &file, const LexedSource &source, const ast::Module &module);

/// Walks the tree and marks the tokens; finds blocks and rows.
TreeFacts markTokens(FormatTokens &program, const ast::Module &module);

bool spaceBetween(const FormatToken &left, const FormatToken &right);

bool isSum(Tok op);
bool isMultiplicative(Tok op); ///< `* / // %`, the operators of sizes
int8_t levelOf(Tok op);
/// An operand without inner spaces: a name, a number, a call, and these with a sign.
bool isSimple(const ast::Expr *e);
bool isSimpleTerm(const ast::Expr *e);
bool isSimpleSum(const ast::Expr *e);
/// A slice bound that is written without spaces, or absent.
bool isNarrow(const ast::Expr *e);

/// One line of output.
struct FormatLine {
  int first = 0, last = 0; ///< tokens, both included
  int indent = 0;
};
/// Decides the line breaks. Each line's tokens are [first, last].
std::vector<FormatLine> breakLines(FormatTokens &program, std::vector<int> &commentIndent);

/// Adds the comments, aligns the tables and writes the text.
std::string writeLines(const FormatTokens &program, const std::vector<FormatLine> &lines,
                       const std::vector<int> &commentIndent);

} // namespace mx::format
