// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code and doc comments as HTML. Names lead to where they are explained.
#pragma once
#include "Docs/Library.h"

namespace mx::docs {

/// Names that mean something else where a text stands: parameters, fields, sizes.
using OwnNames = std::set<std::string, std::less<>>;

class Writer {
public:
  Writer(const Library &library, const Module *module) : library(library), module(module) {}

  /// mx text, in colours.
  std::string code(std::string_view text, const OwnNames &own = {}) const;
  /// A doc comment: paragraphs, lists, `code`, **strong**, [links](…) and fenced blocks.
  std::string prose(std::string_view doc, const OwnNames &own = {}) const;
  /// One line of it.
  std::string line(std::string_view text, const OwnNames &own = {}) const;

private:
  const Library &library;
  const Module *module;

  std::string linked(std::string_view name, std::string_view shown) const;
};

} // namespace mx::docs
