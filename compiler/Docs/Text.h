// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Renders code and doc comments as HTML. Names link to their documentation.
#pragma once
#include "Docs/Library.h"

namespace mx::docs {

/// Names with a local meaning in a text: parameters, fields, sizes.
using OwnNames = std::set<std::string, std::less<>>;

class Writer {
public:
  Writer(const Library &library, const Module *module) : library(library), module(module) {}

  /// mx code with syntax highlighting.
  std::string code(std::string_view text, const OwnNames &own = {}) const;
  /// A doc comment: paragraphs, lists, `code`, **strong**, [links](…) and fenced blocks.
  std::string prose(std::string_view doc, const OwnNames &own = {}) const;
  /// One line of a doc comment.
  std::string line(std::string_view text, const OwnNames &own = {}) const;

private:
  const Library &library;
  const Module *module;

  std::string linked(std::string_view target, std::string_view shown) const;
  std::map<std::string, std::string, std::less<>>
  importedIn(std::string_view text, const std::vector<Token> &tokens) const;
};

} // namespace mx::docs
