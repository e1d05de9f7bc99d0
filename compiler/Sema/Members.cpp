// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of member access `x.name` on modules, tensors, models, gradients and errors.
#include "Sema/Internals.h"
#include "Support/Suggest.h"

namespace mx::sema {
using namespace ast;

/// A field of a value. Numbers of a handle (`kv.rank`) are host values and also sizes.
Value Sema::fieldValue(const Type *object, FieldInfo &f, const Value *base) {
  const Type *type = f.type ? f.type : types.error();
  type = types.substitute(type, bindingsOf(object));
  if (object->device)
    type = types.onDevice(type, object->device);
  Value v = valueOf(type);
  v.host = object->nominal->isHandle || type->is(Kind::Str);
  if (object->nominal->isHandle && type->isScalar() && type->elem.is(ElementType::I64)) {
    Symbol *root = base ? base->root : nullptr;
    Dim &known = hostFields[{root, f.name}];
    if (!known || !root)
      known = dims.newSymbolDim({(root ? std::string(root->name) + "." : std::string()) + f.name,
                                 SymbolRole::HostInt, true, f.syntax->span});
    v.dim = known;
  }
  return v;
}

Value Sema::checkMember(Member *e) {
  const Value *object = check(e->object);
  if (object->type->isError() || !e->name.valid())
    return errorValue();
  return memberOf(*object, e);
}

Value Sema::memberOf(const Value &object, Member *e) {
  std::string name(e->name.text);
  const Type *t = object.type;
  auto missing = [&](const std::vector<std::string> &known) {
    Diagnostic &d =
        diags.report(Code::E0209, e->name.span, show(t) + " has no member `" + name + "`");
    std::string near = nearest(name, known);
    if (!near.empty())
      d.caret("did you mean `" + near + "`?");
    else if (FunctionInfo *f = findFreeFunction(name, t))
      d.help("it is a function, call it: `" + textOf(e->object) + "." + f->name + "(…)`");
    return errorValue();
  };
  switch (t->kind) {
  case Kind::Module: {
    Symbol *symbol = lookupMember(*t->module, e->name);
    if (!symbol)
      return errorValue();
    e->symbol = symbol;
    if (auto pending = pendingConsts.find(symbol); pending != pendingConsts.end())
      resolveConst(symbol, pending->second);
    return symbolValue(symbol, e->name.span);
  }
  case Kind::Tensor: {
    if (name == "T") {
      ShapeResult r = swapLastTwo(t->shape);
      if (!r.ok()) {
        diags
            .report(Code::E0314, e->name.span,
                    "`.T` swaps the last two dimensions, " + show(t) + " has fewer")
            .label(e->object->outerSpan, show(t));
        return errorValue();
      }
      Value v = valueOf(types.tensor(t->elem, r.shape, t->device));
      return v;
    }
    if (name == "shape") {
      return hostValue(types.shape(t->shape));
    }
    if (name == "dtype")
      return hostValue(types.dtype(t->elem));
    if (name == "rank")
      return hostInt(hasPack(t->shape)
                         ? dims.newSymbolDim({"rank", SymbolRole::HostInt, true, e->span})
                         : dims.constant(static_cast<int64_t>(t->shape.size())));
    if (name == "path" && object.root && object.root->origin == "leaf")
      return hostValue(types.str());
    return missing({"T", "shape", "dtype", "rank"});
  }
  case Kind::Nominal: {
    NominalInfo &n = *t->nominal;
    resolveFields(n);
    if (FieldInfo *f = n.field(name)) {
      resolveField(n, *f);
      Value v = fieldValue(t, *f, &object);
      v.root = object.root;
      v.isLvalue = object.isLvalue;
      return v;
    }
    if (n.methods.count(name)) {
      FunctionInfo &f = *n.methods.at(name);
      resolveSignature(f);
      std::vector<const Type *> params;
      Bindings b = bindingsOf(t);
      for (const ParamInfo &p : f.params)
        params.push_back(types.substitute(p.type, b));
      return hostValue(types.fn(std::move(params), types.substitute(f.result, b)));
    }
    for (size_t i = 0; i < n.staticParams.size(); ++i)
      if (n.staticName(i) == name && i < t->statics.size()) {
        const StaticValue &s = t->statics[i];
        if (s.kind == StaticValue::Int)
          return hostInt(s.dim);
        return hostValue(n.params[n.staticParams[i]].type);
      }
    std::vector<std::string> known;
    for (const FieldInfo &f : n.fields)
      known.push_back(f.name);
    for (auto &m : n.methods)
      known.push_back(m.first);
    return missing(known);
  }
  case Kind::Grad: {
    if (!t->element->is(Kind::Nominal))
      return missing({});
    NominalInfo &n = *t->element->nominal;
    resolveFields(n);
    std::vector<std::string> known;
    for (FieldInfo &f : n.fields) {
      if (f.kind == FieldKind::State)
        continue;
      known.push_back(f.name);
      if (f.name != name)
        continue;
      Value v = fieldValue(t->element, f, nullptr);
      if (v.type->is(Kind::Nominal))
        v.type = types.grad(v.type);
      else if (v.type->is(Kind::Array) && v.type->element->is(Kind::Nominal))
        v.type = types.array(types.grad(v.type->element), v.type->count);
      v.root = object.root;
      v.isLvalue = object.isLvalue;
      return v;
    }
    return missing(known);
  }
  case Kind::Loader:
    if (name == "epoch" || name == "position")
      return hostInt(dims.newSymbolDim({textOf(e), SymbolRole::HostInt, true, e->span}));
    return missing({"epoch", "position"});
  case Kind::Error_:
    if (name == "message" || name == "code" || name == "location")
      return hostValue(types.str());
    return missing({"message", "code", "location"});
  case Kind::TypeName:
    diags.report(Code::E0209, e->name.span, show(t) + " has no member `" + name + "`");
    return errorValue();
  default:
    return missing({});
  }
}

} // namespace mx::sema
