// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutation analysis (S4). Whether a `mut fn` mutates its receiver is decided after static arguments
// are folded: BatchNorm with train=false has no write left, so an immutable receiver is accepted.
#include "Sema/Internals.h"
#include "Syntax/Children.h"
#include <algorithm>

namespace mx::sema {
using namespace ast;

std::optional<bool> Sema::staticBool(const Expr *e, const std::map<std::string, bool> &statics) {
  if (auto *b = as<Bool>(e))
    return b->value;
  if (auto *n = as<Name>(e)) {
    auto it = statics.find(std::string(n->text));
    if (it != statics.end())
      return it->second;
  }
  if (auto *u = as<Unary>(e); u && u->op == UnaryOp::Not) {
    auto inner = staticBool(u->operand, statics);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (auto *b = as<Binary>(e); b && (b->op == Tok::KwAnd || b->op == Tok::KwOr)) {
    auto x = staticBool(b->left, statics), y = staticBool(b->right, statics);
    bool stop = b->op == Tok::KwOr;
    if ((x && *x == stop) || (y && *y == stop))
      return stop;
    if (x && y)
      return !stop;
  }
  return std::nullopt;
}

bool Sema::changesReceiver(FunctionInfo &f, const std::map<std::string, bool> &statics, int depth) {
  if (!f.isMutMethod())
    return false;
  if (!f.syntax->body || depth > limits::kMaxTypeDepth)
    return true;
  // A query visits each function once. A write anywhere decides the query, so a second visit adds
  // nothing.
  decltype(mutationSeen) outer;
  if (depth == 0)
    outer.swap(mutationSeen);
  bool changes = false;
  if (mutationSeen.insert({&f, statics}).second) {
    checkBody(f); // resolves the names of the tree
    changes = blockChanges(f.syntax->body, f, statics, depth);
  }
  if (depth == 0)
    outer.swap(mutationSeen);
  return changes;
}

/// The root name of an lvalue: `w` of `w.rows[i]`; null if there is none.
static const Name *rootName(const Expr *lvalue) {
  while (as<Member>(lvalue) || as<Index>(lvalue))
    lvalue = as<Member>(lvalue) ? as<Member>(lvalue)->object : as<Index>(lvalue)->object;
  return as<Name>(lvalue);
}
/// Whether an lvalue, or one element of a tuple of lvalues, is a field of the receiver.
static bool isField(const Expr *lvalue) {
  if (auto *tuple = as<Tuple>(lvalue))
    return std::any_of(tuple->elements.begin(), tuple->elements.end(), isField);
  const Name *name = rootName(lvalue);
  return name && name->symbol && name->symbol->kind == SymbolKind::Field;
}

bool Sema::blockChanges(const Block *block, FunctionInfo &f,
                        const std::map<std::string, bool> &statics, int depth) {
  bool found = false;
  auto inExpr = [&](const Expr *e) { found = found || exprChanges(e, f, statics, depth); };
  auto inBlock = [&](const Block *b) { found = found || blockChanges(b, f, statics, depth); };
  if (!block)
    return false;
  for (const Stmt *stmt : block->stmts) {
    auto *assign = as<Assign>(stmt);
    auto *loop = as<For>(stmt);
    found = found || (assign && isField(assign->target)) || (loop && loop->isMut);
    children(stmt, inExpr, inBlock);
  }
  return found;
}

bool Sema::callChanges(const CallInfo &call, FunctionInfo &f,
                       const std::map<std::string, bool> &statics, int depth) {
  if (!call.function || !call.function->isMutMethod())
    return false;
  // Without a receiver it is a method of the same model, called by its unqualified name.
  const Name *root = rootName(call.receiver);
  bool isOwn = call.receiver ? root && root->symbol &&
                                   (root->symbol->kind == SymbolKind::Field ||
                                    root->symbol->kind == SymbolKind::Method)
                             : call.function->owner == f.owner;
  if (!isOwn)
    return false;
  std::map<std::string, bool> inner;
  for (size_t i = 0; i < call.function->params.size() && i < call.arguments.size(); ++i) {
    const ParamInfo &p = call.function->params[i];
    const Expr *given = call.arguments[i] ? call.arguments[i] : p.defaultValue;
    if (auto value = given ? staticBool(given, statics) : std::nullopt)
      inner[p.name] = *value;
  }
  return changesReceiver(*call.function, inner, depth + 1);
}

bool Sema::exprChanges(const Expr *e, FunctionInfo &f, const std::map<std::string, bool> &statics,
                       int depth) {
  bool found = false;
  auto inExpr = [&](const Expr *x) { found = found || exprChanges(x, f, statics, depth); };
  auto inBlock = [&](const Block *b) { found = found || blockChanges(b, f, statics, depth); };
  if (auto *branch = as<If>(e))
    if (auto known = staticBool(branch->condition, statics)) {
      if (*known)
        inBlock(branch->thenBlock);
      else if (branch->elseIf)
        inExpr(branch->elseIf);
      else if (branch->elseBlock)
        inBlock(branch->elseBlock);
      return found;
    }
  if (auto *call = as<Call>(e))
    for (const Argument &a : call->args)
      found = found || (a.isMut && isField(a.value));
  if (const CallInfo *call = callOf(e))
    found = found || callChanges(*call, f, statics, depth);
  children(e, inExpr, inBlock);
  return found;
}

void Sema::checkReceiver(FunctionInfo &f, Expr *receiver, const Value &value,
                         const std::vector<ParamInfo> &params, const std::vector<Arg> &args,
                         const std::vector<int> &slots, Span at) {
  if (!f.isMutMethod() || value.isLvalue)
    return;
  // Fields of the receiver are mutable in a `mut fn` and immutable in a plain `fn`.
  std::map<std::string, bool> statics;
  for (size_t i = 0; i < params.size(); ++i) {
    const Expr *given =
        slots[i] >= 0 ? args[static_cast<size_t>(slots[i])].expr : params[i].defaultValue;
    const Value *v = given ? given->checked : nullptr;
    if (v && v->constant == Value::BoolConstant)
      statics[params[i].name] = v->flag;
    else if (given)
      if (auto known = staticBool(given, {}))
        statics[params[i].name] = *known;
  }
  if (!changesReceiver(f, statics))
    return;
  Symbol *root = value.root;
  std::string name = receiver ? textOf(receiver) : f.owner ? f.owner->name : "the model";
  Diagnostic &d =
      diags.report(Code::E0212, at, "`" + f.name + "` changes `" + name + "`, which cannot change");
  if (root && root->span.valid()) {
    if (root->kind == SymbolKind::Field)
      d.caret("this is a plain `fn`")
          .help("write `mut fn " +
                (context->function ? context->function->name : std::string("call")) + "(…)`");
    else if (root->isParam)
      d.label(root->span, "a parameter")
          .help("write `mut " + std::string(root->name) + "` in the parameter list");
    else
      d.label(root->span, root->bind == BindKind::Const ? "bound with `const`" : "bound with `let`")
          .help("make it a `var`: `var " + std::string(root->name) + " = …`");
  } else {
    d.help("give it a name: `var net = …`");
  }
  std::string declared = declaredNote(f, " as a `mut fn`");
  if (!declared.empty())
    d.note(declared);
}

} // namespace mx::sema
