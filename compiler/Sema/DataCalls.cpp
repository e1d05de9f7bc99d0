// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of data set and loader builtins, and of `leaves` and `summary` of models.
#include "Sema/Internals.h"

namespace mx::sema {
using namespace ast;

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
  static const char *const names[] = {"set", "batch", "shuffle", "last", "prefetch", "buckets"};
  constexpr size_t count = std::size(names);
  Arg *found[count] = {};
  size_t position = 0;
  for (Arg &a : args) {
    size_t index = count;
    if (a.name.empty())
      index = position++;
    else
      for (size_t i = 0; i < count; ++i)
        if (a.name == names[i])
          index = i;
    check(a.expr);
    if (index >= count) {
      diags
          .report(Code::E0207, a.name.empty() ? a.span : a.nameSpan,
                  "`loader` has no parameter `" + std::string(a.name) + "`")
          .note("its parameters are set, batch, shuffle, last, prefetch, buckets");
      return errorValue();
    }
    found[index] = &a;
    a.value = a.expr->checked;
    if (a.value->type->isError())
      return errorValue();
  }
  if (!found[0] || !found[1]) {
    diags
        .report(Code::E0207, whole->span,
                found[0] ? "`loader` needs `batch`" : "`loader` needs a data set")
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
      diags.report(Code::E0202, rng->span, "`shuffle` takes an `Rng`, this is " + show(*rng->value))
          .help("write `shuffle=mut rng`");
      return errorValue();
    }
    if (!checkMutArgument(p, *rng, "loader", {}))
      return errorValue();
  }
  if (const Value *bounds = found[5] ? found[5]->value : nullptr;
      bounds && !(bounds->type->isTensor() && bounds->type->shape.size() == 1 &&
                  types.isInt(bounds->type->elem))) {
    diags
        .report(Code::E0202, found[5]->span,
                "`buckets` is a list of lengths, this is " + show(*bounds))
        .help("write `buckets=[16, 32, 64]`");
    return errorValue();
  }
  std::string last = "keep";
  if (found[3]) {
    const Value *v = found[3]->value;
    if (v->constant != Value::StringConstant ||
        (v->text != "keep" && v->text != "drop" && v->text != "pad")) {
      diags
          .report(Code::E0701, found[3]->expr->outerSpan,
                  "`last` is \"keep\", \"drop\" or \"pad\", this is " + textOf(found[3]->expr))
          .note("it says what happens to the items that do not fill a batch");
      return errorValue();
    }
    last = std::string(v->text);
  }
  // Every batch is full with "drop" or "pad". The last one may be smaller with "keep".
  bool full = last != "keep";
  std::string note;
  if (full && batch->dim)
    note = "the loader was made with last=\"" + last + "\", so each batch has " +
           dims.print(batch->dim) + " rows";
  const Type *type = types.loader(set->parts, full ? batch->dim : Dim(), note + (full ? "" : " "));
  if (!full) {
    type = types.loader(set->parts, {}, batch->dim ? "" : " ");
    if (batch->dim)
      loaderBounds[type] = batch->dim;
  }
  return hostValue(type);
}

/// data.rows(x, y): tensors of equal length, split along their first dimension.
Value Sema::rowsValue(std::vector<Arg> &args, Span argsSpan) {
  std::vector<const Type *> items;
  Dim length;
  for (Arg &a : args) {
    if (!a.value)
      a.value = check(a.expr);
    const Type *t = a.value->type;
    if (t->isError())
      return errorValue();
    if (!a.name.empty() || !t->isTensor() || t->shape.empty() || t->shape[0].isPack()) {
      diags.report(a.name.empty() ? Code::E0202 : Code::E0207, a.name.empty() ? a.span : a.nameSpan,
                   a.name.empty() ? "`rows` takes tensors apart, this is " + show(*a.value)
                                  : "`rows` has no parameter `" + std::string(a.name) + "`");
      return errorValue();
    }
    Dim here = t->shape[0].dim;
    if (!length)
      length = here;
    // Lengths that are known only at run time, as those of files, are compared at run time.
    if (length.constant() && here.constant() && *length.constant() != *here.constant()) {
      diags
          .report(Code::E0308, a.span,
                  "`rows` takes tensors of one length: " + show(*args[0].value) + " and " +
                      show(*a.value))
          .caret(dims.print(length) + " is not " + dims.print(here));
      return errorValue();
    }
    items.push_back(types.tensor(t->elem, Shape(t->shape.begin() + 1, t->shape.end())));
  }
  if (items.empty()) {
    diags.report(Code::E0207, argsSpan, "`rows` needs tensors").help("write `data.rows(x, y)`");
    return errorValue();
  }
  return hostValue(types.dataset(std::move(items)));
}

/// data.sequences(values, lengths, y): consecutive segments of `values`, then their lengths and the
/// rows of the other tensors. Segments vary in length, so the size of a batch varies too.
Value Sema::sequencesValue(std::vector<Arg> &args, Expr *whole, Span argsSpan) {
  if (args.size() < 2) {
    diags.report(Code::E0207, argsSpan, "`sequences` needs values and lengths")
        .help("write `data.sequences(values, lengths)`");
    return errorValue();
  }
  std::vector<Arg> rows(args.begin() + 1, args.end());
  const Value *values = args[0].value ? args[0].value : check(args[0].expr);
  args[0].value = values;
  Value rest = rowsValue(rows, argsSpan);
  if (values->type->isError() || rest.type->isError())
    return errorValue();
  const Type *length = rest.type->parts[0];
  bool fits = args[0].name.empty() && values->type->isTensor() && values->type->shape.size() == 1 &&
              length->shape.empty() && length->elem == ElementType::I32;
  if (!fits) {
    diags
        .report(Code::E0202, whole->span,
                "`sequences` takes T[N] and i32[K], these are " + show(*values) + " and " +
                    show(*rows[0].value))
        .note("the lengths, one after the other, divide the values");
    return errorValue();
  }
  for (size_t i = 1; i < args.size(); ++i)
    args[i].value = rows[i - 1].value;
  std::vector<const Type *> items = rest.type->parts;
  Dim open = dims.newSymbolDim({"?", SymbolRole::Unknown, true, whole->span});
  items.insert(items.begin(), types.tensor(values->type->elem, {axisOf(open)}));
  return hostValue(types.dataset(std::move(items)));
}

/// set.crop(28, 28): a data set whose items begin with an image. The image may get another size.
Value Sema::changedPictures(const FunctionInfo &f, const Arg &set, const Arg *height,
                            const Arg *width) {
  std::string name = "`" + f.name.substr(0, f.name.find('_')) + "`";
  const Type *type = set.value->type;
  if (!type->is(Kind::Dataset)) {
    diags.report(Code::E0202, set.span,
                 name + " changes the pictures of a data set, this is " + show(*set.value));
    return errorValue();
  }
  const Type *picture = type->parts[0];
  if (!picture->isTensor() || picture->elem != ElementType::F32 || picture->shape.size() != 3 ||
      hasPack(picture->shape)) {
    diags
        .report(Code::E0202, set.span,
                name + " changes pictures, the items begin with " + show(picture))
        .note("a picture is f32[channels, height, width]")
        .help("give the items this form first: "
              "`set.map(fn(x, y) { (x.reshape([1, 28, 28]), y) })`");
    return errorValue();
  }
  if (!height || !width)
    return hostValue(type);
  Shape shape = picture->shape;
  auto sizeOf = [&](const Arg &a) {
    return axisOf(a.value->dim ? a.value->dim
                               : dims.newSymbolDim({"?", SymbolRole::Unknown, true, a.span}));
  };
  shape[1] = sizeOf(*height);
  shape[2] = sizeOf(*width);
  std::vector<const Type *> parts = type->parts;
  parts[0] = types.tensor(picture->elem, std::move(shape), picture->device);
  return hostValue(types.dataset(std::move(parts)));
}

/// for (p, g, v) in leaves(mut net, grad, mut vel): one iteration per parameter, fully unrolled.
/// With `rank=2` only matrices are visited, and their sizes have names.
Value Sema::leavesValue(std::vector<Arg> &args, Expr *whole) {
  std::vector<const Type *> parts;
  std::vector<bool> mutability;
  const Type *model = nullptr;
  // All leaves of one iteration have the same type. Parameters are f32 unless a model says
  // otherwise.
  Shape shape = {Axis{{}, types.newPack("S")}};
  for (const Arg &a : args) {
    if (a.name != "rank")
      continue;
    auto rank = staticInt(a.expr, "a rank");
    if (!rank)
      return errorValue();
    if (*rank < 0 || *rank > limits::kMaxRank) {
      diags.report(Code::E0309, a.span,
                   "a rank is 0 to " + std::to_string(limits::kMaxRank) + ", this is " +
                       std::to_string(*rank));
      return errorValue();
    }
    shape.clear();
    for (int64_t i = 0; i < *rank; ++i)
      shape.push_back(
          axisOf(dims.newSymbolDim({"S" + std::to_string(i), SymbolRole::HostInt, true, a.span})));
  }
  const Type *leaf = types.tensor(ElementType::F32, shape);
  for (Arg &a : args) {
    if (a.name == "rank")
      continue;
    const Value *v = check(a.expr);
    if (v->type->isError())
      return errorValue();
    const Type *of = v->type->is(Kind::Grad) ? v->type->element : v->type;
    if (!isModel(of)) {
      diags.report(Code::E0202, a.span,
                   "`leaves` walks models and their gradients, this is " + show(*v));
      return errorValue();
    }
    if (model && !equalTypes(model, of)) {
      diags.report(Code::E0202, a.span,
                   "`leaves` walks matching values: " + show(model) + " and " + show(of) +
                       " differ");
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
  return valueOf(
      types.array(element, dims.newSymbolDim({"leaves", SymbolRole::HostInt, true, whole->span})));
}

/// summary(net), or summary(net, x) with the arguments of a call of `net`.
Value Sema::summaryValue(std::vector<Arg> &args, Expr *whole, Span argsSpan) {
  if (args.empty() || !args[0].name.empty()) {
    for (Arg &a : args)
      check(a.expr);
    diags.report(Code::E0207, argsSpan, "`summary` takes a model, and what it is called with")
        .help("write `summary(net)` or `summary(net, x)`");
    return errorValue();
  }
  const Value *net = check(args[0].expr);
  const Type *type = net->type;
  while (type->is(Kind::Array))
    type = type->element;
  if (!isModel(type)) {
    for (Arg &a : args)
      check(a.expr);
    if (!type->isError())
      diags.report(Code::E0202, args[0].span, "`summary` describes a model, this is " + show(*net));
    return errorValue();
  }
  if (context->inGraph) {
    diags.report(Code::E0401, whole->span, "a graph cannot print a summary")
        .label(context->graphSpan, "a graph is compiled as a whole")
        .help("call `summary` where the graph is called");
    return errorValue();
  }
  if (args.size() > 1) {
    const CallInfo *call = nullptr;
    std::vector<Arg> given(args.begin() + 1, args.end());
    Value result = callValue(*net, args[0].expr, std::move(given), whole, argsSpan, &call, nullptr);
    if (result.type->isError())
      return errorValue();
    summaryCalls[whole] = call;
  }
  return hostValue(types.nothing());
}

} // namespace mx::sema
