// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rearrange("b (h k) -> b h k", h=4) and einsum("b i k, k j -> b i j"). The checker has parsed the
// patterns; here they are lowered to transposes, reshapes, matmuls and sums.
#include "IRGen/Compose.h"
#include "llvm/ADT/StringExtras.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

SmallVector<Composer::Side> Composer::sides(StringRef pattern, Side &output) {
  auto read = [](StringRef text) {
    Side side;
    bool open = false;
    while (!(text = text.ltrim()).empty()) {
      if (text.consume_front("(")) {
        open = true;
        side.groups.emplace_back();
      } else if (text.consume_front(")")) {
        open = false;
      } else {
        StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
        if (name.empty())
          break; // rejected by the checker
        text = text.drop_front(name.size());
        if (!open)
          side.groups.emplace_back();
        if (open || name != "1")
          side.groups.back().push_back(name.str());
      }
    }
    return side;
  };
  auto [left, right] = pattern.split("->");
  output = read(right);
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  SmallVector<Side> out;
  for (StringRef part : parts)
    out.push_back(read(part));
  return out;
}

mlir::Value Composer::rearrange(const Call &call) {
  // Size names are further arguments, so arguments are taken as written.
  mlir::Value x;
  std::optional<std::string> pattern;
  for (const Argument *a : call.given)
    if (a->value->checked && a->value->checked->constant == sema::Value::StringConstant)
      pattern = std::string(a->value->checked->text);
    else if (!x && (a->name.text.empty() || a->name.text == "x"))
      x = e.toDevice(e.emit(a->value));
  if (!x || !pattern)
    return fail(call, "a pattern that is not known");
  Side output;
  SmallVector<Side> inputs = sides(*pattern, output);
  std::map<std::string, ir::SizeAttr> known;
  for (const Argument *a : call.given)
    if (!a->name.text.empty() && a->name.text != "pattern" && a->value->checked &&
        a->value->checked->dim)
      known[std::string(a->name.text)] = e.size(a->value->checked->dim);
  Sizes apart;
  SmallVector<std::string> names;
  for (auto [group, whole] : llvm::zip(inputs[0].groups, sizesOf(x))) {
    // One size of a group may be inferred from the others.
    ir::SizeAttr rest = whole;
    for (const std::string &name : group)
      if (known.count(name))
        rest = div(rest, known[name]);
    for (const std::string &name : group) {
      if (!known.count(name))
        known[name] = rest;
      apart.push_back(known[name]);
      names.push_back(name);
    }
  }
  SmallVector<int64_t> order;
  for (const auto &group : output.groups)
    for (const std::string &name : group)
      order.push_back(llvm::find(names, name) - names.begin());
  if (order.size() != names.size())
    return fail(call, "a pattern that leaves out a name");
  return finish(call, transpose(reshape(x, apart), order));
}

// ------------------------------------------------------------------------------------------
// einsum

/// A label that occurs twice in one operand denotes its diagonal.
Composer::Labelled Composer::withoutRepeats(Labelled x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    auto again = std::find(x.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, x.labels.end(),
                           x.labels[i]);
    if (again == x.labels.end())
      continue;
    auto j = static_cast<size_t>(again - x.labels.begin());
    SmallVector<int64_t> order{static_cast<int64_t>(i), static_cast<int64_t>(j)};
    Labelled out;
    out.labels.push_back(x.labels[i]);
    for (size_t k = 0; k < x.labels.size(); ++k)
      if (k != i && k != j) {
        order.push_back(static_cast<int64_t>(k));
        out.labels.push_back(x.labels[k]);
      }
    mlir::Value position = counted(sizesOf(x.value)[i]);
    out.value = gatherAt(transpose(x.value, order), {position, position});
    return withoutRepeats(std::move(out));
  }
  return x;
}

/// Labels that are neither in the result nor in another operand are summed first.
Composer::Labelled Composer::summed(Labelled x, const std::set<std::string> &kept) {
  SmallVector<int64_t> gone;
  Labelled out;
  for (auto [i, label] : llvm::enumerate(x.labels))
    if (kept.count(label))
      out.labels.push_back(label);
    else
      gone.push_back(static_cast<int64_t>(i));
  out.value = gone.empty() ? x.value : e.reduce("sum", x.value, gone, /*keep=*/false);
  return out;
}

Composer::Labelled Composer::ordered(Labelled x, ArrayRef<std::string> labels) {
  SmallVector<int64_t> order;
  for (const std::string &label : labels)
    order.push_back(llvm::find(x.labels, label) - x.labels.begin());
  return {transpose(x.value, order), SmallVector<std::string>(labels)};
}

Composer::Labelled Composer::contract(Labelled x, Labelled y, const std::set<std::string> &kept) {
  SmallVector<std::string> batch, inner, left, right;
  for (const std::string &label : x.labels) {
    if (!llvm::is_contained(y.labels, label))
      left.push_back(label);
    else
      (kept.count(label) ? batch : inner).push_back(label);
  }
  for (const std::string &label : y.labels)
    if (!llvm::is_contained(x.labels, label))
      right.push_back(label);
  auto joined = [](std::initializer_list<ArrayRef<std::string>> lists) {
    SmallVector<std::string> out;
    for (ArrayRef<std::string> list : lists)
      out.append(list.begin(), list.end());
    return out;
  };
  x = ordered(std::move(x), joined({batch, left, inner}));
  y = ordered(std::move(y), joined({batch, inner, right}));
  Sizes a = sizesOf(x.value), b = sizesOf(y.value);
  ArrayRef<ir::SizeAttr> as(a), bs(b);
  auto batchSizes = as.take_front(batch.size());
  auto leftSizes = as.drop_front(batch.size()).take_front(left.size());
  auto innerSizes = as.take_back(inner.size());
  auto rightSizes = bs.take_back(right.size());
  Sizes out(batchSizes);
  out.append(leftSizes.begin(), leftSizes.end());
  out.append(rightSizes.begin(), rightSizes.end());
  SmallVector<std::string> labels = joined({batch, left, right});
  if (inner.empty()) {
    // No reduction: an elementwise outer product.
    Sizes wide(batchSizes);
    wide.append(leftSizes.begin(), leftSizes.end());
    wide.append(right.size(), size(1));
    Sizes tall(batchSizes);
    tall.append(left.size(), size(1));
    tall.append(rightSizes.begin(), rightSizes.end());
    return {e.elementwise("mul", {reshape(x.value, wide), reshape(y.value, tall)}), labels};
  }
  Sizes first, second;
  if (!batch.empty())
    first = second = {product(batchSizes)};
  first.append({product(leftSizes), product(innerSizes)});
  second.append({product(innerSizes), product(rightSizes)});
  return {reshape(matmul(reshape(x.value, first), reshape(y.value, second)), out), labels};
}

mlir::Value Composer::einsum(const Call &call) {
  std::optional<std::string> pattern;
  SmallVector<mlir::Value> tensors;
  const Type *type = e.concrete(call.info->result ? call.info->result : call.whole->checked->type);
  mlir::Type element = e.elementType(type->elem);
  for (const Argument *a : call.given) {
    if (a->value->checked && a->value->checked->constant == sema::Value::StringConstant) {
      pattern = std::string(a->value->checked->text);
      continue;
    }
    tensors.push_back(e.toDevice(e.emitAs(a->value, element)));
    if (!tensors.back())
      return {};
  }
  if (!pattern)
    return fail(call, "a pattern that is not known");
  Side output;
  SmallVector<Side> inputs = sides(*pattern, output);
  auto labelsOf = [](const Side &side) {
    SmallVector<std::string> out;
    for (const auto &group : side.groups)
      if (group.size() == 1)
        out.push_back(group[0]);
    return out;
  };
  SmallVector<std::string> wanted = labelsOf(output);
  if (inputs.size() != tensors.size() || wanted.size() != output.groups.size())
    return fail(call, "a pattern with groups");
  SmallVector<Labelled> terms;
  for (auto [side, value] : llvm::zip_equal(inputs, tensors)) {
    terms.push_back({value, labelsOf(side)});
    if (terms.back().labels.size() != rankOf(value))
      return fail(call, "a pattern with groups");
    terms.back() = withoutRepeats(std::move(terms.back()));
  }
  // Labels that the result or a later operand still needs.
  auto needed = [&](size_t from) {
    std::set<std::string> out(wanted.begin(), wanted.end());
    for (size_t k = from; k < terms.size(); ++k)
      out.insert(terms[k].labels.begin(), terms[k].labels.end());
    return out;
  };
  Labelled all = summed(terms[0], needed(1));
  for (size_t k = 1; k < terms.size(); ++k) {
    std::set<std::string> kept = needed(k + 1), forNext = kept;
    forNext.insert(all.labels.begin(), all.labels.end());
    all = contract(std::move(all), summed(terms[k], forNext), kept);
    all = summed(std::move(all), kept);
  }
  return finish(call, ordered(std::move(all), wanted).value);
}

} // namespace mx::irgen
