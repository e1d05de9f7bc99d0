// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the inner value of a graph that `fetch` requests (S20): the binding of a `let`, the result
// of a call of a part of a model (`net.fc1`), or the result of the statement on a line. The value
// may be inside of a `grad` block and inside of callees at any depth.
#include "Sema/Internals.h"
#include "Syntax/Children.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

namespace {

/// Maximum depth of calls that are searched, and maximum number of names that are listed.
constexpr size_t kDeep = 32, kListed = 12;

using Path = std::vector<std::string>;

/// The parts of `net.blocks[3].att`; empty if the expression is not such a path.
Path partsOf(const Expr *e) {
  if (auto *name = as<Name>(e))
    return {std::string(name->text)};
  if (auto *member = as<Member>(e)) {
    Path path = partsOf(member->object);
    if (!path.empty())
      path.emplace_back(member->name.text);
    return path;
  }
  auto *index = as<Index>(e);
  auto *number = index && index->args.size() == 1 ? as<Number>(index->args[0].value) : nullptr;
  if (!number || number->isFloat)
    return {};
  Path path = partsOf(index->object);
  if (!path.empty())
    path.push_back(std::to_string(number->intValue));
  return path;
}

std::string joined(const Path &path) {
  std::string text;
  for (const std::string &part : path)
    text += (text.empty() ? "" : ".") + part;
  return text;
}

bool isPrefix(const Path &begin, const Path &path) {
  return begin.size() <= path.size() && std::equal(begin.begin(), begin.end(), path.begin());
}

/// `net.fc1` of `net.fc1(x)` and of `x |> net.fc1`, `net.encode` of `net.encode(x)`; empty if the
/// callee is not a method of a model.
Path pathOfCall(const CallInfo &info) {
  if (!info.function || !info.function->owner)
    return {};
  Path path;
  if (info.receiver && (path = partsOf(info.receiver)).empty())
    return {};
  if (std::string_view name = info.function->syntax->name.text; name != "call")
    path.emplace_back(name);
  return path;
}

/// The span of the callee as it is written.
Span calleeOf(const Expr *e) {
  auto *call = as<Call>(e);
  return call ? call->callee->span : as<Pipe>(e)->right->span;
}

/// Calls `stmt` and `expr` for all statements and expressions of a body, with a flag that says
/// whether they are inside of a loop or comprehension.
struct Walk {
  std::function<void(const Stmt *, bool)> stmt;
  std::function<void(const Expr *, bool)> expr;

  void block(const Block *block, bool inLoop) const {
    for (const Stmt *s : block->stmts) {
      stmt(s, inLoop);
      bool inside = inLoop || s->kind == StmtKind::For || s->kind == StmtKind::While;
      children(
          s, [&](const Expr *e) { visit(e, inside); },
          [&](const Block *b) { this->block(b, inside); });
    }
  }
  void visit(const Expr *e, bool inLoop) const {
    expr(e, inLoop);
    bool inside = inLoop || e->kind == ExprKind::Comprehension;
    children(
        e, [&](const Expr *x) { visit(x, inside); }, [&](const Block *b) { block(b, inside); });
  }
};

void namesOf(const Pattern *pattern, std::vector<const Pattern *> &out) {
  for (const Pattern *part : pattern->parts)
    namesOf(part, out);
  if (pattern->symbol && pattern->symbol->type)
    out.push_back(pattern);
}

} // namespace

std::optional<Sema::Wanted> Sema::wantedIn(Expr *written) const {
  Wanted wanted;
  wanted.span = written->outerSpan;
  wanted.path = partsOf(written);
  if (auto *number = as<Number>(written); number && !number->isFloat && number->intValue > 0)
    wanted.line = static_cast<uint32_t>(std::min<int64_t>(number->intValue, UINT32_MAX));
  if (wanted.path.empty() && !wanted.line)
    return std::nullopt;
  wanted.text = wanted.line ? "line " + std::to_string(wanted.line) : joined(wanted.path);
  return wanted;
}

std::string Sema::keyOf(const Wanted &wanted) const {
  return wanted.line ? std::to_string(wanted.line) : joined(wanted.path);
}

/// All matching locations in the body and in its callees. `outer` are the functions that are being
/// searched; a recursive function would never end.
std::vector<Sema::Inner> Sema::findInner(FunctionInfo &f, const Wanted &wanted,
                                         std::vector<FunctionInfo *> outer) {
  std::vector<Inner> found;
  if (!f.syntax || !f.syntax->body || outer.size() > kDeep ||
      std::find(outer.begin(), outer.end(), &f) != outer.end())
    return found;
  outer.push_back(&f);
  checkBody(f);
  uint32_t file = f.syntax->body->span.file;
  auto lineOf = [&](Span span) { return sources.file(file).lineNumber(span.begin); };
  auto ask = [&](const Expr *call, const CallInfo &info, Wanted rest, bool inLoop) {
    if (!findInner(*info.function, rest, outer).empty())
      found.push_back({nullptr, call, &info, std::move(rest), inLoop, calleeOf(call)});
    return !found.empty() && found.back().expr == call;
  };
  auto within = [&](const Path &begin, Path front) {
    Wanted rest = wanted;
    front.insert(front.end(), wanted.path.begin() + static_cast<ptrdiff_t>(begin.size()),
                 wanted.path.end());
    rest.path = std::move(front);
    return rest;
  };
  Walk walk;
  walk.stmt = [&](const Stmt *stmt, bool inLoop) {
    auto *let = as<Let>(stmt);
    std::vector<const Pattern *> names;
    if (let && let->bind == BindKind::Let)
      namesOf(let->pattern, names);
    for (const Pattern *name : names)
      if (wanted.path.size() == 1 && name->name.text == wanted.path[0])
        found.push_back({name->symbol, nullptr, nullptr, {}, inLoop, name->name.span});
    if (!wanted.line || stmt->span.file != file || lineOf(stmt->span) != wanted.line)
      return;
    if (names.size() == 1)
      return found.push_back({names[0]->symbol, nullptr, nullptr, {}, inLoop, stmt->span});
    const Expr *value = nullptr;
    if (auto *alone = as<ExprStmt>(stmt))
      value = alone->expr;
    else if (auto *returned = as<Return>(stmt))
      value = returned->value;
    else if (auto *assign = as<Assign>(stmt); assign && assign->op == Tok::Equal)
      value = assign->value;
    if (value)
      found.push_back({nullptr, value, nullptr, {}, inLoop, stmt->span});
  };
  walk.expr = [&](const Expr *e, bool inLoop) {
    const CallInfo *info = callOf(e);
    if (!info || info->target != CallInfo::Function || !info->function || !info->function->syntax ||
        !info->function->syntax->body)
      return;
    FunctionInfo &callee = *info->function;
    if (wanted.line) { // of the same file
      if (callee.syntax->body->span.file == file)
        ask(e, *info, wanted, inLoop);
      return;
    }
    Path path = pathOfCall(*info);
    if (path == wanted.path)
      return found.push_back({nullptr, e, nullptr, {}, inLoop, calleeOf(e)});
    // In the callee, names refer to its own model, or to the parameters that received the values.
    bool isOwn = callee.owner && !info->receiver;
    if (!path.empty() && isPrefix(path, wanted.path) && ask(e, *info, within(path, {}), inLoop))
      return;
    if (isOwn && ask(e, *info, wanted, inLoop))
      return;
    for (size_t i = 0; i < callee.params.size() && i < info->arguments.size(); ++i) {
      const Type *type = callee.params[i].type;
      Path given = partsOf(info->arguments[i]);
      bool isModel = type->is(Kind::Nominal) || type->is(Kind::TypeVar);
      if (isModel && !given.empty() && isPrefix(given, wanted.path) &&
          ask(e, *info, within(given, {callee.params[i].name}), inLoop))
        return;
    }
  };
  walk.block(f.syntax->body, false);
  // Of several `let`s of one name the last one counts, as for the code after it.
  auto last = std::find_if(found.rbegin(), found.rend(), [](const Inner &i) { return i.let; });
  return last == found.rend() ? found : std::vector{*last};
}

/// The names that can be requested: of `let`s, then of calls.
std::string Sema::innerNames(FunctionInfo &f) {
  std::vector<std::string> lets, calls;
  Walk walk;
  walk.stmt = [&](const Stmt *stmt, bool) {
    std::vector<const Pattern *> names;
    if (auto *let = as<Let>(stmt); let && let->bind == BindKind::Let)
      namesOf(let->pattern, names);
    for (const Pattern *name : names)
      lets.emplace_back(name->name.text);
  };
  walk.expr = [&](const Expr *e, bool) {
    const CallInfo *info = callOf(e);
    Path path = info && info->target == CallInfo::Function ? pathOfCall(*info) : Path();
    if (path.empty())
      return;
    calls.push_back(joined(path));
    Walk inner;
    inner.stmt = [](const Stmt *, bool) {};
    inner.expr = [&](const Expr *x, bool) {
      const CallInfo *called = callOf(x);
      Path rest = called && called->target == CallInfo::Function ? pathOfCall(*called) : Path();
      if (!rest.empty())
        calls.push_back(joined(path) + "." + joined(rest));
    };
    if (info->function->syntax->body)
      inner.block(info->function->syntax->body, false);
  };
  walk.block(f.syntax->body, false);
  lets.insert(lets.end(), calls.begin(), calls.end());
  std::string text;
  for (size_t i = 0; i < lets.size() && i < kListed; ++i)
    if (std::find(lets.begin(), lets.begin() + static_cast<ptrdiff_t>(i), lets[i]) ==
        lets.begin() + static_cast<ptrdiff_t>(i))
      text += (text.empty() ? "" : ", ") + lets[i];
  return lets.size() > kListed ? text + ", …" : text;
}

/// The unique matching location; reports an error if there is none, or several.
std::optional<Sema::Inner> Sema::innerValue(FunctionInfo &f, const Wanted &wanted) {
  const std::string &text = wanted.text;
  std::string name = "`" + (f.owner ? f.owner->name + "." : "") + f.name + "`";
  std::vector<Inner> found = findInner(f, wanted);
  auto report = [&](const std::string &what) -> Diagnostic & {
    return diags.report(Code::E0701, wanted.span, what);
  };
  if (found.empty()) {
    Diagnostic &d = report(wanted.line ? name + " has no statement with a value in " + text
                                       : name + " has no inner tensor `" + text + "`");
    d.label(f.syntax->name.span, "what a `let` of its body binds can be watched, what a part of a "
                                 "model gives, and lines");
    std::string known = innerNames(f);
    d.note(known.empty() ? "it has none" : "it has " + known);
    return std::nullopt;
  }
  if (found.size() > 1) {
    Diagnostic &d = report(name + " has " + std::to_string(found.size()) + " of `" + text + "`");
    for (size_t i = 0; i < 2; ++i)
      d.label(found[i].span, i ? "and here" : "it is here");
    d.help("bind the one you want: `let h = …`, then fetch `h`");
    return std::nullopt;
  }
  const Inner &one = found[0];
  if (one.isInLoop) {
    report("`" + text + "` is in a loop of " + name + ", which has one for each iteration")
        .label(one.span, "it is here")
        .help("keep what you want in a variable, and fetch that after the loop");
    return std::nullopt;
  }
  if (one.info)
    return one;
  const Type *type = one.let             ? one.let->type
                     : one.expr->checked ? one.expr->checked->type
                                         : nullptr;
  bool isHost = one.let ? one.let->value.host : one.expr->checked && one.expr->checked->host;
  if (type && type->isTensor() && !isHost)
    return one;
  if (type && !type->isError()) {
    Diagnostic &d = report(wanted.line ? text + " of " + name + " gives no tensor"
                                       : name + " has no inner tensor `" + text + "`");
    d.label(f.syntax->name.span, "what a `let` of its body binds can be watched, what a part of a "
                                 "model gives, and lines");
    d.note("`" + text + "` is " + show(type) + (isHost ? " of the host" : ""));
  }
  return std::nullopt;
}

} // namespace mx::sema
