// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of builtins whose result type does not follow from the signature alone. The shape
// rules are in Support/Shape. This file passes them their arguments and words their diagnostics.
#include "Sema/Internals.h"
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
  diags.report(Code::E0216, e->outerSpan,
               std::string(what) + " is a number known at compile time, this is " + show(*v));
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

/// A list of sizes, one for each dimension of x.
std::optional<std::vector<Dim>> Sema::sizesOf(Expr *e, const Value &x, const char *what) {
  const List<Expr *> *list = nullptr;
  if (auto *l = as<ListExpr>(e))
    list = &l->elements;
  if (auto *t = as<Tuple>(e))
    list = &t->elements;
  if (!list || list->size() != x.type->shape.size() || hasPack(x.type->shape)) {
    diags.report(Code::E0314, e->outerSpan,
                 std::string(what) + " is a list with one number for each dimension of " + show(x));
    return std::nullopt;
  }
  std::vector<Dim> sizes;
  for (Expr *one : *list) {
    const Value *v = one->checked ? one->checked : check(one);
    if (v->type->isError())
      return std::nullopt;
    if (!v->dim) {
      diags.report(Code::E0216, one->outerSpan,
                   std::string(what) + " is known at compile time, this is " + show(*v));
      return std::nullopt;
    }
    if (auto n = v->dim.constant(); n && *n < 0) {
      diags.report(Code::E0309, one->outerSpan, std::string(what) + " is 0 or more");
      return std::nullopt;
    }
    sizes.push_back(v->dim);
  }
  return sizes;
}

/// Variadic builtins, and builtins that inspect the argument expressions.
Value Sema::callPrimitive(FunctionInfo &f, std::vector<Arg> &args, Expr *callee, Expr *whole,
                          Span argsSpan, const Type *expected, bool &handled) {
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
    std::string count =
        low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
    diags.report(Code::E0207, argsSpan,
                 "`" + f.name + "` takes " + count + (high == 1 ? " argument, " : " arguments, ") +
                     std::to_string(args.size()) + (args.size() == 1 ? " is" : " are") + " given");
    return false;
  };
  switch (f.primitive->rule) {
  case ShapeRule::Print: {
    if (f.name == "summary")
      return summaryValue(args, whole, argsSpan);
    if (!checkAll())
      return errorValue();
    for (Arg &a : args) {
      if (a.value->type->is(Kind::Nothing)) {
        diags.report(Code::E0202, a.span, "this has no value");
        return errorValue();
      }
      if (!isAValue(*a.value, a.expr))
        return errorValue();
      if (!a.name.empty()) {
        diags
            .report(Code::E0207, a.nameSpan,
                    "`" + f.name + "` has no parameter `" + std::string(a.name) + "`")
            .help("put it into the text: `print(f\"…\")`");
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
      if (isQueue(t))
        break;
      diags.report(Code::E0206, args[0].span, "`len` is not defined for " + show(t));
      return errorValue();
    }
    return hostInt(dims.newSymbolDim({textOf(whole), SymbolRole::HostInt, true, whole->span}));
  }
  case ShapeRule::Option:
    if (!checkAll() || !needs(2, 2))
      return errorValue();
    return optionValue(args, whole);
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
      diags
          .report(Code::E0602, args[0].span,
                  "a device is named by a string, this is " + show(*name))
          .help("write `device(\"cpu:0\")`");
      return errorValue();
    }
    if (name->constant == Value::StringConstant) {
      std::string text(name->text);
      size_t colon = text.find(':');
      std::string kind = text.substr(0, colon),
                  number = colon == std::string::npos ? "0" : text.substr(colon + 1);
      bool digits =
          !number.empty() && number.size() <= 4 &&
          std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (kind != "cpu" || !digits) {
        bool isGpu = digits && (kind == "gpu" || kind == "cuda");
        diags
            .report(Code::E0602, args[0].span,
                    isGpu ? "there is no device `" + text + "`: this mx computes on CPUs only"
                          : "`" + text + "` is not a device")
            .help("the devices are `cpu:0` and `cpu:1`: write `device(\"cpu:0\")`");
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
      diags.report(Code::E0207, args.empty() ? argsSpan : args[0].span,
                   "`" + f.name + "` starts with the path of a file");
      return errorValue();
    }
    for (size_t i = 1; i < args.size(); ++i) {
      Arg &a = args[i];
      const Type *type = a.value->type;
      bool isHandle = type->is(Kind::Nominal) && type->nominal->isHandle; // it stays the same
      if (restore) {
        ParamInfo p;
        p.name = "value";
        p.isMut = !isHandle;
        if (!checkMutArgument(p, a, "restore", {}))
          return errorValue();
        if (!isHandle)
          continue;
      }
      if (a.isMut) {
        diags.report(Code::E0210, a.span, "`save` does not change what it saves")
            .caret("leave out `mut`");
        return errorValue();
      }
      if (a.name.empty() && pathOf(a.expr).empty()) {
        diags.report(Code::E0207, a.span, "a saved value needs a name")
            .help("write `name=" + textOf(a.expr) + "`");
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
    if (!t->is(Kind::Range) && !t->is(Kind::Loader) && !t->is(Kind::Dataset) &&
        !t->is(Kind::Array)) {
      diags.report(Code::E0223, args[0].span, "this cannot be looped over: it is " + show(t));
      return errorValue();
    }
    for (size_t i = 1; i < args.size(); ++i)
      if (!args[i].name.empty() && args[i].name != "label" && args[i].name != "show") {
        diags
            .report(Code::E0207, args[i].nameSpan,
                    "`progress` has no parameter `" + std::string(args[i].name) + "`")
            .note("its parameters are iterable, label, show");
        return errorValue();
      }
    return hostValue(types.progress(t));
  }
  case ShapeRule::Log:
    if (!checkAll() || !needs(2, 3))
      return errorValue();
    for (size_t i = 0; i < args.size(); ++i)
      if (!args[i].name.empty() && args[i].name != f.params[i].name) {
        diags
            .report(Code::E0207, args[i].nameSpan,
                    "`log` has no parameter `" + std::string(args[i].name) + "` here")
            .note("its parameters are name, value, step");
        return errorValue();
      }
    if (args.size() == 3 &&
        !require(*args[2].value, types.scalar(ElementType::I64), args[2].span, "`step`"))
      return errorValue();
    return hostValue(types.nothing());
  case ShapeRule::Map: {
    if (!needs(2, 2))
      return errorValue();
    const Value *set = args[0].value ? args[0].value : check(args[0].expr);
    if (set->type->isError())
      return errorValue();
    bool filters = f.primitive->name == "filter_items";
    std::string name = filters ? "`filter`" : "`map`";
    if (!set->type->is(Kind::Dataset)) {
      diags.report(Code::E0202, args[0].span,
                   name + (filters ? " keeps" : " changes") + " items of a data set, this is " +
                       show(*set));
      return errorValue();
    }
    const Type *item =
        set->type->parts.size() == 1 ? set->type->parts[0] : types.tuple(set->type->parts);
    auto *lambda = as<Lambda>(args[1].expr);
    bool spread = lambda && lambda->func->params.size() == set->type->parts.size();
    const Value *fn =
        check(args[1].expr,
              types.fn(spread ? set->type->parts : std::vector<const Type *>{item}, nullptr));
    if (fn->type->isError())
      return errorValue();
    if (!fn->type->is(Kind::Fn)) {
      diags.report(Code::E0202, args[1].span, name + " takes a function, this is " + show(*fn));
      return errorValue();
    }
    const Type *result = fn->type->element;
    if (filters) {
      if (result->isScalar() && result->elem == ElementType::Bool)
        return hostValue(set->type);
      diags
          .report(Code::E0202, args[1].span,
                  "`filter` keeps the items for which its function says true, this one gives " +
                      show(result))
          .help("compare something: `set.filter(fn(x, y) { y < 5 })`");
      return errorValue();
    }
    return hostValue(
        types.dataset(result->is(Kind::Tuple) ? result->parts : std::vector<const Type *>{result}));
  }
  case ShapeRule::SameData: {
    if (!checkAll() || !needs(f.params.size(), f.params.size()))
      return errorValue();
    if (!args[0].value->type->is(Kind::Dataset)) {
      diags.report(Code::E0202, args[0].span,
                   "`" + f.name + "` takes items of a data set, this is " + show(*args[0].value));
      return errorValue();
    }
    for (size_t i = 1; i < args.size(); ++i)
      if (!require(*args[i].value, types.scalar(ElementType::I64), args[i].span,
                   "`" + f.params[i].name + "`"))
        return errorValue();
    return hostValue(args[0].value->type);
  }
  case ShapeRule::Rows:
    return rowsValue(args, argsSpan);
  case ShapeRule::Sequences:
    return sequencesValue(args, whole, argsSpan);
  case ShapeRule::Concat:
  case ShapeRule::Stack: {
    bool concat = f.primitive->rule == ShapeRule::Concat;
    auto positional = [&] {
      return std::count_if(args.begin(), args.end(), [](const Arg &a) { return a.name.empty(); });
    };
    // `concat([a, b])` joins the elements of the list. The list itself is not a tensor.
    auto only = std::find_if(args.begin(), args.end(), [](const Arg &a) { return a.name.empty(); });
    if (auto *list = positional() == 1 ? as<ListExpr>(only->expr) : nullptr;
        list && !list->elements.empty()) {
      std::vector<Arg> parts;
      std::vector<const Type *> found;
      for (Expr *element : list->elements) {
        Arg part;
        part.expr = element;
        part.span = element->outerSpan;
        part.value = check(element);
        found.push_back(part.value->type);
        parts.push_back(part);
      }
      list->checked = arena.make<Value>(valueOf(types.tuple(found)));
      args.insert(args.erase(only), parts.begin(), parts.end());
    }
    if (!checkAll())
      return errorValue();
    int64_t axis = 0;
    std::vector<Shape> shapes;
    const Value *first = nullptr;
    Arg *firstArg = nullptr;
    const Type *array = nullptr; // an array of tensors, instead of separate arguments
    for (Arg &a : args) {
      if (a.name == "axis") {
        auto n = staticInt(a.expr, "an axis");
        if (!n)
          return errorValue();
        axis = *n;
        continue;
      }
      if (!a.name.empty()) {
        diags.report(Code::E0207, a.nameSpan,
                     "`" + f.name + "` has no parameter `" + std::string(a.name) + "`");
        return errorValue();
      }
      const Type *t = a.value->type;
      if (t->is(Kind::Array) && t->element->isTensor() && positional() == 1) {
        array = t;
        t = t->element;
      }
      if (!t->isTensor()) {
        diags.report(Code::E0202, a.span, "`" + f.name + "` joins tensors, this is " + show(t));
        return errorValue();
      }
      if (first &&
          !commonElem(f.name, *first, *a.value, firstArg->expr, a.expr, a.expr->outerSpan).valid())
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
    ShapeResult r =
        concat ? concatShapes(shapes, axis, facts()) : stackShapes(shapes, axis, facts());
    if (!r.ok()) {
      std::string list;
      for (const Arg &a : args)
        if (a.name.empty())
          list += (list.empty() ? "" : " and ") + show(*a.value);
      if (r.problem.kind == ShapeProblem::AxisRange)
        diags.report(Code::E0311, whole->span,
                     "axis " + std::to_string(axis) + " is out of range for " + show(*first));
      else if (r.problem.kind == ShapeProblem::Mismatch)
        diags
            .report(Code::E0308, whole->span,
                    "`" + f.name + "` needs equal sizes" + (concat ? " but for the axis" : "") +
                        ": " + list)
            .caret("dimension " + std::to_string(r.problem.axis) + ": " +
                   mayDiffer(r.problem.left, r.problem.right, r.problem.answer));
      else
        diags.report(Code::E0308, whole->span,
                     "`" + f.name + "` needs tensors of one rank: " + list);
      return errorValue();
    }
    addConditions(r.conditions, whole->span);
    if (shapes[0].empty() && concat) {
      diags.report(Code::E0314, whole->span, "single values have no axis to join along")
          .help("write `stack(…)`");
      return errorValue();
    }
    const Type *part = array ? array->element : first->type;
    if (array) { // each has the part's size along the axis; along a new axis 1
      auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(r.shape.size()) : axis);
      r.shape[at].dim = dims.mul(r.shape[at].dim, array->count);
    }
    return valueOf(types.tensor(part->elem, r.shape, part->device));
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

/// The name of the `const` that is being evaluated: `d0` in `const d0 = device("cpu:0")`.
std::string Sema::constBeingMade() const {
  for (const Symbol &s : symbols)
    if (s.resolving && s.bind == BindKind::Const)
      return std::string(s.name);
  return "";
}

} // namespace mx::sema
