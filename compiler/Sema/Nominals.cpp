// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nominal types (models and structs): header, fields, methods.
#include "Sema/Internals.h"
#include <algorithm>
#include <functional>

namespace mx::sema {

NominalInfo *Sema::declareNominal(ast::Nominal *node, ModuleInfo *module) {
  nominals.emplace_back();
  NominalInfo &n = nominals.back();
  n.name = std::string(node->name.text);
  n.syntax = node;
  n.module = module;
  n.isModel = node->isModel;
  node->info = &n;
  for (const ast::Attribute &a : node->attributes)
    n.isHandle |= a.name.text == "handle";
  return &n;
}

void Sema::resolveHeader(NominalInfo &n) {
  if (n.state != NominalInfo::Declared)
    return;
  n.state = NominalInfo::ResolvingHeader;
  n.scope = newScope(&n.module->scope);
  Context ctx;
  ctx.module = n.module;
  ctx.scope = n.scope;
  ctx.facts = n.module->facts.get();
  inContext(ctx, [&] {
    checkAttributes(n.syntax->attributes, n.isModel ? "a model" : "a struct", {"handle"});
    declareGenerics(n.syntax->generics, n.generics, *n.scope, nullptr, n.name);
    Generics unused;
    resolveParams(n.syntax->params, n.params, *n.scope, &unused, nullptr);
    std::vector<TypeArg> args;
    for (const GenericParam &g : n.generics) {
      TypeArg arg;
      switch (g.kind) {
      case GenericParam::Size:
        arg.kind = TypeArg::Size;
        arg.dim = dims.symbol(g.dim);
        break;
      case GenericParam::Pack:
        arg.kind = TypeArg::Pack;
        arg.pack = {Axis{{}, g.pack}};
        break;
      case GenericParam::Element:
        arg.kind = TypeArg::Element;
        arg.elem = Elem::variable(g.variable);
        break;
      case GenericParam::Model:
        arg.kind = TypeArg::Model;
        arg.type = types.typeVar(g.variable);
        break;
      }
      args.push_back(std::move(arg));
    }
    std::vector<StaticValue> statics;
    for (size_t i = 0; i < n.params.size(); ++i) {
      ParamInfo &p = n.params[i];
      if (auto id = p.value.dim ? dims.asSymbol(p.value.dim) : std::nullopt)
        symbolOwner[*id] = n.name;
      if (!p.isStatic)
        continue;
      n.staticParams.push_back(i);
      statics.push_back(p.value);
      StaticValue byDefault;
      if (p.defaultValue)
        if (auto value = staticFromExpr(p.defaultValue, p.type))
          byDefault = *value;
      n.staticDefaults.push_back(byDefault);
    }
    n.self = types.nominal(&n, args, statics);
    collectRequirements(n.syntax->where, n.name, &n, args, n.own);
    n.all = n.own;
  });
  // Names of fields and methods are declared here. Their types are resolved on use.
  for (const ast::Field &field : n.syntax->fields) {
    if (n.field(field.name.text)) {
      diags
          .report(Code::E0215, field.name.span,
                  "`" + std::string(field.name.text) + "` is defined twice")
          .label(n.field(field.name.text)->syntax->name.span, "first here");
      continue;
    }
    FieldInfo info;
    info.name = std::string(field.name.text);
    info.syntax = &field;
    info.kind = field.kind;
    info.symbol = newSymbol(SymbolKind::Field, field.name.text, field.name.span);
    info.symbol->nominal = &n;
    info.symbol->fieldKind = field.kind;
    info.symbol->typeSpan = field.type ? field.type->span : Span();
    n.scope->names[field.name.text] = info.symbol;
    n.fields.push_back(std::move(info));
  }
  for (ast::Func *func : n.syntax->funcs) {
    if (!func->name.valid())
      continue;
    std::string name(func->name.text);
    auto known = n.methods.find(name);
    FunctionInfo *first = known == n.methods.end() ? nullptr : known->second;
    if (first || n.field(name)) {
      Diagnostic &d =
          diags.report(Code::E0215, func->name.span, "`" + name + "` is defined twice")
              .label(first ? first->syntax->name.span : n.field(name)->syntax->name.span,
                     "first here");
      if (!first)
        d.note("`x." + name + "` would be the field or the function").help("give one another name");
      continue;
    }
    Context *saved = context;
    context = nullptr;
    FunctionInfo *method = declareFunction(func, n.module, &n, n.scope);
    context = saved;
    n.methods[name] = method;
    Symbol *symbol = newSymbol(SymbolKind::Method, func->name.text, func->name.span);
    symbol->functions.push_back(method);
    symbol->nominal = &n;
    n.scope->names[func->name.text] = symbol;
  }
  n.state = NominalInfo::HeaderDone;
}

void Sema::resolveField(NominalInfo &n, FieldInfo &f) {
  if (f.type)
    return;
  if (f.resolving) {
    diags.report(Code::E0213, f.syntax->name.span, "the type of `" + f.name + "` depends on itself")
        .help("write its type: `" + f.name + ": …`");
    f.type = types.error();
    f.symbol->type = f.type;
    return;
  }
  f.resolving = true;
  Context ctx;
  ctx.module = n.module;
  ctx.scope = n.scope;
  ctx.facts = n.module->facts.get();
  DimFacts known(dims);
  for (const Requirement &r : n.own)
    known.assume(r.condition);
  ctx.facts = &known;
  inContext(ctx, [&] {
    if (f.syntax->type) {
      inField = true;
      f.type = resolveType(f.syntax->type);
      inField = false;
    } else {
      inferringField = true;
      f.type = f.syntax->value ? check(f.syntax->value)->type : types.error();
      inferringField = false;
    }
    if (f.syntax->device) {
      const Value *d = check(f.syntax->device);
      if (d->constant == Value::DeviceConstant)
        f.device = d->device;
      else if (!d->type->isError() && !d->type->is(Kind::Device))
        diags
            .report(Code::E0602, f.syntax->device->span, "`on` needs a device, this is " + show(*d))
            .help("write `on device(" +
                  (d->type->is(Kind::Str) ? textOf(f.syntax->device) : "\"cpu:0\"") + ")`");
    }
    f.type = types.onDevice(f.type, f.device);
    bool holdsModel =
        f.type->is(Kind::Nominal) || f.type->is(Kind::Array) || f.type->is(Kind::TypeVar);
    if (f.kind == ast::FieldKind::Sub && !holdsModel && !f.type->isError())
      diags
          .report(Code::E0202, f.syntax->name.span,
                  "`sub` holds a model, but `" + f.name + "` is " + show(f.type))
          .help("a tensor that is trained is a `param`, one that is not a `state`");
    bool isParam = f.kind == ast::FieldKind::Param;
    if (isParam && !f.type->isError() && !(f.type->isTensor() && types.isFloat(f.type->elem)))
      diags
          .report(Code::E0202, f.syntax->name.span,
                  "a `param` is a float tensor, but `" + f.name + "` is " + show(f.type))
          .help("what is not trained is a `state`");
    if (n.isModel && f.kind == ast::FieldKind::Plain && !f.type->isError())
      diags
          .report(Code::E0101, f.syntax->name.span,
                  "a field of a model is a `param`, a `state` or a `sub`")
          .caret(f.type->isTensor() ? "write `param " + f.name + "` if it is trained, `state " +
                                          f.name + "` if not"
                                    : "write `sub " + f.name + "`");
  });
  f.symbol->type = f.type;
  f.resolving = false;
}

void Sema::resolveFields(NominalInfo &n) {
  resolveHeader(n);
  if (n.state != NominalInfo::HeaderDone || tooDeep(n.syntax->name.span, n.name))
    return;
  n.state = NominalInfo::ResolvingFields;
  for (FieldInfo &f : n.fields)
    resolveField(n, f);
  // A struct without a parameter list is constructed from its fields, in order.
  if (!n.isModel && !n.syntax->hasParams)
    for (FieldInfo &f : n.fields) {
      ParamInfo p;
      p.name = f.name;
      p.type = f.type;
      p.optional = f.syntax->value != nullptr;
      p.defaultValue = f.syntax->value;
      p.span = f.syntax->span;
      n.params.push_back(std::move(p));
    }
  n.state = NominalInfo::FieldsDone;
  // The length of an array is not negative: `sub rest: [Cell; depth-1]` requires depth - 1 >= 0.
  for (FieldInfo &f : n.fields)
    for (const Type *t = f.type; t && t->is(Kind::Array); t = t->element)
      if (t->count && !t->count.constant()) {
        Requirement r;
        r.condition = {Relation::LessEqual, dims.constant(0), t->count, f.syntax->span};
        r.text = dims.print(t->count) + " >= 0";
        r.span = f.syntax->span;
        r.owner = n.name;
        r.ownerNominal = &n;
        r.ownerArgs = n.self->args;
        r.inferred = true;
        n.own.push_back(r);
        n.all.push_back(std::move(r));
      }
  for (FieldInfo &f : n.fields)
    inheritRequirements(f.type, n.all, n.name + "." + f.name + ": " + show(f.type));
}

void Sema::checkNominalBodies(NominalInfo &n) {
  resolveFields(n);
  if (n.bodiesChecked)
    return;
  n.bodiesChecked = true;
  // A model cannot contain itself: its size would be infinite. Iterative depth-first search for
  // cycles; a type that is known to be acyclic is not visited again.
  std::map<NominalInfo *, bool> open; // true while its parts are being visited
  bool circle = false;
  auto holdsSelf = [&](const Type *field) {
    std::vector<std::pair<const Type *, NominalInfo *>> todo = {{field, nullptr}};
    bool found = false;
    while (!todo.empty()) {
      auto [t, done] = todo.back();
      todo.pop_back();
      if (done) {
        open[done] = false;
        continue;
      }
      if (t->is(Kind::Array))
        todo.push_back({t->element, nullptr});
      for (const Type *part : t->parts)
        if (t->is(Kind::Tuple))
          todo.push_back({part, nullptr});
      if (!t->is(Kind::Nominal) || t->nominal->holdsNoCircle)
        continue;
      found |= t->nominal == &n;
      auto [at, isNew] = open.emplace(t->nominal, true);
      if (!isNew) {
        circle |= at->second;
        continue;
      }
      todo.push_back({nullptr, t->nominal});
      resolveFields(*t->nominal);
      for (const FieldInfo &f : t->nominal->fields)
        if (f.type)
          todo.push_back({f.type, nullptr});
    }
    return found;
  };
  for (FieldInfo &f : n.fields)
    if (f.type && holdsSelf(f.type)) {
      diags.report(Code::E0224, f.syntax->name.span, "`" + n.name + "` would hold itself")
          .caret("through `" + f.name + ": " + show(f.type) + "`");
      return;
    }
  for (auto &entry : open)
    entry.first->holdsNoCircle |= !circle;
  Context ctx;
  ctx.module = n.module;
  ctx.scope = n.scope;
  DimFacts known(dims);
  for (const Requirement &r : n.all)
    known.assume(r.condition);
  ctx.facts = &known;
  inContext(ctx, [&] {
    for (FieldInfo &f : n.fields)
      if (f.syntax->type && f.syntax->value) {
        const Value *v = check(f.syntax->value, f.type);
        require(*v, f.type, f.syntax->value->outerSpan, "`" + f.name + "`", f.syntax->type->span);
      }
    for (ParamInfo &p : n.params)
      if (p.defaultValue && p.symbol) {
        const Value *v = check(p.defaultValue, p.type);
        require(*v, p.type, p.defaultValue->outerSpan, "the default of `" + p.name + "`",
                p.symbol->typeSpan);
      }
  });
  for (auto &entry : n.methods)
    if (entry.second)
      resolveSignature(*entry.second);
  for (ast::Func *func : n.syntax->funcs)
    if (func->info)
      checkBody(*func->info);
}

} // namespace mx::sema
