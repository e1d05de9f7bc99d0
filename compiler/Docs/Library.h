// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model of `mxc doc`: modules, their exported names with the `##` comments above them, and link
// targets. It is built from the syntax alone; nothing is type-checked.
#pragma once
#include "Support/Diagnostic.h"
#include "Syntax/Ast.h"
#include "Syntax/Lexer.h"
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mx::docs {

/// A function, model, struct, type or constant that a module exports.
struct Item {
  std::string name;
  const ast::Stmt *syntax = nullptr;
  std::string doc;
};

/// A runnable program in a doc comment: a fenced block of `mx`.
struct Example {
  std::string of; ///< the documented name, or the module's
  uint32_t line;  ///< of its fence
  std::string text;
};

struct Module {
  std::string name; ///< nn.conv
  const SourceFile *file = nullptr;
  const ast::Module *tree = nullptr;
  std::string doc;
  std::vector<Item> items; ///< in the order of the file; names with `_` are private
  /// Exported names and their methods, with link targets: `nn.conv.html#Conv`.
  std::map<std::string, std::string, std::less<>> offers;
  /// Its names of other modules.
  std::map<std::string, const Module *, std::less<>> imports;

  std::string_view text(Span span) const {
    return file->text().substr(span.begin, span.end - span.begin);
  }
};

class Library {
public:
  /// Reads a module. Reports its syntax errors.
  void add(std::string name, const SourceFile &file, Diagnostics &diagnostics);
  /// Resolves link targets, after the last add(). Primitives are link targets if they have a page.
  void resolve(bool primitives);

  const std::vector<std::unique_ptr<Module>> &modules() const { return all; }
  const Module *find(std::string_view name) const;
  /// The link target of a name as written in `from`: `Conv`, `nn.Conv`, `Conv.call`; empty if
  /// unknown.
  std::string linkOf(const Module *from, std::string_view name) const;

private:
  Arena arena;
  std::vector<std::unique_ptr<Module>> all;
  bool hasPrimitives = false;

  void resolve(Module &module, std::set<const Module *> &open);
};

/// The file name of a module's page. Two names are reserved for pages of the whole library.
std::string pageOf(std::string_view module);
/// The kind of an item, as a keyword of the language.
std::string kindOf(const ast::Stmt *syntax);
/// The first sentence of a doc comment.
std::string firstSentence(std::string_view doc);
/// The programs in the doc comments of a file, in order. Lines and columns are those of the file.
std::vector<Example> examplesOf(const SourceFile &file);

} // namespace mx::docs
