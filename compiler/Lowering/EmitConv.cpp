// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions, with ops on the result. A convolution is a product of tiles (TileProduct.h):
//
//   rows      the outputs of a group
//   steps     (channel of the group, position in the window)
//   columns   (image, position of the window)
//
// The left operand is w as it lies in memory. Of the right one, the elements under the windows,
// there is never more than the copy of a panel. It is made in stretches along the last axis, which
// lie together in x: along the columns, or along the steps where the window is the longer of the
// two, as it is when the gradient by w is computed. With one output in a group there is nothing to
// share a panel, and the windows' elements are summed up line by line where they are.
#include "Lowering/TileProduct.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

/// Columns of a line that are summed up at once.
constexpr int64_t kLine = 1024;

/// A spatial axis.
struct Axis {
  Value size, window, out; ///< of x, w and the result
  Value stride, dilation, low, holes;
  Value step; ///< from one element of x to the next

  /// What the position of the window sees is the position in it, and all axes lie together.
  bool isWhole() const {
    auto is = [](Value number, int64_t wanted) { return KernelEmitter::known(number) == wanted; };
    return is(window, 1) && is(stride, 1) && is(low, 0) && is(holes, 1) && size == out;
  }
};

class Convolution : public TileProduct {
public:
  Convolution(KernelEmitter &e, const OutputGroup &group)
      : TileProduct(e, group), op(cast<ConvOp>(source)) {}
  void emit();

private:
  /// Where elements of x are: in range, and how far from its first.
  struct Spot {
    Value isInside, offset;
  };

  ConvOp op;
  Buffer x, w;
  SmallVector<Axis> axes;
  Value images, groups, channels, outputs; ///< the last two of a group
  Value places;                            ///< positions of the window
  Buffer line;
  bool isFlat = false;

  void findAxes();
  SmallVector<Value> columnSizes();
  SmallVector<Value> stepSizes();
  SmallVector<Value> split(Value number, ArrayRef<Value> sizes);
  Value atLeastOne(Value size);
  Spot spotOf(Value image, Value channel, Indices outs, Indices ins);
  void along(const Spot &spot, Value fixed, Value step, Value from, Value to,
             llvm::function_ref<void(Value, Value)> body);
  void eachStretch(Value begin, Value count, Value length,
                   llvm::function_ref<void(Value, Value, Value)> body);

  Value left(Value i, Value k) override;
  bool mayReadRowsInPlace() override { return true; }
  void copy(const Panel &panel, Value from, Value k0, Value steps) override;
  void copyAlongColumns(const Panel &panel, Value k0, Value steps);
  void copyAlongSteps(const Panel &panel, Value k0, Value steps);
  void finish(Value row, Value i, Value count, Value begin, Value width) override;
  bool mayCountFlat();
  SmallVector<Value> resultPlace(Value image, Value output, Value position);
  void storeAt(ArrayRef<Value> place, Value sum);
  void lines();
};

// -------------------------------------------------------------------------------------- elements

void Convolution::findAxes() {
  auto argument = dyn_cast<BlockArgument>(op.getX());
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(op.getX().getType().rank())));
  if (auto transpose = op.getX().getDefiningOp<TransposeOp>()) {
    argument = cast<BlockArgument>(transpose.getX());
    order.assign(transpose.getOrder().begin(), transpose.getOrder().end());
  }
  Buffer from = e.input(argument);
  x = from;
  for (auto [i, axis] : llvm::enumerate(order))
    x.strides[i] = from.strides[static_cast<size_t>(axis)];
  w = e.input(cast<BlockArgument>(op.getW()));
  w.strides = {e.number(1)}; // dense

  auto size = [&](Attribute of) { return e.size(cast<SizeAttr>(of)); };
  SmallVector<Value> xs = e.sizesOf(op.getX().getType()), ws = e.sizesOf(op.getW().getType()),
                     ys = e.sizesOf(op.getType());
  for (size_t d = 0; d < op.getStride().size(); ++d)
    axes.push_back({xs[d + 2], ws[d + 2], ys[d + 2], size(op.getStride()[d]),
                    size(op.getDilation()[d]), size(op.getLow()[d]), size(op.getHoles()[d]),
                    x.strides[d + 2]});
  bool isDense =
      order == llvm::to_vector(llvm::seq<int64_t>(0, order.size())) || !e.isStrided(argument);
  places = e.number(1);
  for (const Axis &axis : axes)
    places = e.mul(places, axis.out);
  // Axes without a window are one.
  while (isDense && axes.size() > 1 && axes.back().isWhole() && axes[axes.size() - 2].isWhole()) {
    Axis last = axes.pop_back_val();
    axes.back().size = axes.back().out = e.mul(axes.back().out, last.out);
    axes.back().step = last.step;
  }
  images = xs[0];
  groups = e.size(op.getGroups());
  channels = ws[1];
  outputs = e.size(op.getW().getType().getSizes()[0].over(op.getGroups()));
}

SmallVector<Value> Convolution::columnSizes() {
  SmallVector<Value> out{images};
  for (const Axis &axis : axes)
    out.push_back(axis.out);
  return out;
}
SmallVector<Value> Convolution::stepSizes() {
  SmallVector<Value> out{channels};
  for (const Axis &axis : axes)
    out.push_back(axis.window);
  return out;
}
Value Convolution::atLeastOne(Value size) {
  if (std::optional<int64_t> known = e.known(size))
    return e.number(std::max<int64_t>(*known, 1));
  return arith::MaxSIOp::create(e.b, size, e.number(1));
}
/// A place as its parts; the first takes what is left.
SmallVector<Value> Convolution::split(Value number, ArrayRef<Value> sizes) {
  SmallVector<Value> out(sizes.size());
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

/// By all but the last axis: positions of the window, and in it.
Convolution::Spot Convolution::spotOf(Value image, Value channel, Indices outs, Indices ins) {
  Value first = e.add(e.mul(batch[0], channels), channel);
  Spot spot{Value(), e.add(e.mul(image, x.strides[0]), e.mul(first, x.strides[1]))};
  auto require = [&](Value condition) {
    spot.isInside =
        spot.isInside ? Value(arith::AndIOp::create(e.b, spot.isInside, condition)) : condition;
  };
  for (size_t a = 0; a + 1 < axes.size(); ++a) {
    const Axis &axis = axes[a];
    Value at = e.add(e.mul(outs[a], axis.stride), e.mul(ins[a], axis.dilation));
    if (e.known(axis.low) != 0)
      at = e.sub(at, axis.low);
    if (e.known(axis.holes) != 1) {
      require(e.compare(CmpIPredicate::sge, at, e.number(0)));
      Value whole = arith::DivUIOp::create(e.b, at, axis.holes);
      require(e.compare(CmpIPredicate::eq, at, e.mul(whole, axis.holes)));
      at = whole;
    }
    if (!axis.isWhole())
      require(e.compare(CmpIPredicate::ult, at, axis.size));
    spot.offset = e.add(spot.offset, e.mul(at, axis.step));
  }
  return spot;
}

/// Calls body with each place from `from` to `to` and the element at place * step + fixed of the
/// last axis, 0 outside of x.
void Convolution::along(const Spot &spot, Value fixed, Value step, Value from, Value to,
                        llvm::function_ref<void(Value, Value)> body) {
  const Axis &axis = axes.back();
  Value zero = e.constantOf(type, 0);
  auto elementAt = [&](Value at) {
    Buffer flat = x;
    flat.strides = {e.number(1)};
    return widen(e.load(flat, e.add(spot.offset, e.mul(at, axis.step))));
  };
  if (e.known(axis.holes) == 1) {
    // The places whose elements are in x lie together.
    auto firstFrom = [&](Value bound) {
      Value distance = e.sub(bound, fixed);
      if (e.known(step) != 1)
        distance = e.floorDivide(e.add(distance, e.sub(step, e.number(1))), step);
      return e.least(arith::MaxSIOp::create(e.b, distance, from), to);
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
    Value whole = arith::DivUIOp::create(e.b, at, axis.holes);
    Value isInside = arith::AndIOp::create(
        e.b, e.compare(CmpIPredicate::sge, at, e.number(0)),
        arith::AndIOp::create(e.b, e.compare(CmpIPredicate::eq, at, e.mul(whole, axis.holes)),
                              e.compare(CmpIPredicate::ult, whole, axis.size)));
    if (spot.isInside)
      isInside = arith::AndIOp::create(e.b, spot.isInside, isInside);
    Value element = e.variable(type, zero);
    e.when(isInside, [&] { e.write(element, elementAt(whole)); });
    body(p, e.read(element, type));
  });
}

/// Cuts `count` numbers from `begin` where a line of `length` ends: body gets the line, and where
/// the stretch begins and ends in it.
void Convolution::eachStretch(Value begin, Value count, Value length,
                              llvm::function_ref<void(Value, Value, Value)> body) {
  length = atLeastOne(length);
  Value end = e.add(begin, count);
  Value first = arith::DivUIOp::create(e.b, begin, length);
  Value last = arith::DivUIOp::create(e.b, e.add(end, e.sub(length, e.number(1))), length);
  e.loop(first, last, 1, [&](Value index) {
    Value start = e.mul(index, length);
    body(index, e.sub(arith::MaxSIOp::create(e.b, begin, start), start),
         e.sub(e.least(end, e.add(start, length)), start));
  });
}

// ------------------------------------------------------------------------------------- a product

void Convolution::emit() {
  prepare();
  e.b.setLoc(op.getLoc());
  findAxes();
  isFlat = mayCountFlat();
  if (e.known(outputs) == 1)
    return lines();
  rows = outputs;
  columns = e.mul(images, places);
  deep = channels;
  for (const Axis &axis : axes)
    deep = e.mul(deep, axis.window);
  line = e.scratch(type, kColumns);
  run({groups});
}

Value Convolution::left(Value i, Value k) {
  Value output = e.add(e.mul(batch[0], outputs), i);
  return widen(e.load(w, e.add(e.mul(output, deep), k)));
}

void Convolution::copy(const Panel &panel, Value, Value k0, Value steps) {
  const Axis &last = axes.back();
  std::optional<int64_t> window = e.known(last.window), out = e.known(last.out);
  auto columns = [&] { copyAlongColumns(panel, k0, steps); };
  auto deep = [&] { copyAlongSteps(panel, k0, steps); };
  if (window && out)
    return *window > *out ? deep() : columns();
  e.when(e.compare(CmpIPredicate::sgt, last.window, last.out), deep, columns);
}

void Convolution::copyAlongColumns(const Panel &panel, Value k0, Value steps) {
  const Axis &last = axes.back();
  Value zero = e.number(0);
  Value filled = wholeTiles(e.add(panel.width, e.number(wide - 1)));
  e.loop(zero, steps, 1, [&](Value k) {
    SmallVector<Value> in = split(e.add(k0, k), stepSizes());
    Value fixed = e.sub(e.mul(in.back(), last.dilation), last.low);
    eachStretch(panel.begin, panel.width, last.out, [&](Value index, Value from, Value to) {
      SmallVector<Value> sizes = columnSizes();
      SmallVector<Value> out = split(index, ArrayRef(sizes).drop_back());
      Spot spot = spotOf(out[0], in[0], ArrayRef(out).drop_front(), ArrayRef(in).drop_front());
      Value begin = e.sub(e.mul(index, last.out), panel.begin); // of the line, in the panel
      along(spot, fixed, last.stride, from, to,
            [&](Value p, Value element) { e.store(line, e.add(begin, p), element); });
    });
    e.loop(panel.width, filled, 1, [&](Value j) { e.store(line, j, e.constantOf(type, 0)); });
    e.loop(zero, filled, wide, [&](Value tile) {
      for (int64_t v = 0; v < wide; v += lanes) {
        auto bytes = static_cast<unsigned>(type.getIntOrFloatBitWidth() / 8);
        Value from = e.addressAt(line, e.add(tile, e.number(v)));
        Value vector = LLVM::LoadOp::create(e.b, VectorType::get({lanes}, type), from, bytes);
        LLVM::StoreOp::create(e.b, vector, e.addressAt(copied, copiedPlace(tile, k, e.number(v))),
                              bytes);
      }
    });
  });
}

void Convolution::copyAlongSteps(const Panel &panel, Value k0, Value steps) {
  const Axis &last = axes.back();
  Value zero = e.number(0);
  Value filled = wholeTiles(e.add(panel.width, e.number(wide - 1)));
  e.loop(zero, panel.width, 1, [&](Value j) {
    Value column = arith::RemUIOp::create(e.b, j, e.number(wide)), tile = e.sub(j, column);
    SmallVector<Value> out = split(e.add(panel.begin, j), columnSizes());
    Value fixed = e.sub(e.mul(out.back(), last.stride), last.low);
    eachStretch(k0, steps, last.window, [&](Value index, Value from, Value to) {
      SmallVector<Value> sizes = stepSizes();
      SmallVector<Value> in = split(index, ArrayRef(sizes).drop_back());
      Spot spot = spotOf(out[0], in[0], ArrayRef(out).drop_front(), ArrayRef(in).drop_front());
      Value begin = e.sub(e.mul(index, last.window), k0);
      along(spot, fixed, last.dilation, from, to, [&](Value p, Value element) {
        e.store(copied, copiedPlace(tile, e.add(begin, p), column), element);
      });
    });
  });
  e.loop(panel.width, filled, 1, [&](Value j) {
    Value column = arith::RemUIOp::create(e.b, j, e.number(wide)), tile = e.sub(j, column);
    e.loop(zero, steps, 1,
           [&](Value k) { e.store(copied, copiedPlace(tile, k, column), e.constantOf(type, 0)); });
  });
}

// ------------------------------------------------------------------------------------ the result

/// Whether the ops on the result mean the same if all spatial axes are counted as one: they read
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

SmallVector<Value> Convolution::resultPlace(Value image, Value output, Value position) {
  SmallVector<Value> sizes = e.sizesOf(op.getType()), place{image, output};
  if (isFlat) {
    // The last axis that moves counts them all.
    size_t last = sizes.size();
    while (last > 3 && e.known(sizes[last - 1]) == 1)
      --last;
    place.append(sizes.size() - 2, e.number(0));
    place[last - 1] = position;
  } else {
    llvm::append_range(place, split(position, ArrayRef(sizes).drop_front(2)));
  }
  // As the place of an operand that is stretched to it is written.
  for (auto [index, size] : llvm::zip_equal(place, sizes))
    if (e.known(size) == 1)
      index = e.number(0);
  return place;
}

void Convolution::storeAt(ArrayRef<Value> place, Value sum) {
  Evaluator::Scope scope(evaluator);
  evaluator.bind(op.getResult(), place, sum);
  SmallVector<Value> elements = evaluator.all(group.values(), place);
  for (auto [output, value] : llvm::zip_equal(group.outputs, elements))
    e.store(e.output(output.index), place, value);
}

void Convolution::finish(Value row, Value i, Value count, Value begin, Value width) {
  eachStretch(begin, width, places, [&](Value image, Value from, Value to) {
    Value start = e.sub(e.mul(image, places), begin);
    e.loop(e.number(0), count, 1, [&](Value r) {
      Value output = e.add(e.mul(batch[0], outputs), e.add(i, r));
      e.loop(from, to, 1, [&](Value p) {
        storeAt(resultPlace(image, output, p), sumAt(e.add(row, r), e.add(start, p)));
      });
    });
  });
}

/// One output in each group: a line of the result at a time, no longer than `kLine`.
void Convolution::lines() {
  const Axis &last = axes.back();
  Buffer sums = e.scratch(type, kLine);
  SmallVector<Value> outer{images, groups};
  for (const Axis &axis : ArrayRef(axes).drop_back())
    outer.push_back(axis.out);
  SmallVector<Value> inner = stepSizes();
  Value work = last.out;
  for (Value size : inner)
    work = e.mul(work, size);
  Type element = e.codeType(op.getType().getElement());
  auto body = [&](Indices at) {
    batch.assign(1, at[1]);
    e.loop(e.number(0), last.out, kLine, [&](Value from) {
      Value to = e.least(e.add(from, e.number(kLine)), last.out);
      e.loop(from, to, 1, [&](Value p) { e.store(sums, e.sub(p, from), e.constantOf(type, 0)); });
      e.nest(inner, [&](Indices in) {
        Value k = e.number(0);
        for (auto [index, size] : llvm::zip_equal(in, inner))
          k = e.add(e.mul(k, size), index);
        Value all = e.number(1);
        for (Value size : inner)
          all = e.mul(all, size);
        Value factor = widen(e.load(w, e.add(e.mul(at[1], all), k)));
        Spot spot = spotOf(at[0], in[0], at.drop_front(2), in.drop_front());
        Value fixed = e.sub(e.mul(in.back(), last.dilation), last.low);
        along(spot, fixed, last.stride, from, to, [&](Value p, Value value) {
          Value place = e.sub(p, from);
          e.store(sums, place, multiplyAdd(e.load(sums, place), factor, value));
        });
      });
      Value line = e.number(0); // among the positions
      for (auto [index, axis] : llvm::zip_equal(at.drop_front(2), ArrayRef(axes).drop_back()))
        line = e.add(e.mul(line, axis.out), index);
      e.loop(from, to, 1, [&](Value p) {
        Value sum = e.load(sums, e.sub(p, from));
        if (sum.getType() != element)
          sum = arith::TruncFOp::create(e.b, element, sum);
        storeAt(resultPlace(at[0], at[1], e.add(e.mul(line, last.out), p)), sum);
      });
    });
  };
  e.spread(outer, work, body, outer.size());
}

} // namespace

LogicalResult emitConv(KernelEmitter &e, const OutputGroup &group) {
  auto op = cast<ConvOp>(group.sources[0]);
  if (group.sources.size() > 1)
    return group.sources[1]->emitOpError() << "is in one kernel with a convolution";
  for (const Output &output : group.outputs)
    if (cast<TensorType>(output.value.getType()).getSizes() != op.getType().getSizes())
      return op.emitOpError()
             << "is followed by an op of another shape, which must be in another kernel";
  auto isRead = [](Value value) { return isa<BlockArgument>(value); };
  auto transpose = op.getX().getDefiningOp<TransposeOp>();
  if (!isRead(transpose ? transpose.getX() : op.getX()) || !isRead(op.getW()))
    return op.emitOpError() << "reads what is computed in its kernel";
  Convolution(e, group).emit();
  return success();
}

} // namespace mx::lowering
