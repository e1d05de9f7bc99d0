// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions of the language for editors and readers, made from the token table, so that a new
// keyword or operator is highlighted and listed without anybody thinking of it.
#pragma once
#include <string>

namespace mx {

/// A TextMate grammar (JSON), as VS Code and others read it. Scope `source.mx`.
std::string vscodeGrammar();

/// A grammar.js for tree-sitter that knows words, literals, comments and brackets: enough to
/// highlight and fold, not to parse.
std::string treeSitterGrammar();

/// Every token, its spelling and what it does to the end of a line, as Markdown tables.
std::string tokenTableMarkdown();

} // namespace mx
