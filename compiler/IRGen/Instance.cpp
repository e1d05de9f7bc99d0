// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances of generic functions and constructors (monomorphisation).
#include "IRGen/Instance.h"
#include <algorithm>
#include <cctype>

namespace mx::irgen {
using namespace sema;

std::string globalName(const Symbol &symbol, bool keepNames) {
  std::string name(symbol.name);
  return keepNames ? name + "@" + std::to_string(symbol.span.file) + "." +
                         std::to_string(symbol.span.begin)
                   : name;
}

std::string sizeName(const CheckedProgram &sema, AtomId atom) {
  std::string name;
  for (char c : sema.dims.symbolInfo(atom).name)
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
    name = "n" + name;
  return name;
}

void Instances::genericsOf(const NominalInfo &nominal, std::vector<AtomId> &dims,
                           std::vector<PackId> &packs) const {
  for (const GenericParam &g : nominal.generics) {
    if (g.kind == GenericParam::Size)
      dims.push_back(g.dim);
    else if (g.kind == GenericParam::Pack)
      packs.push_back(g.pack);
  }
  for (size_t i : nominal.staticParams)
    if (nominal.params[i].value.kind == StaticValue::Int)
      if (auto id = sema.dims.asSymbol(nominal.params[i].value.dim))
        dims.push_back(*id);
}

/// A constant static size is part of the instance: it may be an axis, or decide an `if`.
static std::optional<int64_t> fixedSize(const CheckedProgram &sema, AtomId atom, const Bindings &bindings) {
  if (sema.dims.symbolInfo(atom).role != SymbolRole::Static)
    return std::nullopt;
  auto found = bindings.dims.find(atom);
  return found == bindings.dims.end() || !found->second ? std::nullopt : found->second.constant();
}

std::string Instances::keyOf(const void *what, const std::vector<AtomId> &dims,
                             const std::vector<PackId> &packs, const Bindings &bindings) const {
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(what));
  for (AtomId atom : dims)
    if (auto number = fixedSize(sema, atom, bindings))
      key += " d" + std::to_string(atom) + "=" + std::to_string(*number);
  for (PackId pack : packs) {
    auto found = bindings.packs.find(pack);
    key += " p" + std::to_string(pack) + "=" +
           std::to_string(found == bindings.packs.end() ? 0 : found->second.size());
  }
  for (auto &[variable, elem] : bindings.elems)
    key += " e" + std::to_string(variable) + "=" + std::to_string(elem.raw());
  for (auto &[variable, type] : bindings.types)
    key += " t" + std::to_string(variable) + "=" +
           std::to_string(reinterpret_cast<uintptr_t>(type->plain));
  for (auto &[variable, value] : bindings.statics)
    key += " s" + std::to_string(variable) + "=" + sema.types.print(value);
  return key;
}

std::string Instances::uniqueName(const std::string &name) {
  int count = names[name]++;
  return count == 0 ? name : name + "$" + std::to_string(count);
}

void Instances::symbolsIn(const Type *type, std::vector<AtomId> &out) const {
  std::vector<AtomId> found;
  auto inShape = [&](const Shape &shape) {
    for (const Axis &axis : shape)
      if (!axis.isPack() && axis.dim)
        sema.dims.symbols(axis.dim, found);
  };
  inShape(type->shape);
  if (type->count)
    sema.dims.symbols(type->count, found);
  for (const TypeArg &arg : type->args) {
    if (arg.dim)
      sema.dims.symbols(arg.dim, found);
    inShape(arg.pack);
    if (arg.type)
      symbolsIn(arg.type, out);
  }
  for (const StaticValue &value : type->statics)
    if (value.kind == StaticValue::Int && value.dim)
      sema.dims.symbols(value.dim, found);
  for (const Type *part : type->parts)
    symbolsIn(part, out);
  if (type->element)
    symbolsIn(type->element, out);
  for (AtomId atom : found)
    if (std::find(out.begin(), out.end(), atom) == out.end())
      out.push_back(atom);
}

void Instances::settle(Instance &instance, const std::vector<AtomId> &dims,
                       const std::vector<PackId> &packs, const Bindings &bindings) {
  instance.bindings.elems = bindings.elems;
  instance.bindings.types = bindings.types;
  instance.bindings.statics = bindings.statics;
  std::map<std::string, int> used;
  auto fresh = [&](std::string name) {
    int count = used[name]++;
    return count == 0 ? name : name + "$" + std::to_string(count);
  };
  for (AtomId atom : dims) {
    if (auto number = fixedSize(sema, atom, bindings)) {
      instance.bindings.dims[atom] = sema.dims.constant(*number);
      continue;
    }
    instance.sizes.push_back({atom, fresh(sizeName(sema, atom)), 0, 0});
  }
  std::vector<AtomId> callers;
  for (auto &[variable, type] : bindings.types)
    symbolsIn(type, callers);
  for (AtomId atom : callers)
    if (std::find(dims.begin(), dims.end(), atom) == dims.end())
      instance.sizes.push_back({atom, fresh(sizeName(sema, atom)), 0, 0, true});
  for (PackId pack : packs) {
    auto found = bindings.packs.find(pack);
    Shape shape;
    for (size_t i = 0; found != bindings.packs.end() && i < found->second.size(); ++i) {
      std::string name = sema.types.packName(pack) + "." + std::to_string(i);
      AtomId atom = sema.dims.newSymbol({name, SymbolRole::Generic, true, {}});
      instance.sizes.push_back({atom, fresh(name), pack, i});
      shape.push_back(axisOf(sema.dims.symbol(atom)));
    }
    instance.bindings.packs[pack] = shape;
  }
}

void Instances::genericsOf(const FunctionInfo &function, std::vector<AtomId> &dims,
                           std::vector<PackId> &packs) const {
  if (function.owner)
    genericsOf(*function.owner, dims, packs);
  dims.insert(dims.end(), function.generics.dims.begin(), function.generics.dims.end());
  packs.insert(packs.end(), function.generics.packs.begin(), function.generics.packs.end());
}

std::string Instances::key(const CallInfo &call) const {
  std::vector<AtomId> dims;
  std::vector<PackId> packs;
  if (call.target == CallInfo::Construct) {
    genericsOf(*call.nominal, dims, packs);
    return keyOf(call.nominal, dims, packs, sema.bindingsOf(call.result));
  }
  genericsOf(*call.function, dims, packs);
  return keyOf(call.function, dims, packs, call.bindings);
}

bool Instances::isEndless(const Instance &instance) const {
  auto found = nestedCounts.find(instance.function);
  return instance.nested > kMaxNested ||
         (instance.nested > 0 && found != nestedCounts.end() && found->second > kMaxOfOne);
}

Instance &Instances::of(FunctionInfo &function, const Bindings &bindings, bool asGraph,
                        const Instance *askedBy) {
  std::vector<AtomId> dims;
  std::vector<PackId> packs;
  genericsOf(function, dims, packs);
  std::string key = keyOf(&function, dims, packs, bindings) + (asGraph ? " graph" : "");
  Instance *&slot = byKey[key];
  if (slot)
    return *slot;
  Instance &made = all.emplace_back();
  slot = &made;
  made.function = &function;
  made.isGraph = asGraph;
  made.kept = &made;
  made.askedBy = askedBy ? askedBy->kept : nullptr;
  for (const Instance *outer = made.askedBy; outer; outer = outer->askedBy)
    if (outer->function == &function) {
      made.nested = outer->nested + 1;
      ++nestedCounts[&function];
      break;
    }
  std::string home = function.owner ? function.owner->name + "." : "";
  if (function.module && function.module->isStd && function.module->name != "prelude")
    home = function.module->name + "." + home;
  made.symbol = uniqueName(home + (function.name.empty() ? "lambda" : function.name));
  settle(made, dims, packs, bindings);
  if (function.owner)
    made.self = sema.types.substitute(function.owner->self, made.bindings);
  pending.push_back(&made);
  return made;
}

Instance &Instances::eagerTwin(const Instance &graph) {
  Instance *&slot = byKey["twin " + graph.symbol];
  if (slot)
    return *slot;
  Instance &made = all.emplace_back(graph);
  slot = &made;
  made.kept = &made;
  made.isGraph = false;
  made.symbol = uniqueName(graph.symbol + "$eager");
  pending.push_back(&made);
  return made;
}

Instance &Instances::ofConstructor(const Type *type) {
  NominalInfo &nominal = *type->nominal;
  std::vector<AtomId> dims;
  std::vector<PackId> packs;
  genericsOf(nominal, dims, packs);
  Bindings bindings = sema.bindingsOf(type);
  Instance *&slot = byKey["new " + keyOf(&nominal, dims, packs, bindings)];
  if (slot)
    return *slot;
  Instance &made = all.emplace_back();
  slot = &made;
  made.construct = &nominal;
  std::string home = nominal.module && nominal.module->isStd && nominal.module->name != "prelude"
                         ? nominal.module->name + "."
                         : "";
  made.symbol = uniqueName(home + nominal.name + ".new");
  settle(made, dims, packs, bindings);
  made.self = sema.types.substitute(nominal.self, made.bindings);
  pending.push_back(&made);
  return made;
}

std::vector<Dim> Instances::sizesAt(const Instance &instance, const Bindings &bindings) const {
  std::vector<Dim> out;
  for (const SizeParam &size : instance.sizes) {
    Dim value;
    if (size.pack) {
      auto found = bindings.packs.find(size.pack);
      if (found != bindings.packs.end() && size.index < found->second.size())
        value = found->second[size.index].dim;
    } else if (size.isCallers) {
      value = sema.dims.symbol(size.atom);
    } else if (auto found = bindings.dims.find(size.atom); found != bindings.dims.end()) {
      value = found->second;
    }
    // No type at this use depends on the name.
    out.push_back(value ? value : sema.dims.constant(0));
  }
  return out;
}

} // namespace mx::irgen
