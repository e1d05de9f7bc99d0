// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extraction of doc comments, names and examples from modules.
#include "Docs/Library.h"
#include "Support/Primitives.h"
#include "Syntax/DocText.h"
#include "Syntax/Parser.h"
#include <algorithm>
#include <cctype>

namespace mx::docs {
namespace {

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t'))
    line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r'))
    line.remove_suffix(1);
  return line;
}

void append(std::string &doc, std::string_view line) {
  doc += (doc.empty() ? "" : "\n") + std::string(line);
}

/// The `##` lines at the start of a file. They document the module unless they are directly above
/// an item.
std::string moduleDoc(const Module &module) {
  std::string doc;
  uint32_t line = 1;
  for (; line <= module.file->lineCount(); ++line) {
    auto text = docText(module.file->line(line));
    if (!text)
      break;
    append(doc, *text);
  }
  for (const Item &item : module.items)
    if (item.doc == doc && module.file->lineNumber(item.syntax->span.begin) <= line + 3)
      return "";
  return doc;
}

/// The `##` lines directly above a line.
std::string docAbove(const SourceFile &file, uint32_t line) {
  uint32_t first = line;
  while (first > 1 && docText(file.line(first - 1)))
    --first;
  std::string doc;
  for (; first < line; ++first)
    append(doc, *docText(file.line(first)));
  return doc;
}

bool isPublic(std::string_view name) { return !name.empty() && name.front() != '_'; }

/// The name of an import: `c` for `import nn.conv as c`, `nn.conv` for `import nn.conv`.
std::string pathText(const List<ast::Identifier> &path) {
  std::string text;
  for (const ast::Identifier &word : path)
    text += (text.empty() ? "" : ".") + std::string(word.text);
  return text;
}

bool isPrimitive(std::string_view name) {
  return std::any_of(allPrimitives().begin(), allPrimitives().end(),
                     [&](const PrimitiveInfo &p) { return p.name == name; });
}

} // namespace

std::string pageOf(std::string_view module) {
  bool taken = module == "index" || module == "primitives";
  return std::string(module) + (taken ? ".module.html" : ".html");
}

std::string kindOf(const ast::Stmt *syntax) {
  if (auto *func = ast::as<ast::Func>(syntax))
    return func->isGraph ? "graph fn" : "fn";
  if (auto *nominal = ast::as<ast::Nominal>(syntax))
    return nominal->isModel ? "model" : "struct";
  return ast::as<ast::TypeDef>(syntax) ? "type" : "const";
}

std::string firstSentence(std::string_view doc) {
  std::string flat;
  for (size_t i = 0; i < doc.size(); ++i) {
    if (doc.substr(i, 2) == "\n\n" || doc.substr(i, 3) == "```")
      break;
    flat += doc[i] == '\n' ? ' ' : doc[i];
  }
  bool inCode = false;
  for (size_t i = 0; i < flat.size(); ++i) {
    inCode ^= flat[i] == '`';
    bool ends = flat[i] == '.' || flat[i] == ':';
    if (ends && !inCode && (i + 1 == flat.size() || flat[i + 1] == ' '))
      return flat.substr(0, i) + ".";
  }
  return std::string(trimmed(flat));
}

void Library::add(std::string name, const SourceFile &file, Diagnostics &diagnostics) {
  auto module = std::make_unique<Module>();
  module->name = std::move(name);
  module->file = &file;
  LexedSource lexed = lex(file, diagnostics);
  module->tree = parseModule(file, lexed, arena, diagnostics);
  auto offer = [&](std::string_view item, const ast::Stmt *syntax, std::string doc) {
    // A comment above several types or constants documents all of them.
    const Item *before = module->items.empty() ? nullptr : &module->items.back();
    if (doc.empty() && before && kindOf(before->syntax) == kindOf(syntax) &&
        !ast::as<ast::Func>(syntax) && !ast::as<ast::Nominal>(syntax) &&
        file.lineNumber(before->syntax->span.end) + 1 == file.lineNumber(syntax->span.begin))
      doc = before->doc;
    if (isPublic(item))
      module->items.push_back({std::string(item), syntax, std::move(doc)});
  };
  for (const ast::Stmt *stmt : module->tree->items) {
    if (auto *func = ast::as<ast::Func>(stmt))
      offer(func->name.text, stmt, std::string(func->doc));
    else if (auto *nominal = ast::as<ast::Nominal>(stmt))
      offer(nominal->name.text, stmt, std::string(nominal->doc));
    else if (auto *type = ast::as<ast::TypeDef>(stmt))
      offer(type->name.text, stmt, std::string(type->doc));
    else if (auto *let = ast::as<ast::Let>(stmt))
      if (let->bind == ast::BindKind::Const && let->pattern)
        offer(let->pattern->name.text, stmt, docAbove(file, file.lineNumber(stmt->span.begin)));
  }
  module->doc = moduleDoc(*module);
  all.push_back(std::move(module));
}

const Module *Library::find(std::string_view name) const {
  for (auto &module : all)
    if (module->name == name)
      return module.get();
  return nullptr;
}

void Library::resolve(bool primitives) {
  hasPrimitives = primitives;
  std::set<const Module *> open;
  for (auto &module : all)
    resolve(*module, open);
}

/// The exports of a module: its own names, and those it imports by name from others.
void Library::resolve(Module &module, std::set<const Module *> &open) {
  if (!open.insert(&module).second)
    return;
  for (const ast::Stmt *stmt : module.tree->items) {
    auto *import = ast::as<ast::Import>(stmt);
    for (const ast::Import::Module &from : import ? import->modules : List<ast::Import::Module>()) {
      std::string path = pathText(from.path);
      auto found = std::find_if(all.begin(), all.end(), [&](auto &m) { return m->name == path; });
      if (found == all.end())
        continue;
      if (!import->isFrom) {
        module.imports[from.alias.valid() ? std::string(from.alias.text) : path] = found->get();
        continue;
      }
      resolve(**found, open);
      for (const ast::Identifier &name : import->names) {
        // The name and, behind it in the map, its members.
        std::string member = std::string(name.text) + ".";
        for (auto target = (*found)->offers.lower_bound(name.text);
             target != (*found)->offers.end() &&
             (target->first == name.text || target->first.rfind(member, 0) == 0);
             ++target)
          module.offers[target->first] = target->second;
      }
    }
  }
  for (const Item &item : module.items) {
    std::string target = module.offers[item.name] = pageOf(module.name) + "#" + item.name;
    if (auto *nominal = ast::as<ast::Nominal>(item.syntax))
      for (const ast::Func *func : nominal->funcs)
        if (isPublic(func->name.text))
          module.offers[item.name + "." + std::string(func->name.text)] =
              target + "." + std::string(func->name.text);
  }
}

std::string Library::linkOf(const Module *from, std::string_view name) const {
  auto in = [](const Module *module, std::string_view word) -> std::string {
    if (!module)
      return "";
    auto found = module->offers.find(word);
    return found == module->offers.end() ? "" : found->second;
  };
  // The longest prefix that is a module, then a name in it.
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    std::string_view head = name.substr(0, dot), rest = name.substr(dot + 1);
    const Module *module = nullptr;
    if (from)
      if (auto found = from->imports.find(head); found != from->imports.end())
        module = found->second;
    if (!module)
      module = find(head);
    if (module)
      return in(module, rest);
  }
  if (std::string own = in(from, name); !own.empty())
    return own;
  if (std::string known = in(find("prelude"), name); !known.empty())
    return known;
  return hasPrimitives && isPrimitive(name) ? "primitives.html#" + std::string(name) : "";
}

/// The name that a line defines, or an empty string.
static std::string nameIn(std::string_view line) {
  bool defines = false;
  for (bool more = true; more;) {
    more = false;
    for (std::string_view word : {"export ", "extern ", "mut ", "graph ", "fn ", "model ",
                                  "struct ", "type ", "const ", "param ", "state ", "sub "})
      if (line.substr(0, word.size()) == word) {
        line.remove_prefix(word.size());
        more = defines = true;
      }
  }
  size_t end = 0;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_'))
    ++end;
  return defines ? std::string(line.substr(0, end)) : "";
}

std::vector<Example> examplesOf(const SourceFile &file) {
  std::vector<Example> out;
  bool inside = false, isProgram = false;
  size_t unnamed = 0; // the definition after them determines their name
  for (uint32_t number = 1; number <= file.lineCount(); ++number) {
    std::string_view line = file.line(number);
    auto text = docText(line);
    if (!text) {
      inside = false;
      std::string name = nameIn(trimmed(line));
      if (trimmed(line).empty() || !name.empty())
        for (; unnamed < out.size(); ++unnamed)
          out[unnamed].of = name;
    } else if (trimmed(*text).substr(0, 3) == "```") {
      inside = !inside;
      isProgram = inside && trimmed(*text) == "```mx";
      if (isProgram)
        out.push_back({"", number, std::string(number, '\n')});
    } else if (inside && isProgram) {
      // The text before the code is replaced by blanks, so that messages have the locations of the
      // file.
      auto before = static_cast<size_t>(text->data() - line.data());
      out.back().text += std::string(before, ' ') + std::string(*text) + "\n";
    }
  }
  return out;
}

} // namespace mx::docs
