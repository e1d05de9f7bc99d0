// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grammars for editors and token tables for the docs. They are generated from the token table, so
// that a new keyword or operator is highlighted and listed automatically.
#pragma once
#include <string>

namespace mx {

/// A TextMate grammar (JSON) for VS Code and other editors. Scope `source.mx`.
std::string vscodeGrammar();

/// A grammar.js for tree-sitter with words, literals, comments and brackets: enough to highlight
/// and fold, not to parse.
std::string treeSitterGrammar();

/// Every token with its spelling and its effect at the end of a line, as Markdown tables.
std::string tokenTableMarkdown();

} // namespace mx
