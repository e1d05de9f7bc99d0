// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser: recursive descent with one token of lookahead (two for `name =` in arguments). After an
// error the parser skips to the end of the statement and continues (panic-mode recovery), so one
// run reports several errors, and one mistake gives one error.
#pragma once
#include "Support/Arena.h"
#include "Support/Diagnostic.h"
#include "Syntax/Ast.h"
#include "Syntax/Lexer.h"

namespace mx {

/// Parses a whole input. Always returns a tree. If errors were reported, parts of it may be
/// ErrorExpr, ErrorStmt or null where the grammar requires a node.
ast::Module *parseModule(const SourceFile &file, const LexedSource &source, Arena &arena,
                         Diagnostics &diagnostics);

} // namespace mx
