// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resolution of written sizes and static arguments. An undefined name becomes a size parameter
// where a signature is resolved, and is bound by `let i: i32[K] = …`. Elsewhere it is an error.
#include "Sema/Internals.h"
#include "Support/Suggest.h"

namespace mx::sema {
using namespace ast;

Shape Sema::shapeFromDims(const List<ast::TypeDim> &list) {
  Shape shape;
  bool sawPack = false;
  for (const ast::TypeDim &d : list) {
    switch (d.kind) {
    case ast::TypeDim::Pack: {
      Symbol *symbol = lookup(d.name.text);
      if (symbol && symbol->kind != SymbolKind::PackParam)
        symbol = nullptr;
      if (!symbol && signature) {
        symbol = newSymbol(SymbolKind::PackParam, d.name.text, d.name.span);
        symbol->pack = types.newPack(std::string(d.name.text));
        signature->generics.packs.push_back(symbol->pack);
        signature->paramScope->names[d.name.text] = symbol;
      }
      if (!symbol) {
        diags.report(Code::E0801, d.span, "`..." + std::string(d.name.text) + "` is not defined");
        break;
      }
      if (sawPack)
        diags.report(Code::E0224, d.span, "a type has one `...` at most");
      else
        shape.push_back({{}, symbol->pack});
      sawPack = true;
      break;
    }
    case ast::TypeDim::Unknown:
      shape.push_back(axisOf(dims.newSymbolDim({"?", SymbolRole::Unknown, true, d.span})));
      break;
    case ast::TypeDim::Dyn: {
      if (!signature || !signature->isGraph())
        diags.report(Code::E0316, d.span, "`dyn` belongs in a parameter of a `graph fn`")
            .note("elsewhere every size may change from call to call: write `" +
                  std::string(d.name.text) + "`");
      Symbol *symbol = lookup(d.name.text);
      if (!symbol || symbol->kind != SymbolKind::DimParam)
        symbol = newSizeName(d.name.text, d.name.span, SymbolRole::Generic);
      if (d.bound && signature)
        if (Dim bound = dimFromExpr(d.bound)) {
          DimCondition c{Relation::LessEqual, symbol->dim, bound, d.span};
          dynBounds[signature].push_back(c);
          Requirement r;
          r.condition = c;
          r.text = std::string(d.name.text) + " <= " + textOf(d.bound);
          r.span = d.span;
          r.owner = signature->name;
          r.isBound = true;
          signature->requirements.push_back(std::move(r));
        }
      shape.push_back(axisOf(symbol->dim));
      break;
    }
    case ast::TypeDim::Size: {
      Dim size = dimFromExpr(d.size);
      if (!size)
        size = dims.newSymbolDim({"?", SymbolRole::Unknown, true, d.span});
      shape.push_back(axisOf(size));
      break;
    }
    }
  }
  if (shape.size() > static_cast<size_t>(limits::kMaxRank)) {
    diags.report(Code::E0314, list[0].span.to(list.back().span),
                 "a tensor has at most 16 dimensions");
    shape.resize(limits::kMaxRank);
  }
  return shape;
}

Symbol *Sema::newSizeName(std::string_view name, Span span, SymbolRole role) {
  AtomId id = dims.newSymbol({std::string(name), role, true, span});
  Symbol *symbol = newSymbol(SymbolKind::DimParam, name, span);
  symbol->dim = dims.symbol(id);
  if (signature) {
    symbolOwner[id] = signature->name;
    signature->generics.dims.push_back(id);
    signature->sizeNames.push_back(symbol);
    signature->sizeUses[symbol] = 1;
    signature->paramScope->names[name] = symbol;
  } else {
    context->scope->names[name] = symbol;
  }
  return symbol;
}

/// Resolves a size in a type. Null (after a report) if the expression is not a size.
Dim Sema::dimFromExpr(const Expr *e) {
  if (!e)
    return {};
  auto tooLarge = [&](Dim d) {
    if (!d)
      diags.report(Code::E0310, e->span, "this size is too large or too complex")
          .note("sizes are 64-bit integers, sums of at most " +
                std::to_string(limits::kMaxDimTerms) + " terms");
    return d;
  };
  switch (e->kind) {
  case ast::ExprKind::Number: {
    auto *n = ast::as<ast::Number>(e);
    if (n->isFloat) {
      diags.report(Code::E0202, e->span, "a size is a whole number");
      return {};
    }
    return dims.constant(n->intValue);
  }
  case ast::ExprKind::Name: {
    auto *name = ast::as<ast::Name>(e);
    bool binds = (signature && sizesMayBind) || (bindingSizes && !signature);
    SymbolRole role = signature ? SymbolRole::Generic : SymbolRole::HostInt;
    if (name->text == "_" && !binds)
      return dims.newSymbolDim({"_", SymbolRole::HostInt, true, e->span});
    if (name->text == "_") { // any size: each has a name of its own
      std::string free;
      for (int n = 1; free.empty() || lookup(free); ++n)
        free = "_" + std::to_string(n);
      Symbol *symbol = newSizeName(arena.copy(free), e->span, role);
      symbol->used = true;
      return symbol->dim;
    }
    Symbol *symbol = lookup(name->text);
    if (symbol && symbol->kind == SymbolKind::DimParam) {
      if (signature) {
        if (auto it = signature->sizeUses.find(symbol); it != signature->sizeUses.end())
          ++it->second;
        else
          symbol->used = true;
      } else {
        symbol->used = true;
      }
      return symbol->dim;
    }
    if (symbol && symbol->kind == SymbolKind::Variable && symbol->value.dim &&
        symbol->bind != ast::BindKind::Var) {
      symbol->used = true;
      return symbol->value.dim;
    }
    // A size parameter may not shadow a parameter or an outer name: that would be confusing.
    if (symbol && symbol->kind == SymbolKind::Variable && !symbol->type->isError() &&
        (!sizesMayBind || !symbol->isModuleLevel || symbol->isParam)) {
      Diagnostic &d =
          diags.report(Code::E0315, e->span, "`" + std::string(name->text) + "` cannot be a size");
      if (symbol->isParam && symbol->type->isScalar())
        d.caret("its value is not known when types are checked")
            .help("write `static " + std::string(name->text) + ": i64`");
      else if (symbol->bind == ast::BindKind::Var)
        d.caret("it is a `var` and may change").help("make it a `let`");
      else
        d.caret("it is " + show(symbol->type));
      return {};
    }
    if (symbol && symbol->type && symbol->type->isError())
      return {};
    if (binds)
      return newSizeName(name->text, e->span, role)->dim;
    if (symbol) {
      diags.report(Code::E0217, e->span, "`" + std::string(name->text) + "` is not a size");
      return {};
    }
    Diagnostic &d = diags.report(Code::E0801, e->span,
                                 "the size `" + std::string(name->text) + "` is not defined");
    std::vector<std::string> known;
    for (Scope *s = context->scope; s; s = s->parent)
      for (auto &entry : s->names)
        if (entry.second->kind == SymbolKind::DimParam)
          known.push_back(std::string(entry.first));
    std::string near = nearest(name->text, known);
    if (!near.empty())
      d.caret("did you mean `" + near + "`?");
    else if (signature)
      d.caret("no parameter has this size")
          .note("a size is bound by its first use in a parameter's type");
    return {};
  }
  case ast::ExprKind::Unary: {
    auto *u = ast::as<ast::Unary>(e);
    Dim inner = u->op == ast::UnaryOp::Negate ? dimFromExpr(u->operand) : Dim();
    return inner ? tooLarge(dims.negate(inner)) : Dim();
  }
  case ast::ExprKind::Binary: {
    auto *b = ast::as<ast::Binary>(e);
    Dim left = dimFromExpr(b->left), right = dimFromExpr(b->right);
    if (!left || !right)
      return {};
    switch (b->op) {
    case Tok::Plus:
      return tooLarge(dims.add(left, right));
    case Tok::Minus:
      return tooLarge(dims.sub(left, right));
    case Tok::Star:
      return tooLarge(dims.mul(left, right));
    case Tok::SlashSlash:
    case Tok::Percent:
      if (right.isConstant(0)) {
        diags.report(Code::E0310, b->right->span, "a size is divided by zero");
        return {};
      }
      return tooLarge(b->op == Tok::Percent ? dims.mod(left, right) : dims.floorDiv(left, right));
    default:
      diags.report(Code::E0206, b->opSpan,
                   "sizes are added, subtracted, multiplied and divided with `//` and `%`");
      return {};
    }
  }
  default: {
    // `S.n`, `x.shape[0]`, `len(x)`: any host integer is accepted. A type here is a common mistake.
    if (e->kind == ast::ExprKind::Index || e->kind == ast::ExprKind::Tuple)
      if (const Type *type = typeFromExpr(e, /*quiet=*/true)) {
        diags.report(Code::E0224, e->span, "a size is expected, " + show(type) + " is a type");
        return {};
      }
    const Value *v = check(const_cast<Expr *>(e));
    if (v->type->isError())
      return {};
    if (!v->dim)
      diags.report(Code::E0315, e->span, "this cannot be a size: it is " + show(*v));
    return v->dim;
  }
  }
}

std::optional<StaticValue> Sema::staticFromExpr(Expr *e, const Type *want) {
  const Value *v = check(e, want);
  StaticValue s;
  if (v->type->isError())
    return std::nullopt;
  if (want && !want->isError() && !fits(*v, want)) {
    require(*v, want, e->outerSpan, "this argument");
    return std::nullopt;
  }
  if (v->dim && want && want->isScalar() && types.isInt(want->elem)) {
    s.kind = StaticValue::Int;
    s.dim = v->dim;
  } else if (v->constant == Value::BoolConstant) {
    s.kind = StaticValue::Bool;
    s.flag = v->flag;
  } else if (v->constant == Value::FloatConstant) {
    s.kind = StaticValue::Float;
    s.number = v->number;
  } else if (v->literal != Value::NotLiteral && v->dim && v->dim.constant()) {
    s.kind = StaticValue::Float;
    s.number = static_cast<double>(*v->dim.constant());
  } else if (v->constant == Value::StringConstant) {
    s.kind = StaticValue::Str;
    s.text = std::string(v->text);
  } else if (v->type->is(Kind::Dtype)) {
    s.kind = StaticValue::Elem;
    s.elem = v->type->elem;
  } else if (auto *name = ast::as<ast::Name>(e); name && name->symbol && name->symbol->isStatic) {
    // A forwarded static parameter: its value is not known here, but it is static.
    s.kind = StaticValue::Open;
    s.variable = 0;
  } else {
    diags.report(Code::E0216, e->outerSpan, "this value is not known at compile time")
        .caret("a `static` argument is a literal, a size, a `const` or another `static`");
    return std::nullopt;
  }
  return s;
}

} // namespace mx::sema
