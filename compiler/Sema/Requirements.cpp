// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `where` clauses: of functions, of models, and those that a type inherits from the types of its
// fields. At each use of a type or function, its requirements must follow from the known facts.
#include "Sema/Internals.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

namespace {
/// `left op right` as a condition on sizes; nullopt if `op` is not a comparison.
std::optional<DimCondition> comparison(Tok op, Dim left, Dim right, DimContext &dims, Span span) {
  Dim one = dims.constant(1);
  switch (op) {
  case Tok::EqualEqual:
    return DimCondition{Relation::Equal, left, right, span};
  case Tok::NotEqual:
    return DimCondition{Relation::NotEqual, left, right, span};
  case Tok::LessEqual:
    return DimCondition{Relation::LessEqual, left, right, span};
  case Tok::Less:
    return DimCondition{Relation::LessEqual, dims.add(left, one), right, span};
  case Tok::GreaterEqual:
    return DimCondition{Relation::LessEqual, right, left, span};
  case Tok::Greater:
    return DimCondition{Relation::LessEqual, dims.add(right, one), left, span};
  default:
    return std::nullopt;
  }
}
} // namespace

std::optional<DimCondition> Sema::conditionFromExpr(const Expr *e) {
  auto *b = as<Binary>(e);
  Dim zero = dims.constant(0);
  if (!b || !comparison(b->op, zero, zero, dims, e->span)) {
    diags.report(Code::E0305, e->outerSpan, "a `where` condition compares sizes")
        .help("for example `D % NH == 0` or `T <= L`; join several with `,`");
    return std::nullopt;
  }
  Dim left = dimFromExpr(b->left), right = dimFromExpr(b->right);
  if (!left || !right)
    return std::nullopt;
  return comparison(b->op, left, right, dims, e->span);
}

std::optional<DimCondition> Sema::quietCondition(const Expr *e) {
  auto *b = as<Binary>(e);
  if (!b || !b->left->checked || !b->right->checked)
    return std::nullopt;
  Dim left = b->left->checked->dim, right = b->right->checked->dim;
  if (!left || !right)
    return std::nullopt;
  return comparison(b->op, left, right, dims, e->span);
}

void Sema::collectRequirements(const List<Expr *> &where, const std::string &owner,
                               NominalInfo *nominal, const std::vector<TypeArg> &ownerArgs,
                               std::vector<Requirement> &out) {
  for (const Expr *e : where) {
    auto condition = conditionFromExpr(e);
    if (!condition)
      continue;
    Requirement r;
    r.condition = *condition;
    r.text = textOf(e);
    r.span = e->span;
    r.owner = owner;
    r.ownerNominal = nominal;
    r.ownerArgs = ownerArgs;
    out.push_back(std::move(r));
  }
}

Bindings Sema::bindingsOf(const Type *t) {
  Bindings b;
  if (!t->is(Kind::Nominal))
    return b;
  NominalInfo &n = *t->nominal;
  resolveHeader(n);
  for (size_t i = 0; i < n.generics.size() && i < t->args.size(); ++i) {
    const GenericParam &g = n.generics[i];
    switch (g.kind) {
    case GenericParam::Size:
      b.dims[g.dim] = t->args[i].dim;
      break;
    case GenericParam::Pack:
      b.packs[g.pack] = t->args[i].pack;
      break;
    case GenericParam::Element:
      b.elems[g.variable] = t->args[i].elem;
      break;
    case GenericParam::Model:
      b.types[g.variable] = t->args[i].type;
      break;
    }
  }
  for (size_t i = 0; i < n.staticParams.size() && i < t->statics.size(); ++i) {
    const StaticValue &own = n.params[n.staticParams[i]].value;
    if (own.kind == StaticValue::Int && t->statics[i].kind == StaticValue::Int) {
      if (auto id = dims.asSymbol(own.dim))
        b.dims[*id] = t->statics[i].dim;
    } else if (own.kind == StaticValue::Open) {
      b.statics[own.variable] = t->statics[i];
    }
  }
  return b;
}

Requirement Sema::substitute(const Requirement &r, const Bindings &b) {
  Requirement out = r;
  out.condition.left = dims.substitute(r.condition.left, b.dims);
  out.condition.right = dims.substitute(r.condition.right, b.dims);
  for (TypeArg &a : out.ownerArgs)
    a = types.substitute(a, b);
  return out;
}

/// The requirements of a type become requirements of the type that mentions it in a field or
/// header.
void Sema::inheritRequirements(const Type *type, std::vector<Requirement> &out,
                               const std::string &path, int depth) {
  if (!type || depth > 16)
    return;
  switch (type->kind) {
  case Kind::Array:
  case Kind::Grad:
    return inheritRequirements(type->element, out, path, depth + 1);
  case Kind::Tuple:
    for (const Type *p : type->parts)
      inheritRequirements(p, out, path, depth + 1);
    return;
  case Kind::Nominal:
    break;
  default:
    return;
  }
  NominalInfo &n = *type->nominal;
  resolveFields(n);
  Bindings b = bindingsOf(type);
  for (const TypeArg &a : type->args)
    if (a.kind == TypeArg::Model)
      inheritRequirements(a.type, out, path, depth + 1);
  for (const Requirement &r : n.all) {
    Requirement mine = substitute(r, b);
    if (!mine.condition.left || !mine.condition.right)
      continue;
    if (!path.empty())
      mine.path.insert(mine.path.begin(), path);
    bool known = std::any_of(out.begin(), out.end(), [&](const Requirement &o) {
      return o.condition.relation == mine.condition.relation &&
             o.condition.left == mine.condition.left && o.condition.right == mine.condition.right;
    });
    if (!known && out.size() < 64)
      out.push_back(std::move(mine));
  }
}

/// Values of one size that satisfy a condition while the others are fixed: "NH may be 1, 2, 4 or
/// 8".
std::string Sema::valuesThatWork(const Requirement &r, const Bindings &b) {
  std::vector<AtomId> symbols;
  dims.symbols(r.condition.left, symbols);
  dims.symbols(r.condition.right, symbols);
  std::map<AtomId, int64_t> values;
  int64_t largest = 1;
  for (AtomId s : symbols) {
    auto it = b.dims.find(s);
    auto n = it == b.dims.end() ? std::nullopt : it->second.constant();
    if (!n)
      return "";
    values[s] = *n;
    largest = std::max(largest, *n);
  }
  if (largest > 4096)
    return "";
  std::sort(symbols.begin(), symbols.end());
  for (size_t k = symbols.size(); k-- > 0;) {
    std::vector<int64_t> good;
    auto trial = values;
    for (int64_t v = 1; v <= largest && good.size() <= 8; ++v) {
      trial[symbols[k]] = v;
      auto left = dims.evaluate(r.condition.left, trial),
           right = dims.evaluate(r.condition.right, trial);
      if (!left || !right)
        continue;
      bool holds = r.condition.relation == Relation::Equal      ? *left == *right
                   : r.condition.relation == Relation::NotEqual ? *left != *right
                                                                : *left <= *right;
      if (holds)
        good.push_back(v);
    }
    // If larger values work as well, the condition is a lower bound.
    trial[symbols[k]] = 2 * largest;
    auto left = dims.evaluate(r.condition.left, trial),
         right = dims.evaluate(r.condition.right, trial);
    if (r.condition.relation == Relation::LessEqual && !good.empty() && left && right &&
        *left <= *right)
      return dims.symbolInfo(symbols[k]).name + " must be " + std::to_string(good.front()) +
             " or more";
    if (good.empty() || good.size() > 8)
      continue;
    std::string list;
    for (size_t i = 0; i < good.size(); ++i)
      list += (i == 0 ? "" : i + 1 == good.size() ? " or " : ", ") + std::to_string(good[i]);
    return dims.symbolInfo(symbols[k]).name + (good.size() == 1 ? " must be " : " may be ") + list;
  }
  return "";
}

/// Checks one requirement of a use at `span`, under the bindings `b`.
void Sema::demand(const Requirement &r, const Bindings &b, Span span, const std::string &user) {
  Requirement here = substitute(r, b);
  Answer answer = facts().ask(here.condition);
  if (answer.proved())
    return;
  if (answer.verdict == Verdict::Unknown) {
    addConditions({here.condition}, span);
    return;
  }
  // A requirement on a run-time value is checked at run time.
  std::vector<AtomId> involved;
  dims.symbols(here.condition.left, involved);
  dims.symbols(here.condition.right, involved);
  for (AtomId a : involved) {
    SymbolRole role = dims.symbolInfo(a).role;
    if (role == SymbolRole::HostInt || role == SymbolRole::LoopIndex || role == SymbolRole::Unknown)
      return;
  }
  std::string owner = "`" + r.owner + "`";
  if (r.ownerNominal) {
    std::vector<StaticValue> noStatics;
    owner = "`" + show(types.nominal(r.ownerNominal, here.ownerArgs, noStatics)) + "`";
  }
  std::string needs = r.text;
  // "64 % 6 is 4" where the numbers are known.
  std::string but;
  auto left = here.condition.left.constant(), right = here.condition.right.constant();
  if (involved.empty() && r.span.valid()) {
    std::map<std::string, std::string> numbers;
    std::vector<AtomId> own;
    // In the owner's names, the clause reads as it was written.
    dims.symbols(r.condition.left, own);
    dims.symbols(r.condition.right, own);
    std::string lhs = r.text.substr(0, r.text.find_first_of("=<>!"));
    while (!lhs.empty() && lhs.back() == ' ')
      lhs.pop_back();
    std::string shown;
    for (size_t i = 0; i < lhs.size();) {
      size_t j = i;
      while (j < lhs.size() && (std::isalnum(static_cast<unsigned char>(lhs[j])) || lhs[j] == '_'))
        ++j;
      if (j == i) {
        shown += lhs[i++];
        continue;
      }
      std::string word = lhs.substr(i, j - i);
      std::string value = word;
      if (r.ownerNominal)
        for (size_t g = 0; g < r.ownerNominal->generics.size() && g < here.ownerArgs.size(); ++g)
          if (r.ownerNominal->generics[g].name == word && here.ownerArgs[g].kind == TypeArg::Size)
            value = dims.print(here.ownerArgs[g].dim);
      if (!r.ownerNominal)
        for (auto &[symbol, dim] : b.dims)
          if (dims.symbolInfo(symbol).name == word)
            value = dims.print(dim);
      shown += value;
      i = j;
    }
    if (left && right && r.condition.relation == Relation::Equal)
      but = ", but " + shown + " is " + std::to_string(*left);
    else if (left && right && shown != lhs)
      but = ", but that does not hold for " + shown;
  }
  Diagnostic &d =
      diags.report(r.isBound ? Code::E0316 : Code::E0305, span, owner + " needs " + needs + but);
  // The bindings of the names at this use.
  std::vector<AtomId> outer;
  dims.symbols(r.condition.left, outer);
  dims.symbols(r.condition.right, outer);
  std::sort(outer.begin(), outer.end());
  std::string values;
  for (AtomId s : outer)
    if (auto it = b.dims.find(s); it != b.dims.end())
      values +=
          (values.empty() ? "" : ", ") + dims.symbolInfo(s).name + " = " + dims.print(it->second);
  if (!values.empty())
    d.caret(values);
  if (!involved.empty() && !answer.example.empty())
    d.note("it fails for example with " + example(answer));
  if (r.span.valid() && !isBuiltin(r.span) && !r.inferred) {
    std::string reached;
    for (size_t i = 0; i < r.path.size(); ++i)
      reached += (i ? " -> " : "") + r.path[i];
    d.note((r.isBound ? "required by `dyn " : "required by `where ") + r.text + "` of " + r.owner +
           " at " + sources.location(r.span) +
           (reached.empty() ? "" : "\nreached through " + reached));
  } else if (r.inferred && r.span.valid()) {
    d.note("needed at " + sources.location(r.span) + " in `" + r.owner + "`");
  }
  std::string work = involved.empty() ? valuesThatWork(r, b) : "";
  if (!work.empty())
    d.help(work);
  else if (!involved.empty() && context->function) {
    std::string clause = dims.print(here.condition.left) +
                         (here.condition.relation == Relation::LessEqual  ? " <= "
                          : here.condition.relation == Relation::NotEqual ? " != "
                                                                          : " == ") +
                         dims.print(here.condition.right);
    // In the caller's names, the clause reads as it should be typed.
    std::string text = r.text;
    bool renamed = false;
    for (auto &[symbol, dim] : b.dims) {
      std::string name = dims.symbolInfo(symbol).name;
      if (text.find(name) != std::string::npos && dims.print(dim) != name)
        renamed = true;
    }
    d.help("add `where " + (renamed ? clause : text) + "` to `" +
           (context->function->owner ? context->function->owner->name : context->function->name) +
           "`");
  }
  (void)user;
}

/// A type written in code: all its requirements must hold here.
void Sema::demandType(const Type *type, Span span) {
  if (!type->is(Kind::Nominal) || signature || inField)
    return;
  resolveFields(*type->nominal);
  Bindings b = bindingsOf(type);
  for (const Requirement &r : type->nominal->all)
    demand(r, b, span, type->nominal->name);
}

} // namespace mx::sema
