// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module loading: files, imports, the prelude, and the order in which a program is checked.
#include "Sema/Internals.h"
#include "Sema/StepStates.h"
#include "Support/Suggest.h"
#include <algorithm>
#include <cmath>
#include <filesystem>

namespace mx::sema {

Sema::Sema(SourceManager &sourceManager, Diagnostics &sink, CheckOptions opts, Sema *older)
    : CheckedProgram(sourceManager, sink), options(std::move(opts)), older(older) {
  loadPrimitives();
  prelude = loadModule("prelude", {}, options.stdlib);
  if (prelude)
    prelude->scope.parent = &primitives->scope;
}

namespace {
std::string baseName(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}
std::string directoryOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}
/// Whether a folder is the library's folder or below it.
bool isWithin(const std::string &folder, const std::string &library) {
  std::error_code ignored;
  std::filesystem::path at = std::filesystem::absolute(folder.empty() ? "." : folder, ignored);
  for (at = at.lexically_normal(); !at.empty(); at = at.parent_path()) {
    if (std::filesystem::equivalent(at, library, ignored))
      return true;
    if (at == at.parent_path())
      break;
  }
  return false;
}
} // namespace

std::string Sema::folderOf(ModuleInfo *module) const {
  return module && !module->path.empty() ? directoryOf(module->path) : mainFolder;
}

/// The signatures of the primitives are mx source text. Each is parsed lazily, on the first lookup
/// of its name: a program uses a few of them, and the checker starts often.
void Sema::loadPrimitives() {
  primitives = addModule("<primitives>", sources.add("<primitives>", "", ""), /*isStd=*/true);
  for (const PrimitiveInfo &info : allPrimitives()) {
    Symbol *&symbol = primitives->scope.names[info.name];
    if (!symbol)
      symbol = newSymbol(SymbolKind::Function, info.name, {});
    pendingPrimitives[symbol].push_back(&info);
    if (info.name ==
        "log_value") // overloads `log("loss", x)` and `log(x)`: the first argument decides
      pendingPrimitives[primitives->scope.names["log"]].push_back(&info);
  }
  for (auto [name, number] : {std::pair("inf", HUGE_VAL), std::pair("nan", std::nan(""))}) {
    Symbol *symbol = newSymbol(SymbolKind::Variable, name, {});
    symbol->bind = ast::BindKind::Const;
    symbol->isModuleLevel = true;
    symbol->type = types.scalar(ElementType::F32);
    symbol->value = hostValue(symbol->type);
    symbol->value.literal = Value::FloatLiteral;
    symbol->value.constant = Value::FloatConstant;
    symbol->value.number = number;
    primitives->scope.names[symbol->name] = symbol;
  }
  primitives->state = ModuleInfo::Ready;
}

/// Returns a looked-up symbol with its functions declared.
Symbol *Sema::withFunctions(Symbol *symbol) {
  if (symbol->kind != SymbolKind::Function || !symbol->functions.empty())
    return symbol;
  for (const PrimitiveInfo *info : pendingPrimitives[symbol]) {
    const SourceFile &file = sources.add("<primitives>", "", std::string(info->signature) + "\n");
    Diagnostics quiet(sources); // the program's list of diagnostics may be full
    LexedSource lexed = lex(file, quiet);
    auto *func = ast::as<ast::Func>(parseModule(file, lexed, arena, quiet)->items[0]);
    FunctionInfo *f = declareFunction(func, primitives, nullptr, &primitives->scope);
    f->enclosing = nullptr;
    f->primitive = info;
    symbol->functions.push_back(f);
    if (!symbol->span.valid())
      symbol->span = func->name.span;
  }
  pendingPrimitives.erase(symbol);
  return symbol;
}

ModuleInfo *Sema::addModule(const std::string &name, const SourceFile &file, bool isStd) {
  auto owned = std::make_unique<ModuleInfo>();
  ModuleInfo *module = owned.get();
  // The main program may be a module that is already loaded (`mxc check stdlib/prelude.mx`). Both
  // stay.
  std::unique_ptr<ModuleInfo> &slot = modules[file.path().empty() ? file.name() : file.path()];
  if (slot)
    replaced.push_back(std::move(slot));
  slot = std::move(owned);
  module->name = name;
  module->path = file.path();
  module->isStd = isStd;
  module->facts = std::make_unique<DimFacts>(dims);
  module->scope.parent = prelude ? &prelude->scope : primitives ? &primitives->scope : nullptr;
  LexedSource lexed = lex(file, diags);
  size_t before = diags.errorCount();
  module->syntax = parseModule(file, lexed, arena, diags);
  if (diags.errorCount() != before)
    module->state = ModuleInfo::Broken;
  return module;
}

ModuleInfo *Sema::loadModule(const std::string &name, Span where, const std::string &folder) {
  if (tooDeep(where, name))
    return nullptr;
  std::string file = name;
  std::replace(file.begin(), file.end(), '.', '/');
  // Search order: the importing file's folder, then the standard library.
  std::vector<std::pair<std::string, bool>> candidates;
  // A module of the library has one path inside the library's folders, however it was reached.
  if (options.stdlib.empty() || (folder != options.stdlib && !isWithin(folder, options.stdlib)))
    candidates.push_back({folder + file + ".mx", false});
  if (!options.stdlib.empty())
    candidates.push_back(
        {options.stdlib + (options.stdlib.back() == '/' ? "" : "/") + file + ".mx", true});
  std::string error;
  for (auto &[path, isStd] : candidates) {
    auto known = modules.find(path);
    if (known != modules.end()) {
      if (known->second->state == ModuleInfo::Loading) {
        diags.report(Code::E0805, where, "modules import each other in a circle")
            .caret("`" + name + "` is being read already")
            .help("move what both need into a third module");
        return nullptr;
      }
      return known->second.get();
    }
    auto text = readFile(path, limits::kMaxSourceBytes + 1, error);
    if (!text) {
      std::error_code ignored;
      if (!where.valid() || !std::filesystem::exists(path, ignored))
        continue;
      diags.report(Code::E0802, where, "module `" + name + "` cannot be read")
          .caret("`" + path + "`: " + error)
          .help("rename it, or make it a regular file that you may read");
      return nullptr;
    }
    const SourceFile *read = nullptr;
    if (older)
      if (auto was = older->modules.find(path); was != older->modules.end())
        read = &sources.file(was->second->syntax->file);
    const SourceFile &source =
        read && read->text() == *text
            ? *read
            : sources.add(isStd ? "std/" + file + ".mx" : path, path, std::move(*text));
    size_t before = diags.errorCount();
    ModuleInfo *module = addModule(name, source, isStd);
    if (module->state == ModuleInfo::Broken)
      return module;
    Context ctx;
    ctx.module = module;
    ctx.scope = &module->scope;
    ctx.facts = module->facts.get();
    Context *saved = context;
    context = &ctx;
    FunctionInfo *savedSignature = signature;
    signature = nullptr;
    declareItems(*module, module->syntax->items, /*program=*/false);
    signature = savedSignature;
    context = saved;
    module->state = diags.errorCount() == before ? ModuleInfo::Ready : ModuleInfo::Broken;
    return module;
  }
  if (!where.valid()) {
    diags.report(Code::E0802, {}, "the standard library is not found")
        .note("looked for " + (candidates.empty() ? std::string("nothing") : candidates.back().first))
        .help("set MX_STDLIB to the folder that holds prelude.mx");
    return nullptr;
  }
  Diagnostic &d = diags.report(Code::E0802, where, "there is no module `" + name + "`");
  static const std::vector<std::string> known = {
      "math", "nn", "optim", "loss", "metrics", "data", "rand", "models", "dist", "plot", "test"};
  std::string near = nearest(name, known);
  if (name == "numpy" || name == "torch" || name == "jax" || name == "tensorflow" || name == "np")
    d.note(
        "tensors are part of the language: `let x = zeros([2, 3])`; layers are in `nn`, optimizers "
        "in `optim`");
  else if (!near.empty())
    d.caret("did you mean `" + near + "`?");
  else
    d.note("looked for " + file + ".mx beside this file and in the standard library");
  return nullptr;
}

void Sema::importInto(ModuleInfo &module, ast::Import *import) {
  for (const ast::Import::Module &m : import->modules) {
    std::string name;
    Span span;
    for (const ast::Identifier &part : m.path) {
      name += (name.empty() ? "" : ".") + std::string(part.text);
      span = span.valid() ? span.to(part.span) : part.span;
    }
    if (name.empty())
      continue;
    ModuleInfo *loaded = loadModule(name, span, folderOf(&module));
    if (!import->isFrom) {
      ast::Identifier as = m.alias.valid() ? m.alias : m.path.back();
      Symbol *symbol = newSymbol(SymbolKind::Module, as.text, as.span);
      symbol->module = loaded;
      define(module.scope, symbol, /*mayShadow=*/true);
      continue;
    }
    for (const ast::Identifier &id : import->names) {
      Symbol *found = loaded ? lookupMember(*loaded, id) : nullptr;
      if (!found) { // reported; the name stays known, so that its uses report no further errors
        found = newSymbol(SymbolKind::Variable, id.text, id.span);
        found->type = types.error();
        found->bind = ast::BindKind::Const;
      }
      module.scope.names[id.text] = found;
    }
  }
}

/// Functions, models and types are visible in the whole file, independent of order.
void Sema::declareItems(ModuleInfo &module, const List<Stmt *> &items, bool program) {
  for (Stmt *item : items)
    if (auto *import = ast::as<ast::Import>(item))
      importInto(module, import);
  for (Stmt *item : items) {
    switch (item->kind) {
    case ast::StmtKind::Nominal: {
      auto *node = ast::as<ast::Nominal>(item);
      Symbol *symbol = newSymbol(SymbolKind::Nominal, node->name.text, node->name.span);
      symbol->nominal = declareNominal(node, &module);
      symbol->home = &module;
      define(module.scope, symbol, /*mayShadow=*/false);
      break;
    }
    case ast::StmtKind::Func: {
      auto *node = ast::as<ast::Func>(item);
      Symbol *symbol = newSymbol(SymbolKind::Function, node->name.text, node->name.span);
      symbol->functions.push_back(declareFunction(node, &module, nullptr, &module.scope));
      symbol->home = &module;
      define(module.scope, symbol, /*mayShadow=*/false);
      break;
    }
    case ast::StmtKind::TypeDef: {
      auto *node = ast::as<ast::TypeDef>(item);
      Symbol *symbol = newSymbol(SymbolKind::Alias, node->name.text, node->name.span);
      symbol->alias = node;
      symbol->home = &module;
      define(module.scope, symbol, /*mayShadow=*/false);
      break;
    }
    case ast::StmtKind::Let: {
      auto *node = ast::as<ast::Let>(item);
      if (node->bind == ast::BindKind::Const) {
        // Evaluated lazily, on first use.
        if (!node->pattern->parts.empty()) {
          diags.report(Code::E0214, node->pattern->span, "a `const` binds one name")
              .help("write one `const` for each");
          break;
        }
        Symbol *symbol =
            newSymbol(SymbolKind::Variable, node->pattern->name.text, node->pattern->name.span);
        symbol->bind = ast::BindKind::Const;
        symbol->isModuleLevel = true;
        symbol->home = &module;
        node->pattern->symbol = symbol;
        pendingConsts[symbol] = node;
        define(module.scope, symbol, /*mayShadow=*/false);
        break;
      }
      [[fallthrough]];
    }
    default:
      if (!program && item->kind != ast::StmtKind::Import && item->kind != ast::StmtKind::Test &&
          item->kind != ast::StmtKind::Error) {
        diags.report(Code::E0804, item->span, "a module that is imported holds declarations only")
            .caret("this would run when `" + module.name + "` is imported")
            .help("move it into a function, or make it a `const`");
        return;
      }
      break;
    }
  }
}

void Sema::checkItems(ModuleInfo &module, const List<Stmt *> &items) {
  for (Stmt *item : items) {
    if (diags.full())
      return;
    switch (item->kind) {
    case ast::StmtKind::Import:
    case ast::StmtKind::Error:
      break;
    case ast::StmtKind::Nominal:
      if (auto *info = ast::as<ast::Nominal>(item)->info)
        checkNominalBodies(*info);
      break;
    case ast::StmtKind::Func: {
      auto *func = ast::as<ast::Func>(item);
      if (func->info)
        checkBody(*func->info);
      break;
    }
    case ast::StmtKind::TypeDef: {
      auto it = module.scope.names.find(ast::as<ast::TypeDef>(item)->name.text);
      if (it != module.scope.names.end() && it->second->alias == ast::as<ast::TypeDef>(item) &&
          ast::as<ast::TypeDef>(item)->generics.empty())
        expandAlias(it->second, {}, item->span);
      break;
    }
    default:
      checkStmt(item);
    }
  }
}

const ModuleInfo *Sema::checkProgram(const SourceFile &file) {
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  mainFolder = directoryOf(file.path());
  size_t before = diags.errorCount();
  ModuleInfo *module = addModule(baseName(file.path().empty() ? file.name() : file.path()), file,
                                 !options.stdlib.empty() && isWithin(mainFolder, options.stdlib));
  if (module->state == ModuleInfo::Broken || !prelude || diags.errorCount() != before)
    return module;
  Context ctx;
  ctx.module = module;
  ctx.scope = &module->scope;
  ctx.facts = module->facts.get();
  context = &ctx;
  declareItems(*module, module->syntax->items, /*program=*/true);
  module->state = ModuleInfo::Ready;
  checkItems(*module, module->syntax->items);
  context = nullptr;
  if (diags.errorCount() == before)
    checkStepStates(*this);
  // After other errors, the list of options may be incomplete.
  if (!options.sharesOptions && diags.errorCount() == before + wrongOptions)
    wrongOptions += reportUnknownOptions(options.options, declaredOptions, diags);
  return module;
}

bool Sema::tooDeep(Span at, std::string_view name) {
  auto *here = static_cast<const char *>(__builtin_frame_address(0));
  if (!stackBase || std::abs(stackBase - here) < limits::kMaxCheckStackBytes)
    return false;
  diags
      .report(Code::E0002, at,
              "`" + std::string(name) + "` is reached through too many definitions")
      .caret("each leads into the next")
      .help("define it further up in the file, before what needs it");
  return true;
}

} // namespace mx::sema
