// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code completion and name lookup for the REPL and editors.
#include "Sema/Assist.h"
#include "Sema/Internals.h"
#include "Support/Suggest.h"
#include "Syntax/DocText.h"
#include <algorithm>
#include <filesystem>

namespace mx::sema {
using namespace ast;

namespace {

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// A read-only view of the session from its top level. Leaves no diagnostics behind.
class Look {
public:
  explicit Look(Sema &sema) : sema(sema), reported(sema.diags.all().size()) {
    sema.stackBase = static_cast<const char *>(__builtin_frame_address(0));
    sema.openSession();
    facts = sema.session->facts->size();
    context.module = sema.session;
    context.scope = &sema.session->scope;
    context.facts = sema.session->facts.get();
    sema.context = &context;
  }
  ~Look() {
    sema.context = nullptr;
    sema.session->facts->truncate(facts);
    sema.diags.truncate(reported);
  }

  /// The value of an expression as far as the checker knows it; null if the expression has an
  /// error.
  const Value *valueOf(std::string_view text) {
    const SourceFile &file = sema.sources.add("<look>", "", std::string(text) + "\n");
    LexedSource lexed = lex(file, sema.diags);
    ast::Module *tree = parseModule(file, lexed, sema.arena, sema.diags);
    if (sema.diags.all().size() != reported || tree->items.size() != 1)
      return nullptr;
    auto *stmt = as<ExprStmt>(tree->items[0]);
    const Value *value = stmt ? sema.check(stmt->expr) : nullptr;
    return value && value->type && !value->type->isError() ? value : nullptr;
  }

  Sema &sema;

private:
  Context context;
  size_t reported, facts;
};

std::string typeOf(Sema &sema, Symbol *symbol) {
  switch (symbol->kind) {
  case SymbolKind::Function: {
    sema.withFunctions(symbol);
    std::string text;
    for (FunctionInfo *f : symbol->functions) {
      sema.resolveSignature(*f);
      if (text.empty())
        text = std::string(f->isGraph() ? "graph fn" : "fn") + sema.signatureText(*f);
    }
    return text + (symbol->functions.size() > 1
                       ? ", and " + std::to_string(symbol->functions.size() - 1) + " more"
                       : "");
  }
  case SymbolKind::Nominal:
    return symbol->nominal->isModel ? "model" : "struct";
  case SymbolKind::Alias:
    return "type";
  case SymbolKind::Module:
    return "module";
  default:
    return symbol->type ? sema.show(symbol->type) : "";
  }
}

/// The start position of the operand that ends at `end`: names, members, calls and indices.
size_t operandStart(std::string_view text, size_t end) {
  size_t at = end;
  while (at > 0) {
    char c = text[at - 1];
    if (c == ')' || c == ']') {
      int depth = 0;
      size_t open = at;
      while (open > 0) {
        char d = text[open - 1];
        depth += d == ')' || d == ']' ? 1 : d == '(' || d == '[' ? -1 : 0;
        --open;
        if (depth == 0)
          break;
      }
      if (depth != 0)
        return at;
      at = open;
    } else if (isWord(c) || c == '.') {
      --at;
    } else {
      break;
    }
  }
  return at;
}

/// The innermost bracket that is open at the end of `text`; npos if there is none.
size_t openBracket(std::string_view text) {
  std::vector<size_t> open;
  bool inText = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inText) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inText = false;
    } else if (c == '"') {
      inText = true;
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back(i);
    } else if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
  }
  return open.empty() ? std::string_view::npos : open.back();
}

class Completer {
public:
  Completer(Look &look, std::string_view text) : look(look), sema(look.sema), text(text) {
    out.begin = text.size();
    while (out.begin > 0 && isWord(text[out.begin - 1]))
      --out.begin;
    word = text.substr(out.begin);
  }

  Completion run() {
    if (imports()) {
    } else if (out.begin > 0 && text[out.begin - 1] == '.' &&
               !(out.begin > 1 && text[out.begin - 2] == '.')) {
      members();
    } else {
      parameters();
      names();
    }
    std::sort(out.list.begin(), out.list.end(), [](auto &a, auto &b) {
      bool x = a.text.back() == '=', y = b.text.back() == '=';
      return x != y ? x : a.text != b.text ? a.text < b.text : a.type > b.type;
    });
    out.list.erase(std::unique(out.list.begin(), out.list.end(),
                               [](auto &a, auto &b) { return a.text == b.text; }),
                   out.list.end());
    return std::move(out);
  }

private:
  void add(std::string_view name, std::string type) {
    if (name.starts_with(word) && !name.empty() && (name[0] != '_' || !word.empty()))
      out.list.push_back({std::string(name), std::move(type)});
  }
  void add(Symbol *symbol, std::string_view name) {
    if (name.starts_with(word))
      add(name, typeOf(sema, symbol));
  }

  /// `import nn`, `from nn import relu`: completes modules and names of modules. False elsewhere.
  bool imports() {
    size_t start = text.substr(0, out.begin).find_last_of("\n;") + 1; // 0 if there is none
    start = std::min(text.find_first_not_of(" \t", start), out.begin);
    std::string_view line = text.substr(start, out.begin - start);
    constexpr std::string_view kFrom = "from ", kImport = "import ";
    bool isFrom = line.starts_with(kFrom);
    if (!isFrom && !line.starts_with(kImport))
      return false;
    size_t names = isFrom ? line.find(" import ") : std::string_view::npos;
    if (names == std::string_view::npos) {
      // `nn.con`: the folder of the module before the dot
      std::string_view path = line.substr(line.find_last_of(" ,") + 1);
      if (path.find(" as ") == std::string_view::npos)
        modules(path);
      return true;
    }
    std::string_view name = line.substr(kFrom.size(), names - kFrom.size());
    name = name.substr(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (ModuleInfo *module =
            name.empty() ? nullptr
                         : sema.loadModule(std::string(name), {}, sema.folderOf(sema.session)))
      offerNames(*module);
    return true;
  }

  /// Modules below `path`, which ends in a dot unless it is empty. Searches the session's folder
  /// and the library.
  void modules(std::string_view path) {
    namespace fs = std::filesystem;
    std::string below(path);
    std::replace(below.begin(), below.end(), '.', '/');
    std::string beside = sema.folderOf(sema.session);
    for (const std::string &folder :
         {beside.empty() ? std::string(".") : beside, sema.options.stdlib}) {
      std::error_code problem;
      if (folder.empty())
        continue;
      for (fs::directory_iterator at(fs::path(folder) / below, problem), end; !problem && at != end;
           at.increment(problem))
        if (at->path().extension() == ".mx" && at->path().stem() != "prelude")
          add(at->path().stem().string(), "module");
    }
  }

  void offerNames(ModuleInfo &module) {
    for (auto &[name, symbol] : module.scope.names)
      if (symbol->home == &module || (module.isStd && symbol->home && symbol->home->isStd))
        add(symbol, name);
  }

  void members() {
    size_t dot = out.begin - 1, start = operandStart(text, dot);
    const Value *object = look.valueOf(text.substr(start, dot - start));
    if (!object)
      return;
    const Type *t = object->type;
    if (t->is(Kind::Module)) {
      offerNames(*t->module);
      return;
    }
    if (t->isTensor())
      for (const char *name : {"T", "shape", "dtype", "rank"})
        add(name, "");
    if (t->is(Kind::Nominal)) {
      NominalInfo &n = *t->nominal;
      sema.resolveFields(n);
      for (FieldInfo &f : n.fields) {
        sema.resolveField(n, f);
        add(f.name, f.type ? sema.show(sema.types.substitute(f.type, sema.bindingsOf(t))) : "");
      }
      for (auto &[name, f] : n.methods) {
        sema.resolveSignature(*f);
        add(name, "fn" + sema.signatureText(*f));
      }
    }
    // `x.f(…)` is `f(x, …)`.
    for (const std::string &name : sema.visibleNames())
      if (name.starts_with(word))
        if (FunctionInfo *f = sema.findFreeFunction(name, t))
          add(name, "fn" + sema.signatureText(*f));
  }

  void parameters() {
    size_t open = openBracket(text);
    if (open == std::string_view::npos || text[open] != '(')
      return;
    size_t start = operandStart(text, open);
    std::string_view callee = text.substr(start, open - start);
    if (callee.ends_with(']')) { // `Dense[3, 2](`
      int depth = 0;
      size_t at = callee.size();
      do {
        --at;
        depth += callee[at] == ']' ? 1 : callee[at] == '[' ? -1 : 0;
      } while (depth != 0 && at > 0);
      callee = callee.substr(0, at);
    }
    auto offer = [&](const std::vector<ParamInfo> &params) {
      for (const ParamInfo &p : params)
        if (p.name != "self")
          add(p.name + "=", p.type ? sema.show(p.type) : "");
    };
    Symbol *symbol = symbolOf(sema, callee);
    size_t dot = callee.rfind('.');
    if (symbol) {
      for (FunctionInfo *f : sema.withFunctions(symbol)->functions) {
        sema.resolveSignature(*f);
        offer(f->params);
      }
      if (symbol->nominal) {
        sema.resolveFields(*symbol->nominal);
        offer(symbol->nominal->params);
      }
    } else if (dot != std::string_view::npos) {
      const Value *object = look.valueOf(callee.substr(0, dot));
      std::string name(callee.substr(dot + 1));
      if (!object)
        return;
      if (object->type->is(Kind::Nominal))
        if (auto method = object->type->nominal->methods.find(name);
            method != object->type->nominal->methods.end()) {
          sema.resolveSignature(*method->second);
          return offer(method->second->params);
        }
      if (FunctionInfo *f = sema.findFreeFunction(name, object->type); f && !f->params.empty())
        offer({f->params.begin() + 1, f->params.end()});
    }
  }

  void names() {
    for (Scope *scope = sema.context->scope; scope; scope = scope->parent) {
      // Visiting a builtin parses its signature, so the table is not iterated over meanwhile.
      std::vector<std::pair<std::string_view, Symbol *>> found;
      for (auto &[name, symbol] : scope->names)
        if (name.starts_with(word))
          found.push_back({name, symbol});
      for (auto &[name, symbol] : found)
        add(symbol, name);
    }
    static constexpr const char *kKeywords[] = {
#define MX_KEYWORD(NAME, TEXT, CONTINUES, STARTS) TEXT,
#include "Syntax/Tokens.def"
    };
    for (const char *keyword : kKeywords)
      if (!word.empty())
        add(keyword, "");
    // Sizes and parameters of the declaration that is being written.
    for (size_t i = 0; i < out.begin;) {
      size_t end = i;
      while (end < out.begin && isWord(text[end]))
        ++end;
      if (end > i && !std::isdigit(static_cast<unsigned char>(text[i])) && end - i > word.size())
        add(text.substr(i, end - i), "");
      i = std::max(end, i + 1);
    }
  }

public:
  /// The symbol that `name` or `module.name` refers to; null if there is none, or if it is a field.
  static Symbol *symbolOf(Sema &sema, std::string_view path) {
    Symbol *found = nullptr;
    for (size_t at = 0; at <= path.size();) {
      size_t end = std::min(path.find('.', at), path.size());
      std::string_view part = path.substr(at, end - at);
      if (at == 0) {
        found = sema.lookup(part);
      } else {
        if (!found || found->kind != SymbolKind::Module || !found->module)
          return nullptr;
        auto member = found->module->scope.names.find(part);
        found = member == found->module->scope.names.end() ? nullptr
                                                           : sema.withFunctions(member->second);
      }
      if (!found)
        return nullptr;
      at = end + 1;
    }
    return found;
  }

private:
  Look &look;
  Sema &sema;
  std::string_view text, word;
  Completion out;
};

/// A doc comment without its markers; that of a primitive has none.
std::string plainDoc(std::string_view doc) {
  std::string out;
  for (size_t at = 0; at < doc.size();) {
    size_t end = std::min(doc.find('\n', at), doc.size());
    std::string_view line = doc.substr(at, end - at);
    out += std::string(docText(line).value_or(line)) + "\n";
    at = end + 1;
  }
  while (!out.empty() && std::isspace(static_cast<unsigned char>(out.back())))
    out.pop_back();
  return out;
}

/// `(x: f32[N], lr: f32 = 0.1) -> f32[N]`: the signature from the caller's view.
std::string callText(Sema &sema, const FunctionInfo &f) {
  std::string text = "(";
  for (const ParamInfo &p : f.params)
    text += (&p == &f.params[0] ? "" : ", ") + std::string(p.isMut ? "mut " : "") +
            (p.isStatic ? "static " : "") + p.name + ": " + sema.show(p.type) +
            (p.defaultValue  ? " = " + sema.textOf(p.defaultValue)
             : p.fromContext ? " = _"
                             : "");
  text += ")";
  return f.result && !f.result->is(Kind::Nothing) ? text + " -> " + sema.show(f.result) : text;
}

Meaning meaningOf(Sema &sema, FunctionInfo &f) {
  sema.resolveSignature(f);
  Meaning out;
  out.title = std::string(f.isGraph() ? "graph fn " : "fn ") + f.name + callText(sema, f);
  if (f.primitive) {
    out.doc = plainDoc(f.primitive->doc);
  } else if (f.syntax) {
    out.doc = plainDoc(f.syntax->doc);
    out.location = sema.sources.locationLine(f.syntax->name.span);
    out.source = sema.textOf(f.syntax->span);
  }
  return out;
}

Sema &internals(CheckedProgram &program) { return static_cast<Sema &>(program); }

} // namespace

Completion complete(CheckedProgram &program, std::string_view text) {
  Sema &sema = internals(program);
  Look look(sema);
  return Completer(look, text).run();
}

std::vector<Meaning> meaningsOf(CheckedProgram &program, std::string_view name) {
  Sema &sema = internals(program);
  Look look(sema);
  std::vector<Meaning> out;
  Symbol *symbol = Completer::symbolOf(sema, name);
  if (symbol && symbol->kind == SymbolKind::Function) {
    for (FunctionInfo *f : symbol->functions)
      out.push_back(meaningOf(sema, *f));
    return out;
  }
  if (symbol && symbol->nominal) {
    const Nominal &syntax = *symbol->nominal->syntax;
    Meaning meaning;
    Span end = syntax.bodySpan.valid() ? syntax.bodySpan.start() : syntax.span;
    meaning.title = sema.textOf(Span{syntax.span.file, syntax.span.begin, end.begin});
    while (!meaning.title.empty() && std::isspace(static_cast<unsigned char>(meaning.title.back())))
      meaning.title.pop_back();
    meaning.doc = plainDoc(syntax.doc);
    for (const Field &field : syntax.fields)
      meaning.doc +=
          (meaning.doc.empty() ? "" : "\n") + std::string("  ") + sema.textOf(field.span);
    meaning.location = sema.sources.locationLine(syntax.name.span);
    meaning.source = sema.textOf(syntax.span);
    return {meaning};
  }
  if (symbol && symbol->module) {
    Meaning meaning;
    meaning.title = "module " + symbol->module->name;
    if (symbol->module->syntax)
      meaning.doc = plainDoc(symbol->module->syntax->doc);
    return {meaning};
  }
  if (symbol) {
    Meaning meaning;
    meaning.title = std::string(name) + ": " + typeOf(sema, symbol);
    if (symbol->alias) {
      meaning.title = sema.textOf(symbol->alias->span);
      meaning.doc = plainDoc(symbol->alias->doc);
    }
    if (symbol->span.valid())
      meaning.location = sema.sources.locationLine(symbol->span);
    return {meaning};
  }
  // `net.fc1`, `x.mean`
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos)
    return {};
  const Value *object = look.valueOf(name.substr(0, dot));
  std::string member(name.substr(dot + 1));
  if (!object)
    return {};
  if (object->type->is(Kind::Nominal)) {
    NominalInfo &n = *object->type->nominal;
    if (auto method = n.methods.find(member); method != n.methods.end())
      return {meaningOf(sema, *method->second)};
    sema.resolveFields(n);
    if (FieldInfo *f = n.field(member)) {
      Meaning meaning;
      const Value *value = look.valueOf(name);
      meaning.title = std::string(name) + ": " + (value ? sema.show(*value) : "");
      meaning.doc = plainDoc(f->syntax->doc);
      meaning.location = sema.sources.locationLine(f->syntax->span);
      return {meaning};
    }
  }
  if (FunctionInfo *f = sema.findFreeFunction(member, object->type))
    return {meaningOf(sema, *f)};
  return {};
}

std::string nearestName(CheckedProgram &program, std::string_view name) {
  Sema &sema = internals(program);
  Look look(sema);
  return nearest(name, sema.visibleNames());
}

} // namespace mx::sema
