// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument matching: maps arguments to parameters, and checks which of them may be mutated (`mut`).
#include "Sema/Internals.h"
#include "Support/Suggest.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

/// A gradient, or several, of a model that is not known.
static bool isOfOpenModel(const Type *type) {
  if (type->is(Kind::Array))
    return isOfOpenModel(type->element);
  return type->is(Kind::Grad) && type->element->is(Kind::TypeVar);
}

bool Sema::matchArguments(const std::string &name, std::vector<ParamInfo> &params,
                          std::vector<Arg> &args, std::vector<int> &slots, Span calleeSpan,
                          Span argsSpan, Span declared, bool quiet) {
  slots.assign(params.size(), -1);
  auto isRng = [](const ParamInfo &p) {
    return p.type && p.type->is(Kind::Nominal) && p.type->nominal->name == "Rng";
  };
  // `normal(rng, [3])`: the argument is meant as the generator and lacks `mut`.
  auto namesRng = [&](const Expr *e) {
    auto *n = as<Name>(e);
    Symbol *s = n ? lookup(n->text) : nullptr;
    return s && s->kind == SymbolKind::Variable && s->type && s->type->is(Kind::Nominal) &&
           s->type->nominal->name == "Rng";
  };
  size_t cursor = 0;
  bool ok = true;
  for (size_t i = 0; i < args.size(); ++i) {
    Arg &a = args[i];
    size_t target = params.size();
    if (!a.name.empty()) {
      for (size_t p = 0; p < params.size(); ++p)
        if (params[p].name == a.name)
          target = p;
      if (target == params.size()) {
        if (!quiet) {
          std::vector<std::string> known;
          for (const ParamInfo &p : params)
            known.push_back(p.name);
          Diagnostic &d =
              diags.report(Code::E0207, a.nameSpan,
                           "`" + name + "` has no parameter `" + std::string(a.name) + "`");
          std::string near = nearest(a.name, known);
          if (!near.empty())
            d.caret("did you mean `" + near + "`?");
          else if (!known.empty()) {
            std::string list;
            for (const std::string &k : known)
              list += (list.empty() ? "" : ", ") + k;
            d.note("its parameters are " + list);
          }
        }
        ok = false;
        continue;
      }
    } else {
      // A generator may be omitted. The ambient one is used then.
      while (cursor < params.size() && params[cursor].isMut && params[cursor].fromContext &&
             isRng(params[cursor]) && !a.isMut && !namesRng(a.expr))
        ++cursor;
      target = cursor++;
      if (target >= params.size()) {
        if (!quiet) {
          Diagnostic &d = diags.report(
              Code::E0207, a.span,
              "`" + name + "` takes " + (params.empty() ? "no" : std::to_string(params.size())) +
                  (params.size() == 1 ? " argument, " : " arguments, ") +
                  std::to_string(args.size()) + (args.size() == 1 ? " is given" : " are given"));
          d.caret("one too many");
          if (declared.valid() && !isBuiltin(declared))
            d.note("`" + name + "` is declared at " + sources.locationLine(declared));
        }
        return false;
      }
    }
    if (slots[target] >= 0) {
      if (!quiet)
        diags.report(Code::E0207, a.span, "`" + params[target].name + "` is given twice")
            .label(args[static_cast<size_t>(slots[target])].span, "first here");
      ok = false;
      continue;
    }
    slots[target] = static_cast<int>(i);
  }
  for (size_t p = 0; p < params.size() && ok; ++p)
    if (slots[p] < 0 && !params[p].optional) {
      if (!quiet) {
        Diagnostic &d =
            diags.report(Code::E0207, argsSpan, "`" + name + "` needs `" + params[p].name + "`");
        d.caret("`" + params[p].name + ": " + show(params[p].type) + "` is missing");
        if (declared.valid() && !isBuiltin(declared))
          d.note("`" + name + "` is declared at " + sources.locationLine(declared));
        if (isOfOpenModel(params[p].type))
          d.note("without a model an optimizer is a rule, a name and numbers; `" + params[p].name +
                 "` holds gradients of its model")
              .help("give it one: `" + name + "[Net](…)`, and call its `step` yourself");
      }
      ok = false;
    }
  (void)calleeSpan;
  return ok;
}

std::string Sema::pathOf(const Expr *e) const {
  if (auto *n = as<Name>(e))
    return std::string(n->text);
  if (auto *m = as<Member>(e)) {
    std::string base = pathOf(m->object);
    return base.empty() ? "" : base + "." + std::string(m->name.text);
  }
  return "";
}

bool Sema::checkMutArgument(const ParamInfo &param, Arg &arg, const std::string &callee,
                            Span declared) {
  if (param.isMut && !arg.isMut) {
    Diagnostic &d = diags.report(Code::E0203, arg.span,
                                 "`" + callee + "` changes its argument `" + param.name +
                                     "`; say so with `mut`");
    d.caret("write `mut " + textOf(arg.expr) + "`");
    if (declared.valid() && !isBuiltin(declared))
      d.note("`" + callee + "` is declared at " + sources.locationLine(declared) + " with `" +
             textOf(param.span) + "`");
    return false;
  }
  if (!param.isMut && arg.isMut) {
    diags
        .report(Code::E0210, arg.span,
                "`" + callee + "` does not change its argument `" + param.name + "`")
        .caret("leave out `mut`");
    return false;
  }
  if (!arg.isMut)
    return true;
  const Value *v = arg.value;
  if (v && !v->isLvalue && !v->type->isError()) {
    Symbol *root = v->root;
    Diagnostic &d = diags.report(Code::E0204, arg.expr->outerSpan,
                                 root ? "`" + std::string(root->name) + "` cannot change"
                                      : "`mut` needs a variable");
    if (root && root->kind == SymbolKind::Field)
      d.caret("only a `mut fn` may change the fields of its model");
    else if (root && root->isParam)
      d.label(root->span, "a parameter")
          .help("write `mut " + std::string(root->name) + "` in the parameter list");
    else if (root)
      d.label(root->span, root->bind == BindKind::Const ? "bound with `const`" : "bound with `let`")
          .help("make it a `var`: `var " + std::string(root->name) + " = …`");
    else
      d.help("give it a name: `var x = …`, then pass `mut x`");
    return false;
  }
  return true;
}

/// The same variable, or a variable and a part of it, may not be passed as `mut` twice.
void Sema::checkOverlap(const std::vector<ParamInfo> &params, const std::vector<Arg> &args,
                        const std::vector<int> &slots) {
  std::vector<std::pair<std::string, Span>> seen;
  for (size_t p = 0; p < params.size(); ++p) {
    if (slots[p] < 0 || !args[static_cast<size_t>(slots[p])].isMut)
      continue;
    const Arg &a = args[static_cast<size_t>(slots[p])];
    std::string path = pathOf(a.expr);
    if (path.empty())
      continue;
    for (auto &[other, span] : seen) {
      bool overlap =
          path == other || path.rfind(other + ".", 0) == 0 || other.rfind(path + ".", 0) == 0;
      if (overlap)
        diags
            .report(Code::E0211, a.span,
                    path == other ? "`" + path + "` is passed as `mut` twice"
                                  : "`" + path + "` and `" + other + "` overlap")
            .label(span, "first here")
            .caret("each change needs a variable of its own");
    }
    seen.push_back({path, a.span});
  }
}

} // namespace mx::sema
