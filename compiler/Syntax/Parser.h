// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens to a syntax tree: recursive descent, one token of look-ahead (two for `name =` in
// arguments). After an error the parser skips to the end of the statement and goes on, so one run
// reports several errors, and one slip gives one.
#pragma once
#include "Support/Arena.h"
#include "Support/Diagnostic.h"
#include "Syntax/Ast.h"
#include "Syntax/Lexer.h"

namespace mx {

/// Parses a whole input. Always returns a tree; if errors were reported, parts of it may be
/// ErrorExpr, ErrorStmt or missing (null) where the grammar says something must stand.
ast::Module *parseModule(const SourceFile &file, const LexedSource &source, Arena &arena,
                         Diagnostics &diagnostics);

} // namespace mx
