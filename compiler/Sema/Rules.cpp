// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of the library's KVStore, and what the step of an optimizer looks at to update one
// parameter. The second follows from the types in its source: parameters and gradients of a model
// as a whole may be added, scaled and walked by `leaves`; whatever else sees them couples all
// parameters. Inside of such a loop each iteration may only assign what belongs to its leaf.
#include "Sema/Internals.h"
#include "Syntax/Children.h"
#include <cmath>
#include <unordered_set>

namespace mx::sema {
using namespace ast;

size_t Sema::ruleNumber(NominalInfo &rule) {
  for (size_t i = 0; i < rules.size(); ++i)
    if (rules[i] == &rule)
      return i;
  rules.push_back(&rule);
  return rules.size() - 1;
}

namespace {

/// Whether a value of the type holds parameters or gradients of a model that is not known.
bool holdsModel(const Type *type) {
  if (!type)
    return false;
  if (type->is(Kind::Grad) || type->is(Kind::TypeVar) ||
      (type->is(Kind::Nominal) && type->nominal->isModel))
    return true;
  for (const Type *part : type->parts)
    if (holdsModel(part))
      return true;
  return type->is(Kind::Array) && holdsModel(type->element);
}
bool holdsModel(const Expr *e) { return e && e->checked && holdsModel(e->checked->type); }

class StepReader {
public:
  StepReader(Sema &sema, const FunctionInfo &step) : sema(sema), step(step) {}

  RuleForm read() {
    const std::pair<uint8_t, const char *> effects[] = {
        {kRand, "samples from the ambient generator"},
        {kPrint, "prints"},
        {kExchange, "exchanges values with other workers"}};
    for (auto [effect, what] : effects)
      if (step.effects & effect)
        couple(step.syntax->name.span, std::string("it ") + what);
    block(step.syntax->body);
    return form;
  }

private:
  Sema &sema;
  const FunctionInfo &step;
  RuleForm form;
  bool inLeaves = false;
  std::unordered_set<const Symbol *> own; ///< variables of an iteration over leaves

  void raise(RuleForm::Kind kind, Span where, const std::string &why) {
    if (kind > form.kind)
      form = {kind, where, why};
  }
  void couple(Span where, const std::string &why) { raise(RuleForm::Coupled, where, why); }

  void declare(const Pattern *pattern) {
    if (pattern->symbol)
      own.insert(pattern->symbol);
    for (const Pattern *part : pattern->parts)
      declare(part);
  }

  void block(const Block *body) {
    for (const Stmt *stmt : body->stmts)
      statement(stmt);
  }

  void statement(const Stmt *stmt) {
    if (auto *loop = as<For>(stmt)) {
      if (sema.leafMutability.count(loop->iterable)) {
        leaves(loop);
        return;
      }
      if (inLeaves)
        declare(loop->pattern);
    }
    if (auto *let = as<Let>(stmt); let && inLeaves)
      declare(let->pattern);
    if (auto *change = as<Assign>(stmt))
      assignment(change->target, change->span);
    children(
        stmt, [&](const Expr *e) { expression(e); }, [&](const Block *b) { block(b); });
  }

  void leaves(const For *loop) {
    auto *call = as<Call>(loop->iterable);
    for (const Argument &argument : call->args)
      if (!as<Name>(argument.value) && holdsModel(argument.value))
        expression(argument.value);
    bool outer = inLeaves;
    auto before = own;
    inLeaves = true;
    declare(loop->pattern);
    block(loop->body);
    inLeaves = outer;
    own = std::move(before);
  }

  void assignment(const Expr *target, Span span) {
    if (auto *tuple = as<Tuple>(target)) {
      for (const Expr *e : tuple->elements)
        assignment(e, span);
      return;
    }
    while (!as<Name>(target)) {
      const Expr *inner = nullptr;
      if (auto *index = as<Index>(target))
        inner = index->object;
      else if (auto *member = as<Member>(target))
        inner = member->object;
      if (!inner)
        break;
      target = inner;
    }
    auto *name = as<Name>(target);
    if (inLeaves && (!name || !own.count(name->symbol)))
      couple(span, "`" + sema.textOf(target) + "` collects from all parameters");
  }

  void expression(const Expr *e) {
    if (!e)
      return;
    if (as<Lambda>(e))
      couple(e->span, "it uses a function as a value");
    if (auto *member = as<Member>(e); member && member->name.text == "path" && inLeaves)
      couple(e->span, "it asks for the path of a parameter");
    if (const CallInfo *info = callOf(e))
      call(e, *info);
    else if (auto *whole = as<Call>(e); whole && holdsAny(whole))
      couple(e->span, "`" + sema.textOf(whole->callee) + "` takes all parameters");
    if (inLeaves && !holdsModel(e))
      tensorWork(e);
    children(
        e, [&](const Expr *x) { expression(x); }, [&](const Block *b) { block(b); });
  }

  bool holdsAny(const Call *call) {
    for (const Argument &argument : call->args)
      if (holdsModel(argument.value))
        return true;
    auto *member = as<Member>(call->callee);
    return member && holdsModel(member->object);
  }

  void call(const Expr *e, const CallInfo &info) {
    bool taken = info.receiver && holdsModel(info.receiver);
    for (const Expr *argument : info.arguments)
      taken |= argument && holdsModel(argument);
    if (auto *written = as<Call>(e))
      taken |= holdsAny(written);
    std::string name = info.function ? info.function->name : info.nominal ? info.nominal->name : "";
    if (taken && name != "zeros_like_grad")
      couple(e->span, "`" + name + "` takes the values of all parameters");
    if (info.function && info.function->owner == step.owner)
      couple(e->span, "it calls `" + name + "`");
    bool each = info.function && info.function->primitive &&
                info.function->primitive->family == "elementwise";
    if (inLeaves && !each && info.target != CallInfo::Convert)
      raise(RuleForm::WholeTensor, e->span, "`" + name + "` takes a tensor as a whole");
  }

  void tensorWork(const Expr *e) {
    auto *binary = as<Binary>(e);
    bool isWhole = (binary && binary->op == Tok::At) || as<Index>(e) || as<Comprehension>(e);
    if (auto *member = as<Member>(e))
      isWhole |= member->name.text == "T" || member->name.text == "shape";
    if (isWhole)
      raise(RuleForm::WholeTensor, e->span, "`" + sema.textOf(e) + "` takes a tensor as a whole");
  }
};

} // namespace

RuleForm Sema::ruleForm(NominalInfo &rule) {
  resolveFields(rule);
  auto found = rule.methods.find("step");
  if (found == rule.methods.end())
    return {};
  checkBody(*found->second);
  return StepReader(*this, *found->second).read();
}

/// dist.on_worker(rule), dist.on_server(rule): the rule has a step that takes a model and its
/// gradient; a server sees one parameter at a time.
void Sema::checkRule(const CallInfo &info, const Expr *given, Span calleeSpan) {
  const Type *type = given->checked->type;
  if (!type->is(Kind::Rule))
    return;
  if (!type->nominal) {
    diags
        .report(Code::E0701, given->span, "the optimizer of a KVStore is chosen before the run")
        .caret("this may be any rule")
        .help("write it here: `" + info.function->name + "(optim.Sgd(lr=0.1))`");
    return;
  }
  NominalInfo &rule = *type->nominal;
  resolveFields(rule);
  auto found = rule.methods.find("step");
  FunctionInfo *step = found == rule.methods.end() ? nullptr : found->second;
  if (step)
    resolveSignature(*step);
  bool fits = step && step->isMutMethod() && step->params.size() == 2 && step->params[0].isMut &&
              step->params[0].type->is(Kind::TypeVar) && step->params[1].type->is(Kind::Grad) &&
              !step->params[1].isMut && (!step->result || step->result->is(Kind::Nothing)) &&
              rule.generics.size() == 1 && rule.generics[0].kind == GenericParam::Model;
  if (!fits) {
    Diagnostic &d = diags.report(Code::E0701, given->span,
                                 "a KVStore cannot apply `" + rule.name + "`");
    if (step && step->params.size() > 2)
      d.label(step->params[2].span, "`step` takes `" + step->params[2].name + "` as well");
    else if (step && rule.generics.size() > 1)
      d.label(rule.syntax->name.span, "it has parameters besides its model");
    else
      d.label(step ? step->syntax->name.span : rule.syntax->name.span,
              step ? "its `step` has another form" : "it has no `step`");
    d.note("an optimizer of a KVStore is a `struct R[M: model]` with `mut fn step(mut m: M, g: "
           "M.grad)`");
    d.help("average the gradient, `let g = kv.average(g)`, and call the optimizer yourself");
    return;
  }
  ruleNumber(rule);
  RuleForm form = ruleForm(rule);
  if (info.function->name != "on_server" || form.kind != RuleForm::Coupled)
    return;
  Diagnostic &d = diags.report(Code::E0701, calleeSpan,
                               "`" + rule.name + "` cannot run on servers, which hold one "
                                                 "parameter each");
  d.caret(form.why);
  d.note("at " + sources.location(form.where));
  d.help("write `on_worker(" + textOf(given) + ")`, or take the coupling out of its `step`");
}

/// kv.gather(x) has `kv.size` times the rows of x, kv.scatter(x) one `kv.size`-th of them: sizes by
/// the name of the KVStore, so two of them can be compared.
const Type *Sema::gatheredType(const FunctionInfo &f, const Value &store, const Type *given,
                               const Type *result) {
  if (f.name != "gather" && f.name != "scatter")
    return result;
  Axis first = given->shape.empty() ? Axis() : given->shape[0];
  if (first.isPack() || !first.dim || !result->isTensor())
    return result;
  Dim workers = fieldValue(store.type, *f.owner->field("size"), &store).dim;
  bool isGather = f.name == "gather";
  Dim rows = isGather ? dims.mul(first.dim, workers) : dims.floorDiv(first.dim, workers);
  if (!rows) // too large to be written down
    return result;
  if (!isGather) // or the call fails
    facts().assume({Relation::Equal, dims.mul(rows, workers), first.dim, {}});
  Shape shape = result->shape;
  shape[0] = axisOf(rows);
  return types.tensor(result->elem, shape, result->device);
}

/// `rows`, or `f64(rows)`, of a parameter of the function: the caller knows it.
static bool isParameter(const Expr *e) {
  if (auto *call = as<Call>(e); call && !call->info && call->args.size() == 1)
    e = call->args[0].value;
  auto *name = as<Name>(e);
  return name && name->symbol && name->symbol->isParam;
}

/// An argument that calls a function of `dist`, with its name; empty if only the run knows.
static std::pair<const Expr *, std::string> distChoice(const CallInfo &info,
                                                       std::string_view parameter) {
  for (size_t p = 0; p < info.function->params.size(); ++p)
    if (info.function->params[p].name == parameter && info.arguments[p])
      if (auto *call = as<Call>(info.arguments[p]); call && call->info && call->info->function)
        return {call, call->info->function->name};
  return {};
}

/// Where sums are compressed again on their way, only codecs that round each number are of use. The
/// connection checks what only the run knows.
static void checkCompression(Sema &sema, const CallInfo &info) {
  auto [compress, coded] = distChoice(info, "compress");
  auto [over, order] = distChoice(info, "over");
  bool isLevels = order == "levels";
  if (isLevels)
    order = distChoice(*as<Call>(over)->info, "outer").second;
  bool isSparse = coded == "bit1" || coded == "bit2" || coded == "topk";
  if (!isSparse || (order != "ring" && order != "tree"))
    return;
  sema.diags.report(Code::E0701, compress->outerSpan, "`" + coded + "` goes with `direct` only")
      .caret("this leaves most of a gradient out")
      .label(over->outerSpan, "here each worker would compress a sum that was compressed before")
      .help(std::string("leave out ") + (isLevels ? "the order between the groups" : "`over=`") +
            ", or round each number: `compress=fp16()`, `compress=bf16()`");
}

void Sema::checkDistCall(const CallInfo &info, Span calleeSpan) {
  const FunctionInfo &f = *info.function;
  if (!f.owner && (f.name == "on_worker" || f.name == "on_server") && info.arguments[0])
    return checkRule(info, info.arguments[0], calleeSpan);
  if (!f.owner && (f.name == "local" || f.name == "sync"))
    return checkCompression(*this, info);
  if (context->grad && f.owner && f.name == "step")
    diags.report(Code::E0504, calleeSpan, "`step` of a KVStore has no gradient")
        .label(context->grad->keyword, "everything inside is differentiated")
        .help("call it behind `grad`, with the gradient");
  for (size_t p = 0; f.owner && p < f.params.size(); ++p) {
    const Expr *given = f.params[p].name == "weight" ? info.arguments[p] : nullptr;
    if (!given || !given->checked)
      continue;
    const Value &weight = *given->checked;
    auto whole = weight.dim ? weight.dim.constant() : std::nullopt;
    double number = whole ? static_cast<double>(*whole) : weight.number;
    bool isKnown = whole || weight.constant == Value::FloatConstant;
    if (isKnown && (!std::isfinite(number) || number < 0))
      diags.report(Code::E0701, given->span, "a weight is 0 or more")
          .help("give the number of rows that the gradient is of: `weight=B`");
    else if (context->inGraph && !weight.host && !isParameter(given))
      diags
          .report(Code::E0701, given->span,
                  "the weight of a worker in a graph is known before the graph runs")
          .label(context->graphSpan, "the graph computes `" + textOf(given) + "`")
          .help("give a size, `weight=B`, or an argument of the graph");
  }
}

} // namespace mx::sema
