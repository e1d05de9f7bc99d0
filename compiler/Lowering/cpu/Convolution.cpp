// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes, addresses and masked row copies that all convolution algorithms share.
#include "Lowering/cpu/Convolution.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {

bool ConvAxis::isWhole() const {
  auto is = [](Value number, int64_t wanted) { return KernelEmitter::known(number) == wanted; };
  return is(window, 1) && is(stride, 1) && is(paddingLow, 0) && is(lhsDilation, 1) && size == out;
}

Convolution::Convolution(KernelEmitter &e, const OutputGroup &group)
    : TiledMatmul(e, group), op(cast<ConvOp>(source)) {
  e.b.setLoc(op.getLoc());
  findAxes();
}

void Convolution::begin() {
  prepare();
  e.b.setLoc(op.getLoc());
  isFlat = mayCountFlat();
}

// -------------------------------------------------------------------------------------- elements

void Convolution::findAxes() {
  auto operand = [&](Value value, Buffer &buffer, SmallVector<int64_t> &order) {
    auto argument = dyn_cast<BlockArgument>(value);
    order = llvm::to_vector(
        llvm::seq<int64_t>(0, static_cast<int64_t>(cast<TensorType>(value.getType()).rank())));
    if (auto transpose = value.getDefiningOp<TransposeOp>()) {
      argument = cast<BlockArgument>(transpose.getX());
      order.assign(transpose.getOrder().begin(), transpose.getOrder().end());
    }
    Buffer from = e.input(argument);
    buffer = from;
    for (auto [i, axis] : llvm::enumerate(order))
      buffer.strides[i] = from.strides[static_cast<size_t>(axis)];
    return argument;
  };
  SmallVector<int64_t> order, ofWindow;
  BlockArgument argument = operand(op.getX(), x, order);
  operand(op.getW(), w, ofWindow);
  // With one output, both orders have the same memory layout.
  areOutputsSwapped = ofWindow[0] != 0 && op.getW().getType().getSizes()[0].constant() != 1;
  outputStep = w.strides[0];
  channelStep = w.strides[1];
  w.strides = {e.number(1)}; // dense, but for its first two axes

  auto size = [&](Attribute of) { return e.size(cast<SizeAttr>(of)); };
  SmallVector<Value> xs = e.sizesOf(op.getX().getType()), ws = e.sizesOf(op.getW().getType()),
                     ys = e.sizesOf(op.getType());
  for (size_t d = 0; d < op.getStride().size(); ++d)
    axes.push_back({xs[d + 2], ws[d + 2], ys[d + 2], size(op.getStride()[d]),
                    size(op.getDilation()[d]), size(op.getPaddingLow()[d]),
                    size(op.getLhsDilation()[d]), x.strides[d + 2]});
  bool isDense =
      order == llvm::to_vector(llvm::seq<int64_t>(0, order.size())) || !e.isStrided(argument);
  positions = e.number(1);
  for (const ConvAxis &axis : axes)
    positions = e.mul(positions, axis.out);
  // Merges adjacent axes whose filter has size 1.
  while (isDense && axes.size() > 1 && axes.back().isWhole() && axes[axes.size() - 2].isWhole()) {
    ConvAxis last = axes.pop_back_val();
    axes.back().size = axes.back().out = e.mul(axes.back().out, last.out);
    axes.back().step = last.step;
  }
  images = xs[0];
  groups = e.size(op.getGroups());
  channels = ws[1];
  outputs = e.size(op.getW().getType().getSizes()[0].over(op.getGroups()));
}

SmallVector<Value> Convolution::stepSizes() {
  SmallVector<Value> out{channels};
  for (const ConvAxis &axis : axes)
    out.push_back(axis.window);
  return out;
}
Value Convolution::atLeastOne(Value size) {
  if (std::optional<int64_t> known = e.known(size))
    return e.number(std::max<int64_t>(*known, 1));
  return arith::MaxSIOp::create(e.b, size, e.number(1));
}
SmallVector<Value> Convolution::split(Value number, ArrayRef<Value> sizes) {
  SmallVector<Value> out(sizes.size());
  if (out.empty())
    return out;
  for (size_t i = sizes.size(); i-- > 1;) {
    if (e.known(sizes[i]) == 1) {
      out[i] = e.number(0);
      continue;
    }
    Value size = atLeastOne(sizes[i]);
    Value whole = arith::DivUIOp::create(e.b, number, size);
    out[i] = e.sub(number, e.mul(whole, size));
    number = whole;
  }
  out[0] = number;
  return out;
}

SmallVector<Value> Convolution::distancesOf(Indices step) {
  SmallVector<Value> out;
  for (auto [index, axis] : llvm::zip_equal(step.drop_front(), axes))
    out.push_back(e.mul(index, axis.dilation));
  return out;
}
Value Convolution::stepCount() {
  Value out = e.number(1);
  for (Value size : stepSizes())
    out = e.mul(out, size);
  return out;
}

Convolution::Spot Convolution::spotOf(Value image, Value channel, Indices outs, Indices distances) {
  Value first = e.add(e.mul(batch[0], channels), channel);
  Spot spot{Value(), e.add(e.mul(image, x.strides[0]), e.mul(first, x.strides[1]))};
  auto require = [&](Value condition) {
    spot.isInside =
        spot.isInside ? Value(arith::AndIOp::create(e.b, spot.isInside, condition)) : condition;
  };
  for (size_t a = 0; a + 1 < axes.size(); ++a) {
    const ConvAxis &axis = axes[a];
    Value at = e.add(e.mul(outs[a], axis.stride), distances[a]);
    if (e.known(axis.paddingLow) != 0)
      at = e.sub(at, axis.paddingLow);
    if (e.known(axis.lhsDilation) != 1) {
      require(e.compare(CmpIPredicate::sge, at, e.number(0)));
      Value whole = arith::DivUIOp::create(e.b, at, axis.lhsDilation);
      require(e.compare(CmpIPredicate::eq, at, e.mul(whole, axis.lhsDilation)));
      at = whole;
    }
    if (!axis.isWhole())
      require(e.compare(CmpIPredicate::ult, at, axis.size));
    spot.offset = e.add(spot.offset, e.mul(at, axis.step));
  }
  return spot;
}

/// Calls body with each position p from `from` to `to` and the element at p * step + fixed of the
/// last axis, 0 outside of x.
void Convolution::along(const Spot &spot, Value fixed, Value step, Value from, Value to,
                        llvm::function_ref<void(Value, Value)> body) {
  const ConvAxis &axis = axes.back();
  Value zero = e.constantOf(type, 0);
  auto elementAt = [&](Value at) {
    Buffer flat = x;
    flat.strides = {e.number(1)};
    return widen(e.load(flat, e.add(spot.offset, e.mul(at, axis.step))));
  };
  if (e.known(axis.lhsDilation) == 1) {
    // The positions whose elements are in x form one contiguous range.
    auto firstFrom = [&](Value bound) {
      Value distance = e.sub(bound, fixed);
      if (e.known(step) != 1)
        distance = e.floorDivide(e.add(distance, e.sub(step, e.number(1))), step);
      return e.min(arith::MaxSIOp::create(e.b, distance, from), to);
    };
    Value begin = firstFrom(e.number(0)), end = firstFrom(axis.size);
    if (spot.isInside)
      end = e.choose(spot.isInside, end, begin);
    e.loop(from, begin, 1, [&](Value p) { body(p, zero); });
    e.loop(begin, end, 1, [&](Value p) { body(p, elementAt(e.add(e.mul(p, step), fixed))); });
    e.loop(arith::MaxSIOp::create(e.b, begin, end), to, 1, [&](Value p) { body(p, zero); });
    return;
  }
  e.loop(from, to, 1, [&](Value p) {
    Value at = e.add(e.mul(p, step), fixed);
    Value whole = arith::DivUIOp::create(e.b, at, axis.lhsDilation);
    Value isInside = arith::AndIOp::create(
        e.b, e.compare(CmpIPredicate::sge, at, e.number(0)),
        arith::AndIOp::create(e.b, e.compare(CmpIPredicate::eq, at, e.mul(whole, axis.lhsDilation)),
                              e.compare(CmpIPredicate::ult, whole, axis.size)));
    if (spot.isInside)
      isInside = arith::AndIOp::create(e.b, spot.isInside, isInside);
    Value element = e.variable(type, zero);
    e.when(isInside, [&] { e.write(element, elementAt(whole)); });
    body(p, e.read(element, type));
  });
}

/// Short rows are copied with masked vectors: elements outside of x are not read, and are 0. The
/// last vector may write past the end, which is padding or is written later.
void Convolution::copyAlong(const Spot &spot, Value fixed, Value step, Value from, Value to,
                            const Buffer &into, Value at) {
  const ConvAxis &axis = axes.back();
  int64_t bits = type.getIntOrFloatBitWidth(), width = e.target.vectorBits / bits;
  bool isShort = e.known(axis.size).value_or(kShort + 1) <= kShort;
  if (!isShort || e.target.vectorBits < 256 || bits < 32 || e.memoryType(x.element) != type ||
      e.known(step) != 1 || e.known(axis.step) != 1 || e.known(axis.lhsDilation) != 1)
    return along(spot, fixed, step, from, to,
                 [&](Value p, Value element) { e.store(into, e.add(at, p), element); });
  auto vector = VectorType::get({width}, type);
  Value nothing =
      arith::ConstantOp::create(e.b, vector, DenseElementsAttr::get(vector, e.b.getZeroAttr(type)));
  Value begin = e.sub(e.number(0), fixed), end = e.min(e.sub(axis.size, fixed), to);
  if (spot.isInside)
    end = e.choose(spot.isInside, end, e.sub(from, e.number(1)));
  auto lanesBefore = [&](Value at, Value p) {
    Value count = arith::MaxSIOp::create(e.b, e.sub(at, p), e.number(0));
    return firstLanes(width, e.min(count, e.number(width)));
  };
  auto copyVector = [&](Value p) {
    Value isThere = lanesBefore(end, p);
    if (e.known(fixed) != 0)
      isThere = e.choose(lanesBefore(begin, p),
                         arith::ConstantOp::create(
                             e.b, isThere.getType(),
                             DenseElementsAttr::get(cast<ShapedType>(isThere.getType()), false)),
                         isThere);
    Value address = e.addressAt(x, e.add(spot.offset, e.add(p, fixed)));
    auto alignment = static_cast<unsigned>(bits / 8);
    Value elements = LLVM::MaskedLoadOp::create(e.b, vector, address, isThere, nothing, alignment);
    LLVM::StoreOp::create(e.b, elements, e.addressAt(into, e.add(at, p)), alignment);
  };
  // Unrolled, so that the masks are the same for all channels (loop invariant).
  if (std::optional<int64_t> first = e.known(from), end = e.known(to);
      first && end && *end - *first <= 2 * kShort) {
    for (int64_t p = *first; p < *end; p += width)
      copyVector(e.number(p));
    return;
  }
  e.loop(from, to, width, copyVector);
}

/// Splits `count` indices from `begin` at the ends of rows of `length`: body gets the row, and the
/// start and end of the segment in it. `fromStart`: the first segment begins with its row, and
/// either `count` is known, or the last segment ends with its row.
void Convolution::eachSegment(Value begin, Value count, Value length, bool fromStart,
                              llvm::function_ref<void(Value, Value, Value)> body) {
  length = atLeastOne(length);
  if (fromStart) {
    Value first = arith::DivUIOp::create(e.b, begin, length), zero = e.number(0);
    std::optional<int64_t> all = e.known(count), line = e.known(length);
    bool isKnown = all && line;
    Value lines =
        isKnown ? e.number(*all / *line) : Value(arith::DivUIOp::create(e.b, count, length));
    Value end = e.add(first, lines);
    e.loop(first, end, 1, [&](Value index) { body(index, zero, length); });
    if (isKnown && *all % *line != 0)
      body(end, zero, e.number(*all % *line));
    return;
  }
  Value end = e.add(begin, count);
  Value first = arith::DivUIOp::create(e.b, begin, length);
  Value last = arith::DivUIOp::create(e.b, e.add(end, e.sub(length, e.number(1))), length);
  e.loop(first, last, 1, [&](Value index) {
    Value start = e.mul(index, length);
    body(index, e.sub(arith::MaxSIOp::create(e.b, begin, start), start),
         e.sub(e.min(end, e.add(start, length)), start));
  });
}

Value Convolution::left(Value i, Value k) { return widen(e.load(w, inWindow(i, k))); }

Value Convolution::inWindow(Value i, Value k) {
  Value from = e.mul(outputOf(i), outputStep);
  if (!areOutputsSwapped)
    return e.add(from, k);
  Value area = e.number(1);
  for (const ConvAxis &axis : axes)
    area = e.mul(area, axis.window);
  Value channel = arith::DivUIOp::create(e.b, k, atLeastOne(area));
  Value inside = e.sub(k, e.mul(channel, area));
  return e.add(from, e.add(e.mul(channel, channelStep), inside));
}

// ------------------------------------------------------------------------------------ the result

/// Whether the ops on the result mean the same if all spatial axes are flattened to one: they read
/// elements at the same position, or one for all positions.
bool Convolution::mayCountFlat() {
  ArrayRef<SizeAttr> own = op.getType().getSizes();
  auto fits = [&](Value value) {
    ArrayRef<SizeAttr> sizes = cast<TensorType>(value.getType()).getSizes();
    size_t spatial = own.size() - 2;
    if (sizes.size() < spatial) // some of them only
      return llvm::all_of(sizes, [](SizeAttr size) { return size.constant() == 1; });
    if (auto argument = dyn_cast<BlockArgument>(value); argument && e.isStrided(argument))
      return false;
    ArrayRef<SizeAttr> last = sizes.take_back(spatial);
    return last == own.take_back(spatial) ||
           llvm::all_of(last, [](SizeAttr size) { return size.constant() == 1; });
  };
  for (Operation *behind : operationsBehind(group.values(), /*pointwise=*/true)) {
    if (behind == source)
      continue;
    bool isPlain = behind->hasTrait<Elementwise>() || isa<BroadcastOp, FullOp>(behind) ||
                   (isa<ConstantOp>(behind) && isScalarTensor(behind->getResult(0).getType()));
    if (!isPlain || !llvm::all_of(behind->getOperands(), fits) ||
        !llvm::all_of(behind->getResults(), fits))
      return false;
  }
  return true;
}

SmallVector<Value> Convolution::resultIndices(Value image, Value output, Value position) {
  SmallVector<Value> sizes = e.sizesOf(op.getType()), indices{image, output};
  if (isFlat) {
    // The last axis that is not of size 1 counts all positions.
    size_t last = sizes.size();
    while (last > 3 && e.known(sizes[last - 1]) == 1)
      --last;
    indices.append(sizes.size() - 2, e.number(0));
    indices[last - 1] = position;
  } else {
    llvm::append_range(indices, split(position, ArrayRef(sizes).drop_front(2)));
  }
  // In the form of the index of an operand that is broadcast to it.
  for (auto [index, size] : llvm::zip_equal(indices, sizes))
    if (e.known(size) == 1)
      index = e.number(0);
  return indices;
}

void Convolution::storeAt(Value image, Value output, Value position, Value sum) {
  Evaluator::Scope scope(evaluator);
  SmallVector<Value> indices = resultIndices(image, output, position);
  evaluator.bind(op.getResult(), indices, sum);
  SmallVector<Value> elements = evaluator.all(group.values(), indices);
  for (auto [to, value] : llvm::zip_equal(group.outputs, elements))
    e.store(e.output(to.index), indices, value);
}

} // namespace mx::lowering
