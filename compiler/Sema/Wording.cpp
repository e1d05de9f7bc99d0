// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Message fragments that many diagnostics share.
#include "Sema/Internals.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mx::sema {
using namespace ast;

std::string Sema::operandText(const Expr *e) const {
  bool loose = e->parens == 0 &&
               (e->kind == ExprKind::Binary || e->kind == ExprKind::Unary ||
                e->kind == ExprKind::Pipe || e->kind == ExprKind::Range || e->kind == ExprKind::If);
  std::string text = textOf(e->outerSpan);
  return loose ? "(" + text + ")" : text;
}

std::string Sema::example(const Answer &answer) const {
  std::string out;
  for (auto &[symbol, value] : answer.example)
    out += (out.empty() ? "" : ", ") + dims.symbolInfo(symbol).name + " = " + std::to_string(value);
  return out;
}

std::string Sema::mayDiffer(Dim a, Dim b, const Answer &answer) const {
  if (a.constant() && b.constant())
    return dims.print(a) + " is not " + dims.print(b);
  if (!(a == b) && dims.print(a) == dims.print(b))
    return dims.print(a) + " is read twice and may have changed: read it once, `let n = " +
           dims.print(a) + "`";
  std::string shown = example(answer);
  return dims.print(a) + " and " + dims.print(b) + " may differ" +
         (shown.empty() ? "" : ", e.g. " + shown);
}

/// "; both are parameters of `Mlp` and may differ"
std::string Sema::ownersNote(Dim a, Dim b) const {
  auto x = dims.asSymbol(a), y = dims.asSymbol(b);
  if (!x || !y)
    return "";
  if (*x != *y && dims.print(a) == dims.print(b) && dims.symbolInfo(*x).role == SymbolRole::HostInt)
    return "; it is read twice and may have changed: read it once, `let n = " + dims.print(a) + "`";
  auto ox = symbolOwner.find(*x), oy = symbolOwner.find(*y);
  if (ox == symbolOwner.end() || oy == symbolOwner.end())
    return "";
  if (ox->second == oy->second)
    return "; both are parameters of `" + ox->second + "` and may differ";
  return "; " + dims.print(a) + " is a parameter of `" + ox->second + "`, " + dims.print(b) +
         " of `" + oy->second + "`";
}

bool Sema::isBuiltin(Span span) const {
  return !span.valid() || sources.file(span).name() == "<primitives>";
}

std::string Sema::signatureText(const FunctionInfo &f) const {
  std::string text = "(";
  for (size_t i = 0; i < f.params.size(); ++i)
    text += (i ? ", " : "") + std::string(f.params[i].isMut ? "mut " : "") +
            (f.params[i].isStatic ? "static " : "") + f.params[i].name + ": " +
            show(f.params[i].type);
  text += ")";
  if (f.result && !f.result->is(Kind::Nothing))
    text += " -> " + show(f.result);
  return text;
}

std::string CheckedProgram::effectsText(uint8_t effects) {
  std::string text;
  for (uint8_t bit = 1; bit; bit = static_cast<uint8_t>(bit << 1))
    if (effects & bit)
      text += std::string(text.empty() ? "" : " ") + Sema::effectName(bit);
  return text.empty() ? "none" : text;
}

std::string Sema::declaredNote(const FunctionInfo &f, const std::string &tail) const {
  if (!f.syntax || isBuiltin(f.syntax->name.span))
    return "";
  return "`" + f.name + "` is declared at " + sources.locationLine(f.syntax->name.span) + tail;
}

/// The origin of an operand's type: a label on a field or annotated variable, a note for a
/// parameter.
void Sema::noteOperand(Diagnostic &d, Expr *e, const Value &v, bool mayLabel) {
  auto *name = as<Name>(e);
  Symbol *s = name ? name->symbol : nullptr;
  if (!s || !s->span.valid())
    return;
  std::string text(s->name);
  if (s->isParam && s->function) {
    d.note(text + ": " + show(v) + " is the parameter of `" + s->function->name + "` at " +
           sources.location(s->span));
  } else if (mayLabel && s->typeSpan.valid() && s->typeSpan.file == d.span.file) {
    d.label(s->typeSpan, "`" + text + "` declared here");
  } else {
    std::string reason = why(s);
    if (!reason.empty())
      d.note(text + ": " + show(v) + " " + reason);
  }
}

/// "because lenet.mx:12 pools f32[B, 16, 8, 8] by 2": `@says` in the library describes the effect
/// of a function on its arguments.
std::string Sema::why(const Symbol *symbol) const {
  auto *call = symbol ? as<Call>(symbol->initial) : nullptr;
  if (!call)
    return "";
  std::string location = sources.locationLine(call->span);
  const FunctionInfo *f = call->info ? call->info->function : nullptr;
  const String *says = nullptr;
  if (f && f->syntax)
    for (const Attribute &a : f->syntax->attributes)
      if (a.name.text == "says" && a.args.size() == 1)
        says = as<String>(a.args[0].value);
  if (!says)
    return "comes from " + location;
  std::string text(says->value);
  for (size_t i = 0; i < f->params.size(); ++i) {
    std::string key = "{" + f->params[i].name + "}";
    size_t at = text.find(key);
    if (at == std::string::npos)
      continue;
    const Expr *arg = i < call->info->arguments.size() ? call->info->arguments[i] : nullptr;
    std::string shown;
    if (arg && arg->checked)
      shown =
          arg->checked->type->isTensor() && !arg->checked->host ? show(*arg->checked) : textOf(arg);
    text.replace(at, key.size(), shown);
  }
  return "because " + location + " " + text;
}

} // namespace mx::sema
