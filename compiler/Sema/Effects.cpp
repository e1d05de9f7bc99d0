// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Effect inference: side effects of functions (S6). Effects are inferred from bodies. A graph
// rejects effects that it does not support and reports the calls that cause them.
#include "Sema/Internals.h"
#include "Support/Bytes.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

/// In addition to the effects of builtins (Info.h): the function is recursive. Code that is
/// compiled as a whole does not support recursion.
static constexpr uint8_t kRecursion = 64;

uint8_t Sema::effectBit(std::string_view name) {
  static const std::map<std::string_view, uint8_t> bits = {{"rand", kRand},   {"file", kFile},
                                                           {"net", kNet},     {"wait", kWait},
                                                           {"print", kPrint}, {"extern", kExtern},
                                                           {"exchange", kExchange}};
  auto it = bits.find(name);
  return it == bits.end() ? 0 : it->second;
}

const char *Sema::effectName(uint8_t effect) {
  switch (effect) {
  case kRand:
    return "rand";
  case kFile:
    return "file";
  case kNet:
    return "net";
  case kWait:
    return "wait";
  case kPrint:
    return "print";
  case kRecursion:
    return "recursion";
  case kExchange:
    return "exchange";
  default:
    return "extern";
  }
}

void Sema::addEffect(uint8_t effect, Span span, const std::string &callee, const std::string &verb,
                     FunctionInfo *next) {
  EffectCause cause{span, callee, verb, next};
  bool forbidden = effect != kPrint && effect != kExchange;
  if (context->inGraph && forbidden) {
    forbidEffect(effect, span, callee, cause);
    return;
  }
  if (effect == kRecursion && context->grad)
    diags.report(Code::E0504, span, "`grad` cannot follow `" + callee + "`: it calls itself")
        .label(context->grad->keyword, "everything inside is differentiated as a whole")
        .help("write a loop, `while … limit 100 { … }`, or call it before `grad`");
  if (!context->function)
    topEffects |= effect;
  else if (!(context->function->effects & effect)) {
    context->function->effects |= effect;
    context->function->causes.emplace(effect, cause);
  }
}

/// A condition in host code waits for its tensor. A condition in a graph does not.
void Sema::noteWait(const Value &value) {
  if (value.host || context->inGraph)
    return;
  (context->function ? context->function->waits : topWaits) = true;
}

void Sema::addCallEffects(FunctionInfo &f, Span span, const std::string &spelled) {
  // A graph is a unit of its own. Its effects were checked at its definition.
  if (f.state == FunctionInfo::Declared || f.state == FunctionInfo::SignatureDone) {
    // Bodies are checked on use: the effects of a function are those of its body.
    size_t before = diags.errorCount();
    checkBody(f);
    (void)before;
  }
  // A call of a function whose body is being checked is recursive. With static arguments each call
  // may be of another instance, and the last instance need not call any, so this is allowed. A
  // gradient rule may call its function.
  bool isStatic = std::any_of(f.params.begin(), f.params.end(), [](auto &p) { return p.isStatic; });
  bool isOpen = std::find(openBodies.begin() + openBodiesOutside, openBodies.end(), &f) !=
                openBodies.end();
  if (isOpen && !isStatic && !(f.effects & kRecursion)) {
    f.effects |= kRecursion;
    f.causes.emplace(kRecursion, EffectCause{span, spelled, "", nullptr});
  }
  for (uint8_t bit = 1; bit; bit = static_cast<uint8_t>(bit << 1))
    if (f.effects & bit) {
      auto it = f.causes.find(bit);
      addEffect(bit, span, spelled, it == f.causes.end() ? "" : it->second.verb, &f);
    }
  if (f.waits && !f.isGraph())
    noteWait({});
  // A data operation without a gradient rule. Host functions (`print`, `len`) only observe values.
  bool computes = f.primitive && f.primitive->family != "host" && f.primitive->family != "data";
  const PrimitiveInfo *ruleless = f.withoutGradient ? f.withoutGradient
                                  : computes && f.primitive->gradient == Gradient::None
                                      ? f.primitive
                                      : nullptr;
  if (ruleless && context->grad) {
    Diagnostic &d =
        diags.report(Code::E0504, span, "`" + std::string(ruleless->name) + "` has no gradient");
    d.label(context->grad->keyword, "everything inside is differentiated");
    if (f.withoutGradient)
      d.note("`" + f.name + "` uses it at " + sources.location(f.withoutGradientSpan));
    d.help("call it before `grad`");
  } else if (ruleless && context->function && !context->function->withoutGradient) {
    context->function->withoutGradient = ruleless;
    context->function->withoutGradientSpan = span;
  }
  if (f.state == FunctionInfo::CheckingBody && context->function && context->function != &f)
    f.early.push_back({context->function, {span, spelled, "", &f}});
  if (FunctionInfo *caller = context->function; f.outerVariable && caller) {
    std::string name(f.outerVariable->name);
    if (caller->isGraph())
      diags
          .report(Code::E0404, span,
                  "`" + caller->name + "` is a `graph fn` and cannot see `" + name + "`")
          .label(f.outerVariable->span, "an outer variable")
          .caret("`" + f.name + "` uses it")
          .note("at " + sources.location(f.outerSpan))
          .help(f.outerVariable->bind == ast::BindKind::Const
                    ? "pass it to both as an argument"
                    : "pass it to both as an argument, or make it a `const`");
    else if (!caller->outerVariable) {
      caller->outerVariable = f.outerVariable;
      caller->outerSpan = f.outerSpan;
    }
  }
  noteRunSizesOf(f, span);
  if (f.unboundedWhile) {
    if (context->grad) {
      diags.report(Code::E0502, span, "`grad` needs a bound on a `while` loop in `" + f.name + "`")
          .label(context->grad->keyword, "the reverse pass stores one state per iteration")
          .label(f.unboundedSpan, "the number of iterations is not known when the loop starts")
          .help("add a bound there: `while … limit 100 {`");
    } else if (context->function && !context->function->unboundedWhile) {
      context->function->unboundedWhile = true;
      context->function->unboundedSpan = f.unboundedSpan;
    }
  }
}

void Sema::forbidEffect(uint8_t effect, Span span, const std::string &callee,
                        const EffectCause &cause) {
  std::string graph = context->function && context->function->isGraph()
                          ? "`" + context->function->name + "`"
                          : "this block";
  std::string graphName = context->function && context->function->isGraph()
                              ? "`" + context->function->name + "`"
                              : "the block";
  // The chain of calls down to the builtin that has the effect.
  std::string path = callee, last = callee, verb = cause.verb;
  Span deepest;
  int steps = 0;
  for (FunctionInfo *f = cause.next; f && steps < 8; ++steps) {
    auto it = f->causes.find(effect);
    if (it == f->causes.end() || f->primitive)
      break;
    path += " -> " + (last = it->second.callee);
    if (it->second.span.valid() && !isBuiltin(it->second.span))
      deepest = it->second.span;
    verb = it->second.verb;
    f = it->second.next;
  }
  if (effect == kRand) {
    Diagnostic &d =
        diags.report(Code::E0405, span,
                     graph + " is a graph, but it samples from the ambient random generator");
    d.label(context->graphSpan, "a graph's results follow from its arguments");
    d.caret("needs an `Rng`");
    if (steps)
      d.note("through: " + path + (deepest.valid() ? "   (" + sources.location(deepest) + ")" : ""));
    d.help("take one as a parameter, `mut rng: Rng`, and pass it: `" + callee + "(mut rng, …)`");
    return;
  }
  if (effect == kRecursion) {
    Diagnostic &d =
        diags.report(Code::E0406, span, graph + " is a graph, but `" + last + "` calls itself");
    d.label(context->graphSpan, "a graph is compiled as a whole, with every call inlined");
    if (deepest.valid())
      d.note("by calls of: " + path + "   (" + sources.location(deepest) + ")");
    d.help("write a loop, or drop `graph` from " + graphName);
    return;
  }
  if (verb.empty())
    verb = effect == kFile   ? "uses a file"
           : effect == kNet  ? "uses the network"
           : effect == kWait ? "waits"
                             : "calls C";
  Diagnostic &d = diags.report(Code::E0401, span, graph + " is a graph, but it " + verb);
  d.label(context->graphSpan, "a graph is compiled as a whole and may only compute");
  d.caret(std::string("has effect `") + effectName(effect) + "`");
  if (steps)
    d.note(std::string("effect `") + effectName(effect) + "` comes from: " + path +
           (deepest.valid() ? "   (" + sources.location(deepest) + ")" : ""));
  d.help("call it after " + graphName + ", or drop `graph` from " + graphName);
  d.note("`print` and `assert` are allowed in a graph and run on every call");
}

namespace {
/// Names of the variables that a block assigns, for "100 states of …".
void assignedNames(const Block *block, std::vector<const Name *> &out) {
  if (!block)
    return;
  for (const Stmt *s : block->stmts) {
    if (auto *a = as<Assign>(s)) {
      if (auto *name = as<Name>(a->target))
        out.push_back(name);
      if (auto *tuple = as<Tuple>(a->target))
        for (const Expr *e : tuple->elements)
          if (auto *name = as<Name>(e))
            out.push_back(name);
    } else if (auto *f = as<For>(s)) {
      assignedNames(f->body, out);
    } else if (auto *w = as<While>(s)) {
      assignedNames(w->body, out);
    } else if (auto *e = as<ExprStmt>(s)) {
      if (auto *branch = as<If>(e->expr)) {
        assignedNames(branch->thenBlock, out);
        assignedNames(branch->elseBlock, out);
      }
    }
  }
}
} // namespace

void Sema::noteUnboundedWhile(const While *loop) {
  if (!context->grad) {
    if (context->function && !context->function->unboundedWhile) {
      context->function->unboundedWhile = true;
      context->function->unboundedSpan = loop->keyword;
    }
    return;
  }
  Diagnostic &d =
      diags.report(Code::E0502, loop->keyword, "`grad` needs a bound on this `while` loop");
  d.label(context->grad->keyword, "the reverse pass stores one state per iteration");
  d.caret("the number of iterations is not known when the loop starts");
  d.help("add a bound: `while " + textOf(loop->condition) + " limit 100 {`");
  std::vector<const Name *> names;
  assignedNames(loop->body, names);
  std::vector<const Symbol *> seen;
  std::string states;
  double bytes = 0;
  bool known = true;
  for (const Name *n : names) {
    Symbol *s = n->symbol;
    bool carried = s && s->type && s->type->isTensor() && s->span.begin < loop->span.begin &&
                   types.isFloat(s->type->elem);
    if (!carried || std::find(seen.begin(), seen.end(), s) != seen.end())
      continue;
    seen.push_back(s);
    states += (states.empty() ? "" : " and ") + show(s->type);
    Dim count = elementCount(s->type->shape, dims);
    auto c = count ? count.constant() : std::nullopt;
    if (c && !s->type->elem.isVariable())
      bytes += static_cast<double>(*c) * elementInfo(s->type->elem.type()).bytes;
    else
      known = false;
  }
  std::string tail = states.empty() ? ""
                                    : "\n(100 states of " + states +
                                          (known ? " = " + formatBytes(100 * bytes) + " here)" : ")");
  d.note("the loop still stops as soon as the condition is false; the bound sizes the memory" +
         tail);
}

} // namespace mx::sema
