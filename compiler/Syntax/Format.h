// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source formatter with one style for all programs: 100 columns, two spaces, no options. The rules,
// in the order in which they are applied:
//
//   Statements   one per line. A block that was written on one line stays on one line if it fits
//                and has one statement. If one block of an `if` or `try` is on several lines, all
//                are.
//   Blank lines  at most one is kept, none after `{` or before `}`.
//   `;`          is kept only where it mutes a result: at the end of a line at the top of a file.
//   Spaces       one on each side of a binary operator, none around `..`, `.` and the `=` of an
//                argument. Sizes and indices are tighter: operands of `..` have no spaces
//                (`0..T-1`); a size, index or slice bound with one operator between simple operands
//                has none (`t+1`, `4*H`); in a longer one, multiplications of simple operands
//                inside a sum have none (`i*M + M`, `H + 2*pad - K`). The `:` of a slice has
//                spaces if one of its bounds has.
//   Line breaks  inside brackets and after operators stay where the author put them. A line over
//                100 columns is broken at its outermost one-line block, comma or operator. Lines
//                inside a bracket start below its first element, or two spaces in if nothing
//                follows the bracket; other continued lines start four spaces in.
//   Columns      in runs of fields of one kind (`param`, `state`, `sub`) types and `=` are aligned
//                if that takes at most three spaces, as are the blocks of consecutive one-line
//                `if`s. Trailing comments of consecutive lines are aligned; they keep their
//                column if it leaves two spaces.
//
// Comments, parentheses, and the spelling of numbers and strings are kept.
#pragma once
#include "Syntax/Ast.h"
#include "Syntax/Lexer.h"
#include <optional>
#include <string>

namespace mx {

/// Formats the text. The result is parsed again: returns nullopt if it has errors (so sources with
/// errors are not formatted), a different tree, or fewer comments.
std::optional<std::string> formatSource(const SourceFile &file, const LexedSource &source,
                                        const ast::Module &module);

} // namespace mx
