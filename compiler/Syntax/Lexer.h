// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lexical analysis. The lexer alone decides where statements end and whether an input is complete:
// a newline becomes a token unless the innermost open bracket is ( or [, or the line ends in a
// token that continues it. The REPL queries completeness without parsing.
#pragma once
#include "Support/Diagnostic.h"
#include "Syntax/Token.h"

namespace mx {

struct Comment {
  uint32_t begin = 0, end = 0; ///< from `#` to the end of the line, without the newline
  bool doc = false;            ///< `##`
  bool ownLine = false;        ///< only white space before it
};

struct LexedSource {
  std::vector<Token> tokens;     ///< ends with EndOfFile
  std::vector<Comment> comments; ///< in order
  bool complete = true; ///< false: more lines may finish it (open bracket, trailing operator)
};

/// Never fails: errors are reported and skipped. Every token is inside the file.
LexedSource lex(const SourceFile &file, Diagnostics &diagnostics);

/// Decodes the escapes of a string body. The lexer has already reported invalid ones.
std::string unescape(std::string_view body);

} // namespace mx
