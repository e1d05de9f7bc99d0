// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Renders code, doc comments and pages as HTML. Names link to their documentation.
#pragma once
#include "Docs/Library.h"
#include "Docs/Markdown.h"

namespace mx::docs {

/// Names with a local meaning in a text: parameters, fields, sizes.
using OwnNames = std::set<std::string, std::less<>>;

/// What a page of a site adds to the Writer. Doc comments have no anchors, and their links are web or
/// relative addresses.
struct PageContext {
  std::string library;              ///< where the library's pages are, relative to the page
  std::vector<std::string> anchors; ///< of its headings, in order
  decltype(InlineHooks::link) link;
  decltype(InlineHooks::image) image;
};

class Writer {
public:
  /// The context, if any, outlives the writer.
  Writer(const Library &library, const Module *module, const PageContext *page = nullptr)
      : library(library), module(module), page(page) {}

  /// mx code with syntax highlighting.
  std::string code(std::string_view text, const OwnNames &own = {}) const;
  /// A doc comment in Markdown.
  std::string prose(std::string_view doc, const OwnNames &own = {}) const;
  /// The blocks of a page or a doc comment.
  std::string prose(const std::vector<Block> &blocks, const OwnNames &own = {}) const;
  /// One line of a doc comment.
  std::string line(std::string_view text, const OwnNames &own = {}) const;

private:
  const Library &library;
  const Module *module;
  const PageContext *page;

  /// The state of one document.
  struct Document {
    const InlineHooks &hooks;
    size_t headings = 0;
  };
  InlineHooks hooks(const OwnNames &own) const;
  void write(std::string &out, const Block &block, Document &document) const;
  void writeItem(std::string &out, const Block &item, bool isTight, Document &document) const;
  void writeTable(std::string &out, const Block &table, Document &document) const;
  std::string linked(std::string_view target, std::string_view shown) const;
  std::map<std::string, std::string, std::less<>>
  importedIn(std::string_view text, const std::vector<Token> &tokens) const;
};

} // namespace mx::docs
