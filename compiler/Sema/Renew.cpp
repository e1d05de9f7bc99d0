// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Garbage collection for a long session: rebuilds the checker with the names of the session. Trees,
// symbols and types of old inputs are never freed one by one, so from time to time all of them are
// dropped. Variables of plain types are recreated from their types. For all other names, the inputs
// that define them are checked again. Nothing is executed.
#include "Sema/Replaced.h"
#include "Sema/Internals.h"

namespace mx::sema {
namespace {

/// Compares printed types without the mark of redefined types: the new checker has not seen the
/// later definition yet.
bool isShownAlike(std::string now, std::string before) {
  for (std::string *text : {&now, &before})
    for (size_t at; (at = text->find(kReplaced)) != std::string::npos;)
      text->erase(at, kReplaced.size());
  return now == before;
}

class Renewal {
public:
  explicit Renewal(Sema &from)
      : from(from), to(std::make_unique<Sema>(from.sources, from.diags, from.options, &from)) {}

  /// Requires a name to exist afterwards.
  void want(SessionName name) { waiting.push_back(name); }
  bool run();
  Symbol *moved(Symbol *old) const {
    auto found = made.find(old);
    return found == made.end() ? nullptr : found->second;
  }
  std::unique_ptr<Sema> take() { return std::move(to); }

private:
  Sema &from;
  std::unique_ptr<Sema> to;
  std::vector<SessionName> waiting;
  /// Keyed by the input that defines them, oldest first: an input sees the names of earlier inputs.
  std::map<uint32_t, std::set<SessionName>> wanted;
  std::set<uint32_t> rechecked;
  std::map<const Symbol *, Symbol *> made;

  bool collect();
  const Type *translate(const Type *type);
  bool isPlain(const Symbol &symbol);
  Symbol *remake(SessionName name);
};

/// The same type in the new checker; null unless it consists of numbers and strings only.
const Type *Renewal::translate(const Type *type) {
  if (!type || type->device)
    return nullptr;
  auto number = [&](Dim dim) -> Dim {
    std::optional<int64_t> value = dim ? dim.constant() : std::nullopt;
    return value ? to->dims.constant(*value) : Dim();
  };
  switch (type->kind) {
  case Kind::Str:
    return to->types.str();
  case Kind::Tensor: {
    if (!type->elem.valid() || type->elem.isVariable())
      return nullptr;
    Shape shape;
    for (const Axis &axis : type->shape) {
      Dim dim = axis.isPack() ? Dim() : number(axis.dim);
      if (!dim)
        return nullptr;
      shape.push_back(axisOf(dim));
    }
    return to->types.tensor(type->elem, std::move(shape));
  }
  case Kind::Tuple: {
    std::vector<const Type *> parts;
    for (const Type *part : type->parts) {
      parts.push_back(translate(part));
      if (!parts.back())
        return nullptr;
    }
    return to->types.tuple(std::move(parts));
  }
  case Kind::Array: {
    const Type *element = translate(type->element);
    Dim count = number(type->count);
    return element && count ? to->types.array(element, count) : nullptr;
  }
  default:
    return nullptr;
  }
}

bool Renewal::isPlain(const Symbol &symbol) {
  return symbol.kind == SymbolKind::Variable && symbol.bind != ast::BindKind::Const &&
         !symbol.function && !symbol.value.root && symbol.origin.empty() && !symbol.device &&
         symbol.value.constant != Value::DeviceConstant && translate(symbol.type);
}

/// Collects the inputs to check again, and transitively the names that they mention.
bool Renewal::collect() {
  while (!waiting.empty()) {
    SessionName name = waiting.back();
    waiting.pop_back();
    auto by = from.definedBy.find(name);
    if (by == from.definedBy.end())
      return false;
    uint32_t input = by->second;
    if (!wanted[input].insert(name).second || isPlain(*name.second) ||
        !rechecked.insert(input).second)
      continue;
    for (SessionName mentioned : from.inputMentions[input])
      if (auto other = from.definedBy.find(mentioned);
          other == from.definedBy.end() || other->second != input)
        waiting.push_back(mentioned);
  }
  return true;
}

Symbol *Renewal::remake(SessionName name) {
  const Symbol &old = *name.second;
  Symbol *symbol =
      to->newSymbol(SymbolKind::Variable, to->arena.copy(std::string_view(old.name)), old.span);
  symbol->bind = old.bind;
  symbol->type = translate(old.type);
  symbol->value = old.value;
  symbol->value.type = symbol->type;
  symbol->value.text = to->arena.copy(old.value.text);
  if (old.value.dim) {
    std::optional<int64_t> number = old.value.dim.constant();
    symbol->value.dim =
        number
            ? to->dims.constant(*number)
            : to->dims.newSymbolDim({std::string(old.name), SymbolRole::HostInt, false, old.span});
  }
  symbol->isModuleLevel = old.isModuleLevel;
  symbol->used = true;
  symbol->scopeDepth = old.scopeDepth;
  symbol->typeSpan = old.typeSpan;
  return to->session->scope.names[to->arena.copy(name.first)] = symbol;
}

bool Renewal::run() {
  if (!to->prelude || !collect())
    return false;
  to->openSession();
  for (auto &[input, names] : wanted) {
    bool again = rechecked.count(input) != 0, complete = true;
    if (again && !to->checkInput(from.sources.file(input), complete, /*isWhole=*/true))
      return false;
    for (SessionName name : names) {
      if (again && name.first == "_")
        to->keepResult();
      auto &known = to->session->scope.names;
      auto found = known.find(name.first);
      Symbol *symbol = !again ? remake(name) : found == known.end() ? nullptr : found->second;
      const Symbol &old = *name.second;
      if (!symbol || symbol->kind != old.kind || symbol->span != old.span ||
          (old.kind == SymbolKind::Variable && !isShownAlike(to->show(symbol->type), from.show(old.type))))
        return false;
      made[&old] = symbol;
      to->definedBy[{known.find(name.first)->first, symbol}] = input;
    }
  }
  return true;
}

} // namespace

bool Checker::renew(const std::vector<NamesMark *> &marks,
                    std::map<const Symbol *, Symbol *> &moved) {
  if (!impl->session)
    return true;
  // The user's files may have changed since they were read.
  for (auto &[path, module] : impl->modules)
    if (!module->isStd && module.get() != impl->session)
      return false;
  if (!impl->replaced.empty())
    return false;
  NamesMark now = mark();
  std::vector<NamesMark *> all = marks;
  all.push_back(&now);
  Renewal renewal(*impl);
  for (NamesMark *one : all)
    for (SessionName name : one->names)
      renewal.want(name);
  bool fine = renewal.run();
  impl->diags.clear(); // already reported
  if (!fine)
    return false;
  std::unique_ptr<Sema> made = renewal.take();
  for (NamesMark *one : all) {
    std::unordered_map<std::string_view, Symbol *> names;
    for (auto &[name, symbol] : one->names) {
      moved[symbol] = renewal.moved(symbol);
      names[made->arena.copy(name)] = moved[symbol];
    }
    one->names = std::move(names);
    one->facts = made->session->facts->size();
  }
  made->session->scope.names = std::move(now.names);
  made->older = nullptr;
  impl = std::move(made);
  return true;
}

} // namespace mx::sema
