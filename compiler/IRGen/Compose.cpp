// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering of composite primitives: size arithmetic, building blocks and argument access.
#include "IRGen/Compose.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <limits>

namespace mx::irgen {
using namespace mlir;
using namespace ast;

// ------------------------------------------------------------------------------------------
// sizes

ir::SizeAttr Composer::product(ArrayRef<ir::SizeAttr> sizes) {
  ir::SizeAttr all = size(1);
  for (ir::SizeAttr s : sizes)
    all = mul(all, s);
  return all;
}

mlir::Value Composer::number(ir::SizeAttr size) {
  if (auto known = size.constant())
    return e.constantInt(*known);
  return e.create<ir::SizeOp>(ir::TensorType::host(e.builder.getI64Type()), size);
}

// ------------------------------------------------------------------------------------------
// building blocks

mlir::Value Composer::reshape(mlir::Value x, ArrayRef<ir::SizeAttr> sizes) {
  if (e.tensor(x).getSizes() == sizes)
    return x;
  return e.create<ir::ReshapeOp>(e.tensor(x).withSizes(sizes), x);
}

mlir::Value Composer::transpose(mlir::Value x, ArrayRef<int64_t> order) {
  if (llvm::equal(order, llvm::seq<int64_t>(0, static_cast<int64_t>(order.size()))))
    return x;
  Sizes sizes;
  for (int64_t axis : order)
    sizes.push_back(e.tensor(x).getSizes()[static_cast<size_t>(axis)]);
  return e.create<ir::TransposeOp>(e.tensor(x).withSizes(sizes), x,
                                   e.builder.getDenseI64ArrayAttr(order));
}

mlir::Value Composer::broadcast(mlir::Value x, ArrayRef<ir::SizeAttr> sizes) {
  if (e.tensor(x).getSizes() == sizes)
    return x;
  return e.create<ir::BroadcastOp>(e.tensor(x).withSizes(sizes), x);
}

mlir::Value Composer::concat(ArrayRef<mlir::Value> parts, size_t axis) {
  if (parts.size() == 1)
    return parts[0];
  Sizes sizes = sizesOf(parts[0]);
  sizes[axis] = size(0);
  for (mlir::Value part : parts)
    sizes[axis] = add(sizes[axis], e.tensor(part).getSizes()[axis]);
  return e.create<ir::ConcatOp>(e.tensor(parts[0]).withSizes(sizes), parts,
                                e.builder.getI64IntegerAttr(static_cast<int64_t>(axis)));
}

mlir::Value Composer::take(mlir::Value x, mlir::Value index, size_t axis) {
  ArrayRef<ir::SizeAttr> from = e.tensor(x).getSizes();
  Sizes sizes(from.take_front(axis));
  llvm::append_range(sizes, e.tensor(index).getSizes());
  llvm::append_range(sizes, from.drop_front(axis + 1));
  return e.create<ir::TakeOp>(e.tensor(x).withSizes(sizes), x, index,
                              e.builder.getI64IntegerAttr(static_cast<int64_t>(axis)));
}

mlir::Value Composer::full(mlir::Value value, ArrayRef<ir::SizeAttr> sizes) {
  return e.create<ir::FullOp>(ir::TensorType::get(&e.shared.context, e.elementOf(value), sizes),
                              value);
}
mlir::Value Composer::full(mlir::Type element, double value, ArrayRef<ir::SizeAttr> sizes) {
  return full(e.constantNumber(element, value, 0, false), sizes);
}

mlir::Value Composer::counted(ir::SizeAttr count) {
  return e.create<ir::IotaOp>(
      ir::TensorType::get(&e.shared.context, e.builder.getI64Type(), ArrayRef(count)));
}

mlir::Value Composer::countedAlong(ir::SizeAttr count, size_t axis, size_t rank) {
  Sizes sizes(rank, size(1));
  sizes[axis] = count;
  return reshape(counted(count), sizes);
}

mlir::Value Composer::part(mlir::Value x, size_t axis, mlir::Value from, mlir::Value to,
                           ir::SizeAttr count) {
  SmallVector<std::string> spec(rankOf(x), ":");
  spec[axis] = "rft";
  Sizes sizes = sizesOf(x);
  sizes[axis] = count;
  return e.create<ir::SliceOp>(e.tensor(x).withSizes(sizes), x, ValueRange{from, to},
                               e.specAttr(spec));
}

mlir::Value Composer::matmul(mlir::Value x, mlir::Value y) {
  Sizes a = sizesOf(x), b = sizesOf(y), batch;
  // The batch axes broadcast to each other.
  ArrayRef<ir::SizeAttr> p = ArrayRef(a).drop_back(2), q = ArrayRef(b).drop_back(2);
  for (size_t back = std::max(p.size(), q.size()); back > 0; --back) {
    ir::SizeAttr s = back <= p.size() ? p[p.size() - back] : size(1);
    if (s.constant() == 1 && back <= q.size())
      s = q[q.size() - back];
    batch.push_back(s);
  }
  batch.push_back(a[a.size() - 2]);
  batch.push_back(b.back());
  return e.create<ir::MatmulOp>(e.tensor(x).withSizes(batch), x, y);
}

mlir::Value Composer::flip(mlir::Value x, size_t axis) {
  SmallVector<std::string> spec(rankOf(x), ":");
  spec[axis] = "rs";
  return e.create<ir::SliceOp>(e.tensor(x), x, ValueRange{e.constantInt(-1)}, e.specAttr(spec));
}

mlir::Value Composer::widen(mlir::Value x, size_t axis, ir::SizeAttr before, ir::SizeAttr after,
                            mlir::Value value) {
  SmallVector<mlir::Value> parts;
  Sizes sizes = sizesOf(x);
  auto border = [&](ir::SizeAttr width) {
    if (width.constant() == 0)
      return;
    sizes[axis] = width;
    parts.push_back(full(value, sizes));
  };
  border(before);
  parts.push_back(x);
  border(after);
  return concat(parts, axis);
}

/// An out-of-bounds index of one axis may be in bounds of the flattened tensor, so each index is
/// looked up in an iota of its axis: `take` rejects it there with its own number and axis, and
/// handles negative indices.
mlir::Value Composer::within(mlir::Value position, ir::SizeAttr count, int64_t axis) {
  position = e.toDevice(position);
  Sizes table(static_cast<size_t>(axis), size(1));
  table.push_back(count);
  mlir::Value flat = reshape(position, product(sizesOf(position)));
  mlir::Value found = take(reshape(counted(count), table), flat, static_cast<size_t>(axis));
  return reshape(found, sizesOf(position));
}

mlir::Value Composer::gatherAt(mlir::Value x, ArrayRef<mlir::Value> positions,
                                 ArrayRef<int64_t> axes) {
  Sizes sizes = sizesOf(x);
  ArrayRef<ir::SizeAttr> taken = ArrayRef(sizes).take_front(positions.size());
  mlir::Value linear;
  for (auto [i, position] : llvm::enumerate(positions)) {
    mlir::Value at = axes.empty() ? position : within(position, taken[i], axes[i]);
    mlir::Value scaled = e.elementwise("mul", {at, number(product(taken.drop_front(i + 1)))});
    linear = linear ? e.elementwise("add", {linear, scaled}) : scaled;
  }
  Sizes flat{product(taken)};
  llvm::append_range(flat, ArrayRef(sizes).drop_front(positions.size()));
  return take(reshape(x, flat), e.toDevice(linear), 0);
}

mlir::Value Composer::takeAlong(mlir::Value x, mlir::Value index, size_t axis, bool safe) {
  size_t rank = rankOf(index);
  if (rank == 1)
    return take(x, index, 0);
  Sizes sizes = sizesOf(index);
  SmallVector<mlir::Value> positions;
  for (size_t i = 0; i < rank; ++i)
    positions.push_back(countedAlong(sizes[i], i, rank));
  positions[axis] = e.cast(index, e.builder.getI64Type());
  if (!safe)
    positions[axis] = within(positions[axis], sizesOf(x)[axis], static_cast<int64_t>(axis));
  return gatherAt(x, positions);
}

mlir::Value Composer::smallest(mlir::Type element) {
  if (isa<FloatType>(element))
    return e.constantNumber(element, -std::numeric_limits<double>::infinity(), 0, false);
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || width == 1;
  int64_t min = isUnsigned ? 0 : llvm::APInt::getSignedMinValue(width).getSExtValue();
  return e.constantNumber(element, 0, min, true);
}

// ------------------------------------------------------------------------------------------
// arguments

mlir::Value Composer::fail(const Call &call, const std::string &what) {
  return e.shared.failed ? mlir::Value() : e.unsupported(call.whole->span, what);
}

mlir::Value Composer::operand(const Call &call, StringRef name) {
  mlir::Value given = e.emitOperand(call, name);
  return given ? e.toDevice(given) : mlir::Value();
}

std::optional<SmallVector<int64_t>> Composer::axes(const Call &call, StringRef name, size_t rank) {
  const Expr *given = e.argument(call, name);
  auto out = given ? e.staticInts(given) : std::nullopt;
  if (out)
    for (int64_t &a : *out)
      a += a < 0 ? static_cast<int64_t>(rank) : 0;
  return out;
}

std::optional<size_t> Composer::axis(const Call &call, StringRef name, size_t rank) {
  auto found = axes(call, name, rank);
  if (!found || found->size() != 1)
    return std::nullopt;
  return static_cast<size_t>((*found)[0]);
}

std::optional<std::string> Composer::word(const Call &call, StringRef name) {
  const Expr *given = e.argument(call, name);
  if (!given || !given->checked || given->checked->constant != sema::Value::StringConstant)
    return std::nullopt;
  return std::string(given->checked->text);
}

mlir::Value Composer::finish(const Call &call, mlir::Value value) {
  if (!value)
    return {};
  const Type *type = e.concrete(call.info->result ? call.info->result : call.whole->checked->type);
  auto wanted = mlir::cast<ir::TensorType>(e.convert(type));
  return reshape(value, wanted.getSizes());
}

mlir::Value Composer::several(const Call &call, ArrayRef<mlir::Value> values) {
  const Type *type = e.concrete(call.info->result ? call.info->result : call.whole->checked->type);
  auto tuple = mlir::cast<ir::AggregateType>(e.convert(type));
  SmallVector<mlir::Value> parts;
  for (auto [value, wanted] : llvm::zip_equal(values, tuple.getParts()))
    parts.push_back(e.fit(value, wanted));
  return e.create<ir::MakeOp>(tuple, parts);
}

std::optional<mlir::Value> Composer::run(const Call &call) {
  StringRef name = call.name;
  if (name == "flip")
    return flips(call);
  if (name == "roll")
    return roll(call);
  if (name == "tile")
    return tile(call);
  if (name == "pad")
    return pad(call);
  if (name == "rearrange")
    return rearrange(call);
  if (name == "einsum")
    return einsum(call);
  if (name == "truncated_normal")
    return truncatedNormal(call);
  if (name == "conv1d" || name == "conv2d" || name == "conv3d")
    return convolution(call, static_cast<size_t>(name[4] - '0'));
  if (name.starts_with("conv") && name.ends_with("_transpose"))
    return transposedConvolution(call, static_cast<size_t>(name[4] - '0'));
  if (name == "maxpool2d" || name == "avgpool2d")
    return pool(call, /*spatial=*/2, /*isMax=*/name == "maxpool2d");
  if (name == "window_max" || name == "window_mean")
    return pool(call, /*spatial=*/1, /*isMax=*/name == "window_max");
  if (name == "cumsum" || name == "cumprod")
    return scan(call);
  if (name == "sort" || name == "argsort")
    return sort(call);
  if (name == "top_k")
    return topK(call);
  if (name.starts_with("scatter_"))
    return scatter(call);
  if (name == "jvp")
    return jvp(call);
  if (name == "vmap")
    return vmap(call);
  if (name == "nonzero")
    return nonzero(call);
  if (name == "unique")
    return unique(call);
  if (name == "solve" || name == "triangular_solve")
    return solve(call);
  if (StringRef(call.info->function->primitive->family) == "linear algebra")
    return factors(call);
  if (name == "take_along") {
    mlir::Value x = operand(call, "x"), index = operand(call, "index");
    if (!x || !index)
      return mlir::Value();
    auto at = axis(call, "axis", rankOf(x));
    if (!at || rankOf(index) != rankOf(x))
      return fail(call, "`take_along` with an axis that is not one number, or another rank,");
    return finish(call, takeAlong(x, index, *at));
  }
  return std::nullopt;
}

ir::SizeAttr Composer::sizeOption(const Call &call, StringRef name) {
  const Expr *given = e.argument(call, name);
  if (!given || !given->checked || !given->checked->dim)
    return {};
  // A window with a stride or a size of 0 sees nothing, so these are at least 1.
  int64_t min = llvm::is_contained({"stride", "dilation", "groups", "size"}, name) ? 1 : 0;
  if (auto number = e.number(given->checked->dim); number && *number < min) {
    if (!e.shared.failed)
      e.sema.diags
          .report(Code::E0701, call.whole->span,
                  "`" + name.str() + "` of `" + call.name.str() + "` is " + std::to_string(min) +
                      " or more, this is " + std::to_string(*number))
          .help("write `" + name.str() + "=" + std::to_string(std::max<int64_t>(min, 1)) + "`");
    e.shared.failed = true;
    return {};
  }
  return e.size(given->checked->dim);
}

} // namespace mx::irgen
