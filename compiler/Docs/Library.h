// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `mxc doc` knows of programs: their modules, the names each offers with the `##` comments
// above them, and where a name leads. Everything is read from the syntax alone; nothing is checked.
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

/// A function, model, struct, type or constant that a module offers.
struct Item {
  std::string name;
  const ast::Stmt *syntax = nullptr;
  std::string doc;
};

/// A runnable program in a doc comment: a fenced block of `mx`.
struct Example {
  std::string of; ///< the name above which it stands, or the module's
  uint32_t line;  ///< of its fence
  std::string text;
};

struct Module {
  std::string name; ///< nn.conv
  const SourceFile *file = nullptr;
  const ast::Module *tree = nullptr;
  std::string doc;
  std::vector<Item> items; ///< in the order of the file; names with `_` are private
  /// Names that others may import from it, and what they lead to: `nn.conv.html#Conv`.
  std::map<std::string, std::string, std::less<>> offers;
  /// What it calls other modules.
  std::map<std::string, const Module *, std::less<>> imports;

  std::string_view text(Span span) const {
    return file->text().substr(span.begin, span.end - span.begin);
  }
};

class Library {
public:
  /// Reads a module. What is wrong with its syntax is reported.
  void add(std::string name, const SourceFile &file, Diagnostics &diagnostics);
  /// Finds out where names lead; after the last add().
  void resolve();

  const std::vector<std::unique_ptr<Module>> &modules() const { return all; }
  const Module *find(std::string_view name) const;
  /// Where a name as `from` writes it leads: `Conv`, `nn.Conv`, `Conv.call`; empty if nowhere.
  std::string linkOf(const Module *from, std::string_view name) const;

private:
  Arena arena;
  std::vector<std::unique_ptr<Module>> all;

  void resolve(Module &module, std::set<const Module *> &open);
};

/// The page of a module. Two names are taken by pages of the whole.
std::string pageOf(std::string_view module);
/// What kind of thing an item is, in the words of the language.
std::string kindOf(const ast::Stmt *syntax);
/// The first sentence of a doc comment.
std::string firstSentence(std::string_view doc);
/// The programs in doc comments of a file, in order. Lines and columns are those of the file.
std::vector<Example> examplesOf(const SourceFile &file);

} // namespace mx::docs
