// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML pages of modules, primitives and the index, with the search index.
#include "Docs/Pages.h"
#include "Docs/Text.h"
#include "Support/Page.h"
#include "Support/Primitives.h"
#include <algorithm>
#include <cctype>

namespace mx::docs {
namespace {

/// The lines of a span of a file, without the indentation of its first line.
std::string dedented(const Module &module, Span span) {
  uint32_t column = span.begin - module.file->lineStart(module.file->lineNumber(span.begin));
  std::string out;
  bool atStart = false;
  uint32_t skipped = 0;
  for (char c : module.text(span)) {
    if (c == '\n') {
      atStart = true;
      skipped = 0;
    } else if (atStart && c == ' ' && skipped < column) {
      ++skipped;
      continue;
    } else {
      atStart = false;
    }
    out += c;
  }
  return out;
}

Span headerOf(const ast::Nominal &nominal) {
  Span span = nominal.span;
  if (nominal.bodySpan.begin > span.begin)
    span.end = nominal.bodySpan.begin;
  return span;
}

void addNames(OwnNames &own, const List<ast::Generic> &generics, const List<ast::Param> &params) {
  for (const ast::Generic &generic : generics)
    own.insert(std::string(generic.name.text));
  for (const ast::Param &param : params)
    own.insert(std::string(param.name.text));
}

OwnNames ownNames(const ast::Stmt *syntax) {
  OwnNames own;
  if (auto *func = ast::as<ast::Func>(syntax))
    addNames(own, func->generics, func->params);
  if (auto *nominal = ast::as<ast::Nominal>(syntax)) {
    addNames(own, nominal->generics, nominal->params);
    for (const ast::Field &field : nominal->fields)
      own.insert(std::string(field.name.text));
  }
  return own;
}

/// Whether a text contains a whole word.
bool hasWord(std::string_view text, std::string_view word) {
  auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isWord(text[at - 1])) && (end == text.size() || !isWord(text[end])))
      return true;
  }
  return false;
}

// ------------------------------------------------------------------------------- a module's page

class ModulePage {
public:
  ModulePage(const Library &library, const Module &module)
      : library(library), module(module), writer(library, &module) {}

  std::string main() {
    std::string out = "<h1><span class=\"kind\">module</span> " + escapedForPage(module.name) +
                      "</h1>\n" + writer.prose(module.doc);
    if (module.items.empty())
      out += handedOn();
    else
      out += overview();
    for (const Item &item : module.items)
      out += section(item);
    return out;
  }

  /// The table of contents of the page, for its margin.
  std::string outline() {
    std::string out;
    for (const Item &item : module.items)
      out += "<li><a href=" + quoted("#" + item.name) + ">" + escapedForPage(item.name) +
             "</a></li>\n";
    return out.empty() ? "" : "<ul>\n" + out + "</ul>\n";
  }

  /// Links of the search index begin with `folder`.
  std::string entries(const std::string &folder) {
    std::string out;
    for (const Item &item : module.items) {
      std::string link = folder + pageOf(module.name) + "#" + item.name;
      out +=
          searchEntry(item.name, kindOf(item.syntax), module.name, link, firstSentence(item.doc));
      if (auto *nominal = ast::as<ast::Nominal>(item.syntax))
        for (const ast::Func *func : nominal->funcs)
          if (isShown(*func))
            out += searchEntry(item.name + "." + std::string(func->name.text), "fn", module.name,
                               link + "." + std::string(func->name.text), firstSentence(func->doc));
    }
    return out;
  }

private:
  const Library &library;
  const Module &module;
  Writer writer;

  /// `nn/conv.mx`: the path relative to the sources, independent of this machine.
  std::string fileName() const {
    std::string name = module.name;
    std::replace(name.begin(), name.end(), '.', '/');
    return name + ".mx";
  }
  static bool isShown(const ast::Func &func) {
    return func.name.valid() && func.name.text.front() != '_';
  }

  std::string row(std::string_view name, const std::string &link, const std::string &doc) {
    return "<tr><td><a href=" + quoted(link) + "><code>" + escapedForPage(name) +
           "</code></a></td><td>" + doc + "</td></tr>\n";
  }

  std::string overview() {
    std::string out = "<div class=\"wide\"><table class=\"names\">\n";
    for (const Item &item : module.items)
      out += row(item.name, "#" + item.name,
                 writer.line(firstSentence(item.doc), ownNames(item.syntax)));
    return out + "</table></div>\n";
  }

  /// A module that only re-exports names lists them by origin.
  std::string handedOn() {
    std::string out;
    for (const ast::Stmt *stmt : module.tree->items) {
      auto *import = ast::as<ast::Import>(stmt);
      if (!import || !import->isFrom)
        continue;
      std::string rows, path;
      for (const ast::Identifier &word : import->modules[0].path)
        path += (path.empty() ? "" : ".") + std::string(word.text);
      const Module *from = library.find(path);
      for (const ast::Identifier &name : import->names) {
        auto offered = module.offers.find(name.text);
        if (!from || offered == module.offers.end())
          continue;
        auto item = std::find_if(from->items.begin(), from->items.end(),
                                 [&](const Item &i) { return i.name == name.text; });
        rows += row(
            name.text, offered->second,
            item == from->items.end() ? "" : Writer(library, from).line(firstSentence(item->doc)));
      }
      if (!rows.empty())
        out += "<h2 class=\"shelf\"><a href=" + quoted(pageOf(path)) + ">" + escapedForPage(path) +
               "</a></h2>\n<div class=\"wide\"><table class=\"names\">\n" + rows +
               "</table></div>\n";
    }
    return out;
  }

  std::string section(const Item &item) {
    OwnNames own = ownNames(item.syntax);
    std::string out = "<section id=" + quoted(item.name) + ">\n<h2><span class=\"kind\">" +
                      kindOf(item.syntax) + "</span> <a href=" + quoted("#" + item.name) + ">" +
                      escapedForPage(item.name) + "</a></h2>\n";
    auto *nominal = ast::as<ast::Nominal>(item.syntax);
    auto *func = ast::as<ast::Func>(item.syntax);
    Span header = func ? func->headerSpan : nominal ? headerOf(*nominal) : item.syntax->span;
    out += signature(item.syntax, header, own) + writer.prose(item.doc, own);
    if (nominal)
      out += fields(*nominal, own) + methods(item, *nominal, own);
    out += tests(item);
    if (nominal || (func && func->body))
      out += "<details><summary>Source, " + escapedForPage(fileName()) + ":" +
             std::to_string(module.file->lineNumber(item.syntax->span.begin)) + "</summary><pre>" +
             writer.code(dedented(module, item.syntax->span), own) + "</pre></details>\n";
    return out + "</section>\n";
  }

  /// The header as written, below the attributes that matter to a caller.
  std::string signature(const ast::Stmt *syntax, Span header, const OwnNames &own) {
    std::string out = "<pre class=\"signature\">";
    for (const ast::Attribute &attribute : syntax->attributes)
      if (attribute.name.text == "amp" || attribute.name.text == "remat" ||
          attribute.name.text == "vjp" || attribute.name.text == "handle" ||
          attribute.name.text == "max_bytes")
        out += "<span class=\"k\">" + escapedForPage(module.text(attribute.span)) + "</span>\n";
    std::string text = dedented(module, header);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n'))
      text.pop_back();
    return out + writer.code(text, own) + "</pre>\n";
  }

  std::string fields(const ast::Nominal &nominal, const OwnNames &own) {
    std::string out;
    for (const ast::Field &field : nominal.fields) {
      if (field.name.text.front() == '_')
        continue;
      static constexpr const char *kinds[] = {"", "param", "state", "sub"};
      auto code = [&](Span span) {
        return span.valid() ? "<code>" + writer.code(module.text(span), own) + "</code>" : "";
      };
      out += std::string("<tr><td class=\"k\">") + kinds[static_cast<int>(field.kind)] +
             "</td><td><code>" + escapedForPage(field.name.text) + "</code></td><td>" +
             code(field.type ? field.type->span : Span()) + "</td><td>" +
             code(field.value ? field.value->outerSpan : Span()) + "</td><td>" +
             writer.line(field.doc, own) + "</td></tr>\n";
    }
    return out.empty() ? ""
                       : "<div class=\"wide\"><table "
                         "class=\"fields\">\n<tr><th></th><th>field</th><th>type</th>"
                         "<th>begins as</th><th></th></tr>\n" +
                             out + "</table></div>\n";
  }

  std::string methods(const Item &item, const ast::Nominal &nominal, const OwnNames &outer) {
    std::string out;
    for (const ast::Func *func : nominal.funcs) {
      if (!isShown(*func))
        continue;
      OwnNames own = outer;
      own.merge(ownNames(func));
      out += "<div class=\"method\" id=" + quoted(item.name + "." + std::string(func->name.text)) +
             ">" + signature(func, func->headerSpan, own) + writer.prose(func->doc, own) +
             "</div>\n";
    }
    return out;
  }

  /// Tests of the module that use a name serve as its examples. They run with it.
  std::string tests(const Item &item) {
    std::string out;
    int count = 0;
    for (const ast::Stmt *stmt : module.tree->items)
      if (auto *test = ast::as<ast::Test>(stmt);
          test && test->body && hasWord(module.text(test->body->span), item.name)) {
        out += "<pre>" + writer.code(dedented(module, test->span)) + "</pre>";
        ++count;
      }
    if (count == 0)
      return "";
    return "<details class=\"tests\"><summary>" +
           (count == 1 ? std::string("A test") : std::to_string(count) + " tests") + " that " +
           (count == 1 ? "uses" : "use") + " it</summary>" + out + "</details>\n";
  }
};

// ------------------------------------------------------------------------------------ other pages

std::string primitiveSection(const PrimitiveInfo &p, const Writer &writer, bool isFirst) {
  std::string out = std::string("<section class=\"primitive\"") +
                    (isFirst ? " id=" + quoted(p.name) : std::string()) +
                    ">\n<h3><a href=" + quoted("#" + std::string(p.name)) + ">" +
                    escapedForPage(p.name) + "</a></h3>\n<pre class=\"signature\">" +
                    writer.code(p.signature) + "</pre>\n<p>" + writer.line(p.doc) +
                    "</p>\n<p class=\"quiet\">gradient: " +
                    (p.gradient == Gradient::Yes    ? "yes"
                     : p.gradient == Gradient::Zero ? "zero"
                                                    : "none");
  if (!p.effects.empty())
    out += "; effects: " + escapedForPage(p.effects.substr(0, p.effects.find(':')));
  return out + "</p>\n</section>\n";
}

std::vector<const Module *> sortedModules(const Library &library) {
  std::vector<const Module *> sorted;
  for (auto &module : library.modules())
    sorted.push_back(module.get());
  std::sort(sorted.begin(), sorted.end(),
            [](const Module *a, const Module *b) { return a->name < b->name; });
  return sorted;
}

std::string primitivesPage(const Library &library, std::string &outline) {
  Writer writer(library, nullptr);
  std::string main = "<h1>Primitives</h1>\n<p>Everything a program can use that is not written "
                     "in mx, without an import. In signatures <code>shape[...S]</code> is a list "
                     "of sizes, <code>dtype[T]</code> an element type, <code>axes</code> an axis "
                     "or a list of axes, <code>any</code> every value, and <code>= _</code> a "
                     "parameter that the context may give.</p>\n";
  std::vector<std::string_view> families; // in the order of the table, where a family may recur
  for (const PrimitiveInfo &p : allPrimitives())
    if (std::find(families.begin(), families.end(), p.family) == families.end())
      families.push_back(p.family);
  std::set<std::string_view> seen;
  for (std::string_view family : families) {
    std::string id = "family-" + std::string(family);
    std::replace(id.begin(), id.end(), ' ', '-');
    main += "<h2 id=" + quoted(id) + " class=\"shelf\">" + escapedForPage(family) + "</h2>\n";
    outline += "<li><a href=" + quoted("#" + id) + ">" + escapedForPage(family) + "</a></li>\n";
    for (const PrimitiveInfo &p : allPrimitives())
      if (p.family == family)
        main += primitiveSection(p, writer, seen.insert(p.name).second);
  }
  outline = "<ul>\n" + outline + "</ul>\n";
  return main;
}

std::string indexPage(const Library &library, const PageOptions &options,
                      const std::string &title) {
  std::string main =
      "<h1>" + escapedForPage(title) + "</h1>\n<div class=\"wide\"><table class=\"names\">\n";
  for (const Module *module : sortedModules(library))
    main += "<tr><td><a href=" + quoted(pageOf(module->name)) + "><code>" +
            escapedForPage(module->name) + "</code></a></td><td>" +
            Writer(library, module).line(firstSentence(module->doc)) + "</td></tr>\n";
  if (options.primitives)
    main += "<tr><td><a href=\"primitives.html\"><code>primitives</code></a></td><td>What every "
            "program knows and is not written in mx.</td></tr>\n";
  return main + "</table></div>\n";
}

} // namespace

NavSection navigationOf(const Library &library, const PageOptions &options) {
  NavSection section;
  if (!options.folder.empty()) {
    section.title = "Library";
    section.entries.push_back({"All modules", options.folder + "index.html"});
  }
  for (const Module *module : sortedModules(library))
    section.entries.push_back({module->name, options.folder + pageOf(module->name)});
  if (options.primitives)
    section.entries.push_back({"primitives", options.folder + "primitives.html"});
  return section;
}

std::vector<File> pagesIn(const Shell &shell, const Library &library, const PageOptions &options,
                          std::string &searchEntries) {
  std::vector<File> out;
  auto add = [&](const std::string &name, const std::string &title, const std::string &outline,
                 const std::string &main) {
    std::string file = options.folder + name;
    out.push_back({file, shell.page(file, title, outline, main)});
  };
  for (const Module *module : sortedModules(library)) {
    ModulePage page(library, *module);
    searchEntries += page.entries(options.folder);
    add(pageOf(module->name), module->name, page.outline(), page.main());
  }
  if (options.primitives) {
    std::string outline, main = primitivesPage(library, outline);
    add("primitives.html", "primitives", outline, main);
    for (const PrimitiveInfo &p : allPrimitives())
      searchEntries +=
          searchEntry(p.name, "primitive", p.family,
                      options.folder + "primitives.html#" + std::string(p.name), p.doc);
  }
  std::string title = options.folder.empty() ? options.title : "Library";
  add("index.html", title, "", indexPage(library, options, title));
  return out;
}

std::vector<File> pagesOf(const Library &library, const PageOptions &options) {
  Shell shell{options.title, {navigationOf(library, options)}};
  std::string entries;
  std::vector<File> out = pagesIn(shell, library, options, entries);
  out.push_back({"names.js", searchIndex(entries)});
  return out;
}

} // namespace mx::docs
