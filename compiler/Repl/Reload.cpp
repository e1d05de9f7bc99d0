// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dependency analysis of a changed file: which statements must run again.
#include "Repl/Reload.h"
#include "Syntax/DocText.h"
#include "Syntax/Parser.h"
#include <set>
#include <vector>

namespace mx::repl {
namespace {

struct Item {
  uint32_t begin = 0, end = 0;
  std::string text;
  std::set<std::string> mentions;
  std::string declares;  ///< name of a function, model or type
  bool isType = false;   ///< a model or type
  bool isImport = false; ///< cheap, and its names are needed
  bool runs = false;     ///< must run again
};

/// The statements of a file; none if it does not parse.
std::vector<Item> itemsOf(const std::string &text) {
  SourceManager sources;
  Diagnostics quiet(sources);
  const SourceFile &file = sources.add("<file>", "", text);
  LexedSource lexed = lex(file, quiet);
  Arena arena;
  ast::Module *tree = parseModule(file, lexed, arena, quiet);
  std::vector<Item> out;
  if (quiet.hasErrors())
    return out;
  for (const ast::Stmt *stmt : tree->items) {
    Item item;
    item.begin = stmt->span.begin;
    item.end = stmt->span.end;
    for (const ast::Attribute &attribute : stmt->attributes) // attributes come before the statement
      item.begin = std::min(item.begin, attribute.span.begin > 0 ? attribute.span.begin - 1 : 0);
    if (size_t next = text.find_first_not_of(" \t", item.end);
        next != std::string::npos && text[next] == ';')
      item.end = static_cast<uint32_t>(next + 1);
    item.text = text.substr(item.begin, item.end - item.begin);
    for (const Token &token : lexed.tokens)
      if (token.kind == Tok::Name && token.begin >= item.begin && token.end <= item.end)
        item.mentions.insert(text.substr(token.begin, token.end - token.begin));
    if (auto *func = ast::as<ast::Func>(stmt))
      item.declares = func->name.text;
    if (auto *nominal = ast::as<ast::Nominal>(stmt))
      item.declares = nominal->name.text;
    if (auto *alias = ast::as<ast::TypeDef>(stmt))
      item.declares = alias->name.text;
    item.isType = !item.declares.empty() && !ast::as<ast::Func>(stmt);
    item.isImport = ast::as<ast::Import>(stmt) != nullptr;
    out.push_back(std::move(item));
  }
  return out;
}

} // namespace

std::string changedPart(const std::string &before, const std::string &now) {
  std::vector<Item> items = itemsOf(now);
  if (items.empty())
    return now; // the checker reports the error
  std::multiset<std::string> old;
  for (const Item &item : itemsOf(before))
    old.insert(item.text);
  std::set<std::string> changedNames, changedTypes;
  auto run = [&](Item &item) {
    item.runs = true;
    if (!item.declares.empty())
      changedNames.insert(item.declares);
    if (item.isType)
      changedTypes.insert(item.declares);
  };
  for (Item &item : items) {
    auto same = old.find(item.text);
    if (same == old.end())
      run(item);
    else
      old.erase(same);
  }
  // Propagates changes: a function that calls a changed one has a new meaning; a value of a changed
  // model no longer fits.
  for (bool more = true; more;) {
    more = false;
    for (Item &item : items) {
      if (item.runs)
        continue;
      for (const std::string &name : item.declares.empty() ? changedTypes : changedNames)
        if (item.mentions.count(name)) {
          run(item);
          more = true;
          break;
        }
    }
  }
  std::string out = now;
  auto blank = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      if (out[i] != '\n')
        out[i] = ' ';
  };
  for (const Item &item : items) {
    if (item.runs || item.isImport)
      continue;
    blank(item.begin, item.end);
    // Its doc comment would document the next statement.
    size_t end = now.rfind('\n', item.begin);
    while (end != std::string::npos && end > 0) {
      size_t before = now.rfind('\n', end - 1),
             begin = before == std::string::npos ? 0 : before + 1;
      if (!docText(std::string_view(now).substr(begin, end - begin)))
        break;
      blank(begin, end);
      end = before;
    }
  }
  return out;
}

} // namespace mx::repl
