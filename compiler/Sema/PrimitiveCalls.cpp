// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builtins whose result the signature alone does not say. The shapes come from the rules in
// Support/Shape; here they get their arguments and their words.
#include "Sema/Sema.h"
#include <algorithm>
#include <functional>

namespace mx::sema {
using namespace ast;

std::optional<int64_t> Sema::staticInt(Expr *e, const char *what) {
  const Value *v = e->checked ? e->checked : check(e);
  if (v->type->isError())
    return std::nullopt;
  if (auto n = v->dim ? v->dim.constant() : std::nullopt)
    return n;
  diags.report(Code::E0216, e->outerSpan, std::string(what) + " is a number known at compile time, this is " + show(*v));
  return std::nullopt;
}

/// An axis, or a list of them.
std::optional<std::vector<int64_t>> Sema::axesOf(Expr *e) {
  std::vector<int64_t> axes;
  const List<Expr *> *list = nullptr;
  if (auto *l = as<ListExpr>(e))
    list = &l->elements;
  if (auto *t = as<Tuple>(e))
    list = &t->elements;
  if (!list) {
    auto n = staticInt(e, "an axis");
    if (!n)
      return std::nullopt;
    return std::vector<int64_t>{*n};
  }
  for (Expr *x : *list) {
    auto n = staticInt(x, "an axis");
    if (!n)
      return std::nullopt;
    axes.push_back(*n);
  }
  return axes;
}

const Type *Sema::batched(const Type *item, Dim batch) {
  if (item->isTensor()) {
    Shape shape = item->shape;
    shape.insert(shape.begin(), axisOf(batch));
    return types.tensor(item->elem, std::move(shape), item->device);
  }
  if (item->is(Kind::Tuple)) {
    std::vector<const Type *> parts;
    for (const Type *p : item->parts)
      parts.push_back(batched(p, batch));
    return types.tuple(std::move(parts));
  }
  return item;
}

/// data.loader(set, batch=128, shuffle=mut rng, last="drop")
Value Sema::loaderValue(std::vector<Arg> &args, Expr *whole) {
  static const char *const names[] = {"set", "batch", "shuffle", "last", "prefetch"};
  Arg *found[5] = {};
  size_t position = 0;
  for (Arg &a : args) {
    size_t index = 5;
    if (a.name.empty())
      index = position++;
    else
      for (size_t i = 0; i < 5; ++i)
        if (a.name == names[i])
          index = i;
    check(a.expr);
    if (index >= 5) {
      diags.report(Code::E0207, a.name.empty() ? a.span : a.nameSpan, "`loader` has no parameter `" + std::string(a.name) + "`")
          .note("its parameters are set, batch, shuffle, last, prefetch");
      return errorValue();
    }
    found[index] = &a;
    a.value = a.expr->checked;
    if (a.value->type->isError())
      return errorValue();
  }
  if (!found[0] || !found[1]) {
    diags.report(Code::E0207, whole->span, found[0] ? "`loader` needs `batch`" : "`loader` needs a data set")
        .help("write `data.loader(set, batch=128)`");
    return errorValue();
  }
  const Type *set = found[0]->value->type;
  if (!set->is(Kind::Dataset)) {
    diags.report(Code::E0202, found[0]->span, "`loader` reads a data set, this is " + show(set));
    return errorValue();
  }
  const Value *batch = found[1]->value;
  if (!batch->type->isScalar() || !types.isInt(batch->type->elem)) {
    diags.report(Code::E0202, found[1]->span, "`batch` is a whole number, this is " + show(*batch));
    return errorValue();
  }
  if (Arg *rng = found[2]) {
    ParamInfo p;
    p.name = "shuffle";
    p.isMut = true;
    if (!(rng->value->type->is(Kind::Nominal) && rng->value->type->nominal->name == "Rng")) {
      diags.report(Code::E0202, rng->span, "`shuffle` takes an `Rng`, this is " + show(*rng->value)).help("write `shuffle=mut rng`");
      return errorValue();
    }
    if (!checkMutArgument(p, *rng, "loader", {}))
      return errorValue();
  }
  std::string last = "keep";
  if (found[3]) {
    const Value *v = found[3]->value;
    if (v->constant != Value::StringConstant || (v->text != "keep" && v->text != "drop" && v->text != "pad")) {
      diags.report(Code::E0701, found[3]->expr->outerSpan, "`last` is \"keep\", \"drop\" or \"pad\", this is " + textOf(found[3]->expr))
          .note("it says what happens to the items that do not fill a batch");
      return errorValue();
    }
    last = std::string(v->text);
  }
  // With "drop" or "pad" every batch is full; with "keep" the last one may be smaller.
  bool full = last != "keep";
  std::string note;
  if (full && batch->dim)
    note = "the loader was made with last=\"" + last + "\", so each batch has " + dims.print(batch->dim) + " rows";
  const Type *type = types.loader(set->parts, full ? batch->dim : Dim(), note + (full ? "" : " "));
  if (!full) {
    type = types.loader(set->parts, {}, batch->dim ? "" : " ");
    if (batch->dim)
      loaderBounds[type] = batch->dim;
  }
  return hostValue(type);
}

/// for (p, g, v) in leaves(mut net, grad, mut vel): one turn for each parameter, unrolled.
Value Sema::leavesValue(std::vector<Arg> &args, Expr *whole) {
  std::vector<const Type *> parts;
  std::vector<bool> mutability;
  const Type *model = nullptr;
  // All leaves of one turn have one type. Parameters are f32 unless a model says otherwise.
  Shape shape = {Axis{{}, types.newPack("S")}};
  const Type *leaf = types.tensor(ElementType::F32, shape);
  for (Arg &a : args) {
    const Value *v = check(a.expr);
    if (v->type->isError())
      return errorValue();
    const Type *of = v->type->is(Kind::Grad) ? v->type->element : v->type;
    bool fine = of->is(Kind::TypeVar) || (of->is(Kind::Nominal) && of->nominal->isModel);
    if (!fine) {
      diags.report(Code::E0202, a.span, "`leaves` walks models and their gradients, this is " + show(*v));
      return errorValue();
    }
    if (model && !equalTypes(model, of)) {
      diags.report(Code::E0202, a.span, "`leaves` walks matching values: " + show(model) + " and " + show(of) + " differ");
      return errorValue();
    }
    model = model ? model : of;
    a.value = v;
    ParamInfo p;
    p.name = "value";
    p.isMut = a.isMut;
    if (!checkMutArgument(p, a, "leaves", {}))
      return errorValue();
    mutability.push_back(a.isMut);
    parts.push_back(leaf);
  }
  if (parts.empty()) {
    diags.report(Code::E0207, whole->span, "`leaves` needs a model or gradient");
    return errorValue();
  }
  leafMutability[whole] = mutability;
  const Type *element = parts.size() == 1 ? parts[0] : types.tuple(parts);
  return valueOf(types.array(element, dims.newSymbolDim({"leaves", SymbolRole::HostInt, true, whole->span})));
}

/// Builtins that take any number of arguments, or look at the arguments themselves.
Value Sema::callPrimitive(FunctionInfo &f, std::vector<Arg> &args, Expr *callee, Expr *whole, Span argsSpan, const Type *expected, bool &handled) {
  handled = true;
  auto checkAll = [&] {
    bool ok = true;
    for (Arg &a : args) {
      if (!a.value)
        a.value = check(a.expr);
      ok &= !a.value->type->isError();
    }
    return ok;
  };
  auto needs = [&](size_t low, size_t high) {
    if (args.size() >= low && args.size() <= high)
      return true;
    std::string count = low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
    diags.report(Code::E0207, argsSpan, "`" + f.name + "` takes " + count + (high == 1 ? " argument, " : " arguments, ") + std::to_string(args.size()) + (args.size() == 1 ? " is" : " are") + " given");
    return false;
  };
  switch (f.primitive->rule) {
  case ShapeRule::Print: {
    if (!checkAll())
      return errorValue();
    for (Arg &a : args) {
      bool printable = !a.value->type->is(Kind::Nothing) && !a.value->type->is(Kind::Module);
      if (!printable) {
        diags.report(Code::E0202, a.span, a.value->type->is(Kind::Nothing) ? "this gives no value" : show(*a.value) + " cannot be printed");
        return errorValue();
      }
      if (!a.name.empty()) {
        diags.report(Code::E0207, a.nameSpan, "`" + f.name + "` has no parameter `" + std::string(a.name) + "`").help("put it into the text: `print(f\"…\")`");
        return errorValue();
      }
    }
    return hostValue(f.name == "str" ? types.str() : types.nothing());
  }
  case ShapeRule::Wait:
    if (!checkAll() || !needs(f.params.size(), f.params.size()))
      return errorValue();
    return hostValue(types.nothing());
  case ShapeRule::Len: {
    if (!checkAll() || !needs(1, 1))
      return errorValue();
    const Type *t = args[0].value->type;
    switch (t->kind) {
    case Kind::Array:
      return hostInt(t->count);
    case Kind::Shape:
      if (!hasPack(t->shape))
        return hostInt(dims.constant(static_cast<int64_t>(t->shape.size())));
      break;
    case Kind::Tensor:
      if (!t->shape.empty() && !t->shape[0].isPack())
        return hostInt(t->shape[0].dim);
      if (t->shape.empty()) {
        diags.report(Code::E0314, args[0].span, "a single value has no length");
        return errorValue();
      }
      break;
    case Kind::Str:
    case Kind::Dataset:
    case Kind::Loader:
    case Kind::Progress:
      break;
    default:
      diags.report(Code::E0206, args[0].span, "`len` is not defined for " + show(t));
      return errorValue();
    }
    return hostInt(dims.newSymbolDim({textOf(whole), SymbolRole::HostInt, true, whole->span}));
  }
  case ShapeRule::Option: {
    if (!checkAll() || !needs(2, 2))
      return errorValue();
    if (args[0].value->constant != Value::StringConstant) {
      diags.report(Code::E0216, args[0].span, "the name of an option is a literal string");
      return errorValue();
    }
    Value v = *args[1].value;
    v.root = nullptr;
    v.mutablePlace = false;
    auto given = options.options.find(std::string(args[0].value->text));
    if (given != options.options.end()) {
      if (v.type->is(Kind::Str)) {
        v.constant = Value::StringConstant;
        v.text = arena.copy(given->second);
      } else if (v.dim) {
        char *end = nullptr;
        long long n = std::strtoll(given->second.c_str(), &end, 10);
        if (end && *end == 0)
          v.dim = dims.constant(n);
      } else if (v.constant == Value::BoolConstant) {
        v.flag = given->second == "true";
      }
    }
    bool known = v.type->is(Kind::Str) || (v.type->isScalar() && v.host);
    if (!known) {
      diags.report(Code::E0202, args[1].span, "an option is a number, a bool or a string, this is " + show(v));
      return errorValue();
    }
    return v;
  }
  case ShapeRule::DeviceOf: {
    if (f.name == "to")
      break;
    if (!checkAll() || !needs(1, 1))
      return errorValue();
    Value v = hostValue(types.deviceType());
    const Value *name = args[0].value;
    if (name->type->is(Kind::Device))
      return *name;
    if (!name->type->is(Kind::Str)) {
      diags.report(Code::E0602, args[0].span, "a device is named by a string, this is " + show(*name)).help("write `device(\"cpu:0\")`");
      return errorValue();
    }
    if (name->constant == Value::StringConstant) {
      std::string text(name->text);
      size_t colon = text.find(':');
      std::string kind = text.substr(0, colon), number = colon == std::string::npos ? "0" : text.substr(colon + 1);
      bool digits = !number.empty() && number.size() <= 4 && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
      if ((kind != "cpu" && kind != "gpu") || !digits) {
        diags.report(Code::E0602, args[0].span, "`" + text + "` is not a device").help("devices are named `cpu:0`, `cpu:1`, `gpu:0`, …");
        return errorValue();
      }
      v.constant = Value::DeviceConstant;
      v.device = types.device(kind + ":" + number, constBeingMade());
    }
    return v;
  }
  case ShapeRule::Save:
  case ShapeRule::Restore: {
    bool restore = f.primitive->rule == ShapeRule::Restore;
    if (!checkAll())
      return errorValue();
    if (args.empty() || !args[0].value->type->is(Kind::Str)) {
      diags.report(Code::E0207, args.empty() ? argsSpan : args[0].span, "`" + f.name + "` starts with the path of a file");
      return errorValue();
    }
    for (size_t i = 1; i < args.size(); ++i) {
      Arg &a = args[i];
      if (restore) {
        ParamInfo p;
        p.name = "value";
        p.isMut = true;
        if (!checkMutArgument(p, a, "restore", {}))
          return errorValue();
        continue;
      }
      if (a.isMut) {
        diags.report(Code::E0210, a.span, "`save` does not change what it saves").caret("leave out `mut`");
        return errorValue();
      }
      if (a.name.empty() && pathOf(a.expr).empty()) {
        diags.report(Code::E0207, a.span, "a saved value needs a name").help("write `name=" + textOf(a.expr) + "`");
        return errorValue();
      }
    }
    return hostValue(types.nothing());
  }
  case ShapeRule::Leaves:
    return leavesValue(args, whole);
  case ShapeRule::Loader:
    return loaderValue(args, whole);
  case ShapeRule::Progress: {
    if (!checkAll())
      return errorValue();
    if (args.empty()) {
      diags.report(Code::E0207, argsSpan, "`progress` needs something to loop over");
      return errorValue();
    }
    const Type *t = args[0].value->type;
    if (!t->is(Kind::Range) && !t->is(Kind::Loader) && !t->is(Kind::Dataset) && !t->is(Kind::Array)) {
      diags.report(Code::E0223, args[0].span, "this cannot be looped over: it is " + show(t));
      return errorValue();
    }
    for (size_t i = 1; i < args.size(); ++i)
      if (!args[i].name.empty() && args[i].name != "label" && args[i].name != "show") {
        diags.report(Code::E0207, args[i].nameSpan, "`progress` has no parameter `" + std::string(args[i].name) + "`").note("its parameters are iterable, label, show");
        return errorValue();
      }
    return hostValue(types.progress(t));
  }
  case ShapeRule::Log:
    if (!checkAll() || !needs(2, 2))
      return errorValue();
    return hostValue(types.nothing());
  case ShapeRule::Map: {
    if (!needs(2, 2))
      return errorValue();
    const Value *set = args[0].value ? args[0].value : check(args[0].expr);
    if (set->type->isError())
      return errorValue();
    if (!set->type->is(Kind::Dataset)) {
      diags.report(Code::E0202, args[0].span, "`map` changes the items of a data set, this is " + show(*set));
      return errorValue();
    }
    const Type *item = set->type->parts.size() == 1 ? set->type->parts[0] : types.tuple(set->type->parts);
    auto *lambda = as<Lambda>(args[1].expr);
    bool spread = lambda && lambda->func->params.size() == set->type->parts.size();
    const Value *fn = check(args[1].expr, types.fn(spread ? set->type->parts : std::vector<const Type *>{item}, nullptr));
    if (fn->type->isError())
      return errorValue();
    if (!fn->type->is(Kind::Fn)) {
      diags.report(Code::E0202, args[1].span, "`map` takes a function, this is " + show(*fn));
      return errorValue();
    }
    const Type *result = fn->type->element;
    return hostValue(types.dataset(result->is(Kind::Tuple) ? result->parts : std::vector<const Type *>{result}));
  }
  case ShapeRule::SameData: {
    if (!checkAll() || !needs(f.params.size(), f.params.size()))
      return errorValue();
    if (!args[0].value->type->is(Kind::Dataset)) {
      diags.report(Code::E0202, args[0].span, "`" + f.name + "` takes items of a data set, this is " + show(*args[0].value));
      return errorValue();
    }
    for (size_t i = 1; i < args.size(); ++i)
      if (!require(*args[i].value, types.scalar(ElementType::I64), args[i].span, "`" + f.params[i].name + "`"))
        return errorValue();
    return hostValue(args[0].value->type);
  }
  case ShapeRule::Concat:
  case ShapeRule::Stack: {
    bool concat = f.primitive->rule == ShapeRule::Concat;
    if (!checkAll())
      return errorValue();
    int64_t axis = 0;
    std::vector<Shape> shapes;
    const Value *first = nullptr;
    Arg *firstArg = nullptr;
    for (Arg &a : args) {
      if (a.name == "axis") {
        auto n = staticInt(a.expr, "an axis");
        if (!n)
          return errorValue();
        axis = *n;
        continue;
      }
      if (!a.name.empty()) {
        diags.report(Code::E0207, a.nameSpan, "`" + f.name + "` has no parameter `" + std::string(a.name) + "`");
        return errorValue();
      }
      const Type *t = a.value->type;
      if (t->is(Kind::Array) && t->element->isTensor() && args.size() <= 2) {
        if (concat) {
          auto index = axisIndex(t->element->shape, axis);
          Shape s = t->element->shape;
          if (index)
            s[*index].dim = dims.mul(s[*index].dim, t->count);
          return valueOf(types.tensor(t->element->elem, s, t->element->device));
        }
        Shape s = t->element->shape;
        s.insert(s.begin(), axisOf(t->count));
        return valueOf(types.tensor(t->element->elem, s, t->element->device));
      }
      if (!t->isTensor()) {
        diags.report(Code::E0202, a.span, "`" + f.name + "` joins tensors, this is " + show(t));
        return errorValue();
      }
      if (first && !commonElem(f.name, *first, *a.value, firstArg->expr, a.expr, a.expr->outerSpan).valid())
        return errorValue();
      if (!first) {
        first = a.value;
        firstArg = &a;
      }
      shapes.push_back(t->shape);
    }
    if (shapes.empty()) {
      diags.report(Code::E0207, argsSpan, "`" + f.name + "` needs tensors to join");
      return errorValue();
    }
    ShapeResult r = concat ? concatShapes(shapes, axis, facts()) : stackShapes(shapes, axis, facts());
    if (!r.ok()) {
      std::string list;
      for (const Arg &a : args)
        if (a.name.empty())
          list += (list.empty() ? "" : " and ") + show(*a.value);
      if (r.problem.kind == ShapeProblem::AxisRange)
        diags.report(Code::E0311, whole->span, "axis " + std::to_string(axis) + " is out of range for " + show(*first));
      else if (r.problem.kind == ShapeProblem::Mismatch)
        diags.report(Code::E0308, whole->span, "`" + f.name + "` needs equal sizes" + (concat ? " but for the axis" : "") + ": " + list)
            .caret("dimension " + std::to_string(r.problem.axis) + ": " + mayDiffer(r.problem.left, r.problem.right, r.problem.answer));
      else
        diags.report(Code::E0308, whole->span, "`" + f.name + "` needs tensors of one rank: " + list);
      return errorValue();
    }
    addConditions(r.conditions, whole->span);
    if (shapes[0].empty() && concat) {
      diags.report(Code::E0314, whole->span, "single values have no axis to join along").help("write `stack(…)`");
      return errorValue();
    }
    return valueOf(types.tensor(first->type->elem, r.shape, first->type->device));
  }
  case ShapeRule::Einsum:
    if (!checkAll())
      return errorValue();
    return checkEinsum(args, callee, whole);
  case ShapeRule::Rearrange:
    if (!checkAll())
      return errorValue();
    return checkRearrange(args, callee, whole);
  default:
    break;
  }
  handled = false;
  (void)expected;
  return errorValue();
}

/// The name of the `const` whose value is being worked out: `d0` in `const d0 = device("cpu:0")`.
std::string Sema::constBeingMade() const {
  for (const Symbol &s : symbols)
    if (s.resolving && s.bind == BindKind::Const)
      return std::string(s.name);
  return "";
}

/// Builtins whose arguments were matched by their signature, but whose result shape follows a rule.
Value Sema::finishPrimitive(FunctionInfo &f, CallState &state, std::vector<Arg> &args, std::vector<int> &slots, Expr *callee, Expr *whole, const Type *result) {
  auto argOf = [&](std::string_view name) -> Arg * {
    for (size_t p = 0; p < f.params.size(); ++p)
      if (f.params[p].name == name && slots[p] >= 0)
        return &args[static_cast<size_t>(slots[p])];
    return nullptr;
  };
  Arg *x = argOf(f.params[0].name);
  const Value *v = x ? x->value : nullptr;
  auto axisProblem = [&](const ShapeProblem &p, Expr *at) {
    if (p.kind == ShapeProblem::PackInTheWay)
      diags.report(Code::E0311, at->outerSpan, "axis " + std::to_string(p.axis) + " of " + show(*v) + " is not known here").help("count from the end: `axis=-1`");
    else
      diags.report(Code::E0311, at->outerSpan, "axis " + std::to_string(p.axis) + " is out of range for " + show(*v))
          .caret(v->type->shape.empty()       ? "it has no dimensions"
                 : v->type->shape.size() == 1 ? "its only axis is 0, or -1"
                                              : "its axes are 0 to " + std::to_string(v->type->shape.size() - 1) + ", or -" + std::to_string(v->type->shape.size()) + " to -1");
    return errorValue();
  };
  auto tensorWith = [&](Shape s) { return valueOf(types.tensor(result->elem, std::move(s), v->type->device)); };
  switch (f.primitive->rule) {
  case ShapeRule::Broadcast: {
    Arg *y = argOf("y");
    auto shape = broadcast(f.name, *v, *y->value, x->expr, y->expr, whole->span);
    if (!shape)
      return errorValue();
    commonDevice(f.name, *v, *y->value, x->expr, y->expr, callee->span);
    return tensorWith(*shape);
  }
  case ShapeRule::Select: {
    Arg *a = argOf("a"), *b = argOf("b");
    auto values = broadcast(f.name, *a->value, *b->value, a->expr, b->expr, whole->span);
    if (!values)
      return errorValue();
    Value joined = valueOf(types.tensor(result->elem, *values));
    auto shape = broadcast(f.name, *v, joined, x->expr, a->expr, whole->span);
    if (!shape)
      return errorValue();
    return tensorWith(*shape);
  }
  case ShapeRule::Reduce: {
    Arg *axis = argOf("axis"), *keep = argOf("keep");
    std::vector<int64_t> axes;
    if (axis) {
      auto list = axesOf(axis->expr);
      if (!list)
        return errorValue();
      axes = *list;
    }
    bool kept = keep && keep->value->constant == Value::BoolConstant && keep->value->flag;
    ShapeResult r = reduceShape(v->type->shape, axes, axis == nullptr, kept, dims);
    if (!r.ok())
      return axisProblem(r.problem, axis ? axis->expr : whole);
    return tensorWith(r.shape);
  }
  case ShapeRule::Axis: {
    if (Arg *axis = argOf("axis")) {
      auto list = axesOf(axis->expr);
      if (!list)
        return errorValue();
      ShapeResult r = reduceShape(v->type->shape, *list, false, false, dims);
      if (!r.ok())
        return axisProblem(r.problem, axis->expr);
    } else if (v->type->shape.empty()) {
      diags.report(Code::E0314, x->span, "a single value has no axis");
      return errorValue();
    }
    return valueOf(result);
  }
  case ShapeRule::TopK: {
    Arg *k = argOf("k"), *axis = argOf("axis");
    std::vector<int64_t> axes = {-1};
    if (axis) {
      auto list = axesOf(axis->expr);
      if (!list)
        return errorValue();
      axes = *list;
    }
    auto index = axes.size() == 1 ? axisIndex(v->type->shape, axes[0]) : std::nullopt;
    if (!index)
      return axisProblem({ShapeProblem::AxisRange, static_cast<int>(axes.empty() ? 0 : axes[0]), {}, {}, {}}, axis ? axis->expr : whole);
    Shape s = v->type->shape;
    Dim count = k->value->dim;
    if (facts().lessEqual(count, s[*index].dim).refuted() && count.constant() && s[*index].dim.constant()) {
      diags.report(Code::E0309, k->span, "the " + dims.print(count) + " largest of " + dims.print(s[*index].dim) + " values are asked for");
      return errorValue();
    }
    s[*index] = axisOf(count);
    return valueOf(types.tuple({types.tensor(v->type->elem, s), types.tensor(ElementType::I32, s)}));
  }
  case ShapeRule::Reshape: {
    Arg *to = argOf("shape");
    Shape target = to->value->type->shape;
    ShapeResult r = reshapeShape(v->type->shape, target, facts());
    if (r.ok()) {
      addConditions(r.conditions, whole->span);
      return tensorWith(r.shape);
    }
    Shape shown = target;
    for (Axis &a : shown)
      if (!a.isPack() && !a.dim)
        a = axisOf(dims.newSymbolDim({"_", SymbolRole::HostInt, true, {}}));
    std::string message = "cannot reshape " + show(*v) + " to " + show(types.tensor(v->type->elem, shown));
    Diagnostic &d = diags.report(Code::E0306, to->expr->outerSpan, message);
    const ShapeProblem &p = r.problem;
    if (p.kind == ShapeProblem::Elements || p.kind == ShapeProblem::Indivisible) {
      std::string product;
      for (const Axis &a : v->type->shape)
        product += (product.empty() ? "" : "*") + dims.printFactor(a.dim);
      std::string total = dims.print(p.left);
      std::string have = product == total || product.empty() ? total : product + " = " + total;
      if (p.kind == ShapeProblem::Elements)
        d.caret(have + " elements, but " + dims.print(p.right) + " are asked for");
      else
        d.caret(have + " elements cannot be divided by " + dims.print(p.right));
      if (auto *name = as<Name>(x->expr); name && name->symbol) {
        std::string reason = why(name->symbol);
        if (!reason.empty())
          d.note(std::string(name->text) + ": " + show(*v) + " " + reason);
      }
      // The last literal size is the one that was counted by hand.
      auto *list = as<ListExpr>(to->expr);
      if (list && p.kind == ShapeProblem::Elements)
        for (size_t i = target.size(); i-- > 0;) {
          if (!target[i].dim.constant() || as<Number>(list->elements[i]) == nullptr)
            continue;
          Dim others = dims.constant(1);
          for (size_t j = 0; j < target.size(); ++j)
            if (j != i)
              others = dims.mul(others, target[j].dim);
          Dim right = others && !others.isConstant(0) ? facts().simplify(dims.floorDiv(p.left, others)) : Dim();
          if (!right || !facts().equal(dims.mul(right, others), p.left).proved())
            break;
          auto text = [&](const std::string &last) {
            std::string s = "[";
            for (size_t j = 0; j < target.size(); ++j)
              s += (j ? ", " : "") + (j == i ? last : textOf(list->elements[j]));
            return s + "]";
          };
          d.help("write `" + text(dims.print(right)) + "`, or let the compiler count: `" + text("_") + "`");
          break;
        }
    } else if (p.kind == ShapeProblem::TwoHoles) {
      d.caret("only one `_` can be counted");
    } else {
      d.caret("the number of elements is not known here");
    }
    return errorValue();
  }
  case ShapeRule::Like: {
    Arg *to = argOf("shape");
    Shape target = to->value->type->shape;
    ShapeResult r = broadcastShapes(target, v->type->shape, facts());
    bool grows = r.ok() && !sameShape(r.shape, target, facts()).ok();
    if (!r.ok() || grows || target.size() < v->type->shape.size()) {
      diags.report(Code::E0308, to->expr->outerSpan, show(*v) + " cannot be stretched to " + types.print(target));
      return errorValue();
    }
    return tensorWith(target);
  }
  case ShapeRule::Permute: {
    Arg *order = argOf("order");
    auto list = axesOf(order->expr);
    if (!list)
      return errorValue();
    ShapeResult r = permuteShape(v->type->shape, *list);
    if (!r.ok()) {
      diags.report(Code::E0311, order->expr->outerSpan, "the order must name each of the " + std::to_string(v->type->shape.size()) + " axes of " + show(*v) + " once");
      return errorValue();
    }
    return tensorWith(r.shape);
  }
  case ShapeRule::Squeeze: {
    Arg *axis = argOf("axis");
    auto list = axesOf(axis->expr);
    if (!list)
      return errorValue();
    ShapeResult r = reduceShape(v->type->shape, *list, false, false, dims);
    if (!r.ok())
      return axisProblem(r.problem, axis->expr);
    for (int64_t a : *list)
      if (auto i = axisIndex(v->type->shape, a); i && !v->type->shape[*i].dim.isConstant(1)) {
        diags.report(Code::E0308, axis->expr->outerSpan, "dimension " + std::to_string(a) + " of " + show(*v) + " is not 1").help("`squeeze` takes away dimensions of size 1 only");
        return errorValue();
      }
    return tensorWith(r.shape);
  }
  case ShapeRule::Split: {
    Arg *parts = argOf("parts"), *axis = argOf("axis");
    auto n = staticInt(parts->expr, "the number of parts");
    auto a = axis ? staticInt(axis->expr, "an axis") : std::optional<int64_t>(0);
    if (!n || !a)
      return errorValue();
    if (*n < 1 || *n > limits::kMaxTupleElements) {
      diags.report(Code::E0309, parts->expr->outerSpan, "a tensor is split into 1 to " + std::to_string(limits::kMaxTupleElements) + " parts");
      return errorValue();
    }
    ShapeResult r = splitShape(v->type->shape, *n, *a, facts());
    if (!r.ok()) {
      if (r.problem.kind == ShapeProblem::Indivisible) {
        Diagnostic &d = diags.report(Code::E0308, parts->expr->outerSpan, dims.print(r.problem.left) + " cannot be split into " + std::to_string(*n) + " equal parts");
        d.label(x->expr->outerSpan, show(*v));
        if (!r.problem.answer.example.empty())
          d.note("it fails for example with " + example(r.problem.answer));
        return errorValue();
      }
      return axisProblem(r.problem, axis ? axis->expr : whole);
    }
    addConditions(r.conditions, whole->span);
    const Type *part = types.tensor(v->type->elem, r.shape, v->type->device);
    if (*n == 1)
      return valueOf(part);
    return valueOf(types.tuple(std::vector<const Type *>(static_cast<size_t>(*n), part)));
  }
  case ShapeRule::Take: {
    Arg *index = argOf("index"), *axis = argOf("axis");
    auto a = axis ? staticInt(axis->expr, "an axis") : std::optional<int64_t>(0);
    if (!a)
      return errorValue();
    auto at = axisIndex(v->type->shape, *a);
    if (!at)
      return axisProblem({hasPack(v->type->shape) ? ShapeProblem::PackInTheWay : ShapeProblem::AxisRange, static_cast<int>(*a), {}, {}, {}}, axis ? axis->expr : x->expr);
    Shape s(v->type->shape.begin(), v->type->shape.begin() + static_cast<std::ptrdiff_t>(*at));
    const Shape &inner = index->value->type->shape;
    s.insert(s.end(), inner.begin(), inner.end());
    s.insert(s.end(), v->type->shape.begin() + static_cast<std::ptrdiff_t>(*at) + 1, v->type->shape.end());
    return tensorWith(s);
  }
  case ShapeRule::Tile: {
    Arg *times = argOf("times");
    auto list = axesOf(times->expr);
    if (!list)
      return errorValue();
    if (list->size() != v->type->shape.size() || hasPack(v->type->shape)) {
      diags.report(Code::E0314, times->expr->outerSpan, "`tile` needs one number for each dimension of " + show(*v));
      return errorValue();
    }
    Shape s;
    for (size_t i = 0; i < list->size(); ++i) {
      if ((*list)[i] < 0) {
        diags.report(Code::E0309, times->expr->outerSpan, "a tensor is repeated 0 times or more");
        return errorValue();
      }
      Dim d = dims.mul(v->type->shape[i].dim, dims.constant((*list)[i]));
      if (!d)
        return sizeProblem(times->expr->span);
      s.push_back(axisOf(d));
    }
    return tensorWith(s);
  }
  case ShapeRule::Pad: {
    Arg *before = argOf("before"), *after = argOf("after"), *mode = argOf("mode");
    auto b = axesOf(before->expr), a = axesOf(after->expr);
    if (!a || !b)
      return errorValue();
    if (a->size() != v->type->shape.size() || b->size() != v->type->shape.size() || hasPack(v->type->shape)) {
      diags.report(Code::E0314, whole->span, "`pad` needs one number before and after each dimension of " + show(*v));
      return errorValue();
    }
    if (mode && (mode->value->constant != Value::StringConstant || (mode->value->text != "constant" && mode->value->text != "edge" && mode->value->text != "reflect"))) {
      diags.report(Code::E0701, mode->expr->outerSpan, "`mode` is \"constant\", \"edge\" or \"reflect\", this is " + textOf(mode->expr));
      return errorValue();
    }
    Shape s;
    for (size_t i = 0; i < a->size(); ++i) {
      Dim d = dims.add(v->type->shape[i].dim, dims.add(dims.constant((*b)[i]), dims.constant((*a)[i])));
      if (!d)
        return sizeProblem(whole->span);
      s.push_back(axisOf(d));
    }
    return tensorWith(s);
  }
  case ShapeRule::Nonzero: {
    Arg *max = argOf("max");
    if (max) {
      Shape s = {axisOf(max->value->dim)};
      return valueOf(types.tuple({types.tensor(ElementType::I32, s), types.scalar(ElementType::I32)}));
    }
    [[fallthrough]];
  }
  case ShapeRule::Unique: {
    const Type *open = types.tensor(result->elem, {axisOf(dims.newSymbolDim({"?", SymbolRole::Unknown, true, whole->span}))}, v->type->device);
    if (!context->inGraph)
      return valueOf(open);
    Diagnostic &d = diags.report(Code::E0402, whole->span, "the size of `" + f.name + "` depends on data, so it cannot be planned");
    d.label(context->graphSpan, "a graph has all sizes before it runs");
    d.caret(show(open) + ": known only after it ran");
    std::string mask = textOf(x->expr);
    if (f.primitive->rule == ShapeRule::Nonzero)
      d.help("give a bound: `nonzero(" + mask + ", max=100)` returns (i32[100], count)");
    auto *cmp = as<Binary>(x->expr);
    if (cmp && cmp->left->checked && cmp->left->checked->type->isTensor() && !cmp->left->checked->type->shape.empty())
      d.help("or use a mask: `select(" + mask + ", " + textOf(cmp->left) + ", 0.0)` keeps " + show(*cmp->left->checked));
    if (context->function && context->function->isGraph())
      d.help("or make `" + context->function->name + "` a plain `fn`; eager code may use `" + show(open) + "`");
    return errorValue();
  }
  case ShapeRule::DeviceOf: { // x.to(d)
    Arg *d = argOf("d");
    Value r = valueOf(types.tensor(v->type->elem, v->type->shape));
    if (d->value->constant == Value::DeviceConstant)
      r.type = types.onDevice(r.type, d->value->device);
    return r;
  }
  default:
    return valueOf(result);
  }
  (void)state;
}

} // namespace mx::sema
