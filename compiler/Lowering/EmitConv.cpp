// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions, with ops on the result. A convolution is a product of tiles (TileProduct.h): rows
// are the outputs of a group, steps (channel of the group, position in the window), columns
// positions of the window. The left operand is w as it lies in memory. Of the right one, the
// elements under the windows, there is never more than a copy for one panel. In the order of
// preference:
//
// - PaddedImages: the part of each channel that a panel sees is copied once, with zeros around it.
// - OneOutput: with one output in a group nothing shares a copy, so lines are summed up where they
//   are.
// - WindowPanels: the elements under the windows are copied as a matrix.
//
// The first and the last add the same products in the same order, those with the zeros outside of x
// included.
#include "Lowering/Convolution.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

// ------------------------------------------------------------------------------------- one output

/// A line of the result is summed up at a time, each step for all of it. Where the window is longer
/// than the result, as in the gradient by it, a few places at a time: products are added up in
/// `kLanes` sums, whatever vectors there are, and these in their order.
class OneOutput : public Convolution {
public:
  using Convolution::Convolution;
  bool fits() { return e.known(outputs) == 1; }
  void emit();

private:
  static constexpr int64_t kLine = 1024, kLanes = 16, kPlaces = 4;
  Buffer sums;          ///< of a line
  Buffer seen, factors; ///< parts of lines of x and w

  void line(Indices at);
  void placeByPlace(Indices at);
  void places(Indices at, Value first, int64_t count);
  void give(Indices at, Value position, Value sum);
  void copy(const Panel &, Value, Value, Value) override {}
  void finish(Value, Value, Value, Value, Value) override {}
};

void OneOutput::emit() {
  begin();
  const ConvAxis &last = axes.back();
  sums = e.scratch(type, kLine);
  seen = e.scratch(type, kLine + kLanes + kLanes * kPlaces + kBehind);
  factors = e.scratch(type, kLine + kLanes);
  SmallVector<Value> outer{images, groups};
  for (const ConvAxis &axis : ArrayRef(axes).drop_back())
    outer.push_back(axis.out);
  deep = stepCount();
  auto body = [&](Indices at) {
    batch.assign(1, at[1]);
    std::optional<int64_t> window = e.known(last.window), out = e.known(last.out);
    if (window && out)
      return *window > *out ? placeByPlace(at) : line(at);
    e.when(
        e.compare(CmpIPredicate::sgt, last.window, last.out), [&] { placeByPlace(at); },
        [&] { line(at); });
  };
  e.spread(outer, e.mul(last.out, deep), body, outer.size());
}

/// The place in the line of the result that `at` names.
void OneOutput::give(Indices at, Value position, Value sum) {
  Value line = e.number(0);
  for (auto [index, axis] : llvm::zip_equal(at.drop_front(2), ArrayRef(axes).drop_back()))
    line = e.add(e.mul(line, axis.out), index);
  Type element = e.codeType(op.getType().getElement());
  if (sum.getType() != element)
    sum = arith::TruncFOp::create(e.b, element, sum);
  storeAt(at[0], at[1], e.add(e.mul(line, axes.back().out), position), sum);
}

void OneOutput::line(Indices at) {
  const ConvAxis &last = axes.back();
  SmallVector<Value> inner = stepSizes();
  e.loop(e.number(0), last.out, kLine, [&](Value from) {
    Value to = e.least(e.add(from, e.number(kLine)), last.out);
    e.loop(from, to, 1, [&](Value p) { e.store(sums, e.sub(p, from), e.constantOf(type, 0)); });
    e.nest(inner, [&](Indices in) {
      Value k = e.number(0);
      for (auto [index, size] : llvm::zip_equal(in, inner))
        k = e.add(e.mul(k, size), index);
      Value factor = left(e.number(0), k);
      Spot spot = spotOf(at[0], in[0], at.drop_front(2), distancesOf(in));
      Value fixed = e.sub(e.mul(in.back(), last.dilation), last.low);
      along(spot, fixed, last.stride, from, to, [&](Value p, Value value) {
        Value place = e.sub(p, from);
        e.store(sums, place, multiplyAdd(e.load(sums, place), factor, value));
      });
    });
    e.loop(from, to, 1, [&](Value p) { give(at, p, e.load(sums, e.sub(p, from))); });
  });
}

/// The places of a line, a few at a time: what they see of x is copied once for all of them.
void OneOutput::placeByPlace(Indices at) {
  const ConvAxis &last = axes.back();
  std::optional<int64_t> out = e.known(last.out), stride = e.known(last.stride);
  bool mayShare = out && stride && *stride <= kLanes && e.known(last.dilation) == 1;
  int64_t few = mayShare ? std::clamp<int64_t>(*out, 1, kPlaces) : 1;
  int64_t rest = out ? *out % few : 0;
  e.loop(e.number(0), out ? e.number(*out - rest) : last.out, few,
         [&](Value p) { places(at, p, few); });
  if (rest)
    places(at, e.number(*out - rest), rest);
}

void OneOutput::places(Indices at, Value first, int64_t count) {
  const ConvAxis &last = axes.back();
  SmallVector<Value> inner = stepSizes();
  Value zero = e.number(0), none = e.constantOf(type, 0);
  Type vector = VectorType::get({kLanes}, type);
  Value nothing = arith::ConstantOp::create(
      e.b, vector, DenseElementsAttr::get(cast<ShapedType>(vector), e.b.getZeroAttr(type)));
  SmallVector<Value> totals;
  for (int64_t p = 0; p < count; ++p)
    totals.push_back(e.variable(vector, nothing));
  Value fixed = e.sub(e.mul(first, last.stride), last.low);
  Value further = e.mul(e.number(count - 1), last.stride); // what the last place sees beyond
  auto alignment = static_cast<unsigned>(type.getIntOrFloatBitWidth() / 8);
  auto loadAt = [&](const Buffer &from, Value place) {
    return LLVM::LoadOp::create(e.b, vector, e.addressAt(from, place), alignment);
  };
  // Lanes behind the end of a line see zeros, not what another place sees: that may be infinite.
  auto step = [&](Value t, Value factor, Value isInside) {
    for (auto [p, total] : llvm::enumerate(totals)) {
      Value place = e.add(t, e.mul(e.number(static_cast<int64_t>(p)), last.stride));
      Value value = loadAt(seen, place);
      if (isInside)
        value = e.choose(isInside, value, nothing);
      e.write(total, multiplyAdd(e.read(total, vector), factor, value));
    }
  };
  auto part = [&](const Spot &spot, Value k, Value from, Value to) {
    Value length = e.known(from) == 0 ? to : e.sub(to, from);
    std::optional<int64_t> known = e.known(length);
    Value rest = known ? e.number(*known % kLanes)
                       : Value(arith::RemUIOp::create(e.b, length, e.number(kLanes)));
    Value whole = e.sub(length, rest);
    // Vectors of w are read where they are if they are what is summed up; the last one only where
    // it is known how long it is. Else it is put together in memory, which costs a wait.
    bool isDirect = e.codeType(w.element) == type && e.memoryType(w.element) == type;
    Value inW = inWindow(zero, k); // a line of it lies together
    if (!isDirect || !known) {
      e.loop(isDirect ? whole : zero, length, 1,
             [&](Value t) { e.store(factors, t, widen(e.load(w, e.add(inW, t)))); });
      e.loop(length, e.add(whole, e.number(kLanes)), 1,
             [&](Value t) { e.store(factors, t, none); });
    }
    copyAlong(spot, fixed, last.dilation, from, e.add(to, further), seen, e.sub(zero, from));
    e.loop(zero, whole, kLanes, [&](Value t) {
      step(t, isDirect ? loadAt(w, e.add(inW, t)) : loadAt(factors, t), Value());
    });
    if (known && *known % kLanes == 0)
      return;
    auto lastStep = [&] {
      Value isInside = firstLanes(kLanes, rest), factor;
      if (isDirect && known)
        factor = LLVM::MaskedLoadOp::create(e.b, vector, e.addressAt(w, e.add(inW, whole)),
                                            isInside, nothing, alignment);
      else
        factor = loadAt(factors, whole);
      step(whole, factor, isInside);
    };
    if (known)
      return lastStep();
    e.when(e.compare(CmpIPredicate::ne, rest, zero), lastStep);
  };
  e.nest(ArrayRef(inner).drop_back(), [&](Indices in) {
    Value line = e.number(0);
    for (auto [index, size] : llvm::zip_equal(in, ArrayRef(inner).drop_back()))
      line = e.add(e.mul(line, size), index);
    Value k = e.mul(line, last.window);
    SmallVector<Value> atFirst(in);
    atFirst.push_back(zero);
    Spot spot = spotOf(at[0], in[0], at.drop_front(2), distancesOf(atFirst));
    if (std::optional<int64_t> window = e.known(last.window); window && *window <= kLine)
      return part(spot, k, zero, last.window);
    e.loop(zero, last.window, kLine, [&](Value from) {
      part(spot, e.add(k, from), from, e.least(e.add(from, e.number(kLine)), last.window));
    });
  });
  for (auto [p, total] : llvm::enumerate(totals)) {
    Value lanes = e.read(total, vector), sum;
    for (int32_t lane = 0; lane < kLanes; ++lane) {
      Value index = e.constant(e.b.getI32Type(), e.b.getI32IntegerAttr(lane));
      Value more = LLVM::ExtractElementOp::create(e.b, lanes, index);
      sum = !sum                   ? more
            : isa<FloatType>(type) ? Value(arith::AddFOp::create(e.b, sum, more))
                                   : Value(arith::AddIOp::create(e.b, sum, more));
    }
    give(at, e.add(first, e.number(static_cast<int64_t>(p))), sum);
  }
}

// ---------------------------------------------------------------------------------- padded images
//
// Positions are counted in an image that is as wide as what the windows see of it, so that the
// element a window sees at a position in it lies a fixed distance behind the one at its first: no
// copy is needed for each position in the window. Positions at the end of a line see the next one,
// and are not stored. With a stride, elements that are apart by it lie together: an image is
// several, its phases.
//
// Of narrow images much would be computed and not stored. There each position along a line of the
// window has an image of its own, as wide as the result, so that all positions count.

class PaddedImages : public Convolution {
public:
  PaddedImages(KernelEmitter &e, const OutputGroup &group) : Convolution(e, group) { plan(); }
  bool fits() { return isPlanned; }
  void emit();

private:
  /// A spatial axis in the copy.
  struct Padded {
    int64_t out, size, distance;    ///< positions of the window; of the copy; between them in it
    SmallVector<int64_t> phase, at; ///< of each position in the window: which image, where in it
    SmallVector<int64_t> starts;    ///< of each phase: its first position in x, but for `low`
  };
  static constexpr int64_t kRoom = 98304; ///< elements of a copy: they are to stay in the cache
  /// So many outputs make up for more copies, if these save so much of the vectors.
  static constexpr int64_t kManyOutputs = 48, kSaved = 10;

  bool isPlanned = false;
  SmallVector<Padded> padded;
  int64_t phases = 1, reach = 0,
          windows = 1; ///< images; the largest distance; positions in a window
  int64_t length = 0;  ///< of a phase of a channel in the copy
  Buffer distances;

  void plan();
  bool planAxes(bool isNarrow);
  int64_t vectorCount();
  int64_t mostChannels();
  bool maySumInPlace() override;
  Value resultAt(Value i, Value j) override;
  SmallVector<int64_t> distancesOfSteps();
  int64_t copiedRoom(int64_t columns) override;
  Value copiedBegin(const Tile &tile) override { return tile.column; }
  bool areCopiedInOrder() override { return false; }
  Value copiedAfter(Value k) override { return e.load(distances, k); }
  void copy(const Panel &panel, Value from, Value k0, Value steps) override;
  void finish(Value row, Value i, Value count, Value begin, Value width) override;
};

void PaddedImages::plan() {
  isPlanned = planAxes(/*isNarrow=*/false);
  if (!isPlanned || e.known(outputs).value_or(0) < kManyOutputs)
    return;
  int64_t before = vectorCount();
  if (!planAxes(/*isNarrow=*/true) || vectorCount() * kSaved > before * (kSaved - 1))
    planAxes(/*isNarrow=*/false);
}

/// `isNarrow`: each position of the window along the last axis has an image of its own.
bool PaddedImages::planAxes(bool isNarrow) {
  padded.clear();
  phases = windows = 1;
  reach = 0;
  int64_t distance = 1, most = 1;
  for (const ConvAxis &axis : llvm::reverse(axes)) {
    SmallVector<int64_t> numbers;
    for (Value number : {axis.out, axis.window, axis.stride, axis.dilation, axis.holes})
      numbers.push_back(e.known(number).value_or(0));
    auto [out, window, stride, dilation, holes] =
        std::tuple(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
    // More positions in the window than of it: the copy would be mostly what is not seen.
    if (out < 1 || window < 1 || stride < 1 || dilation < 1 || holes != 1 || window > depth ||
        (window - 1) * dilation / stride > std::max<int64_t>(out, 2))
      return false;
    bool areApart = isNarrow && padded.empty();
    Padded each;
    each.out = out;
    each.distance = distance;
    for (int64_t t = 0; t < window; ++t) {
      int64_t start = areApart ? t * dilation : t * dilation % stride;
      auto found = llvm::find(each.starts, start);
      each.phase.push_back(found - each.starts.begin());
      each.at.push_back((t * dilation - start) / stride);
      if (found == each.starts.end())
        each.starts.push_back(start);
    }
    each.size = out + each.at.back();
    reach += each.at.back() * distance;
    distance *= each.size;
    phases *= static_cast<int64_t>(each.starts.size());
    windows *= window;
    most = std::max(most, distance);
    if (windows > depth || most > (int64_t(1) << 40))
      return false;
    padded.insert(padded.begin(), std::move(each));
  }
  stretch = depth / windows * windows; // whole channels
  return e.known(channels) && copiedRoom(kColumns) <= kRoom;
}

/// Of the columns of an image.
int64_t PaddedImages::vectorCount() {
  int64_t bits = std::max(32u, e.memoryType(op.getType().getElement()).getIntOrFloatBitWidth());
  int64_t count = std::max<int64_t>(1, e.options.vectorBits / bits);
  return static_cast<int64_t>(llvm::divideCeil(padded[0].out * padded[0].distance, count));
}

/// Columns are places of the result then.
bool PaddedImages::maySumInPlace() {
  bool isDense = llvm::all_of(ArrayRef(padded).drop_front(),
                              [](const Padded &axis) { return axis.size == axis.out; });
  return isDense && isOnlyOutput();
}
Value PaddedImages::resultAt(Value i, Value j) {
  Buffer to = e.output(group.outputs[0].index);
  Value image = e.add(e.mul(batch[1], e.mul(groups, outputs)), outputOf(i));
  return e.addressAt(to, e.add(e.mul(image, places), j));
}

int64_t PaddedImages::copiedRoom(int64_t columns) {
  length = llvm::alignTo(columns + reach, 16);
  return mostChannels() * phases * length + 64; // kBehind of them for copyAlong()
}

/// Of a copy.
int64_t PaddedImages::mostChannels() {
  return std::min(stretch / windows, std::max<int64_t>(*e.known(channels), 1));
}

void PaddedImages::emit() {
  begin();
  rows = outputs;
  deep = stepCount();
  // Panels of whole lines are copied and stored without asking where in a line they begin.
  if (padded.back().size <= kColumns)
    unit = padded.back().size;
  // Of the first axis no position is beyond the last.
  columns = e.number(padded[0].out * padded[0].distance);
  run({groups, images});
}

/// How far behind the first element of a tile what is seen at each step is.
SmallVector<int64_t> PaddedImages::distancesOfSteps() {
  SmallVector<int64_t> out;
  for (int64_t channel = 0; channel < mostChannels(); ++channel)
    for (int64_t t = 0; t < windows; ++t) {
      int64_t rest = t, image = 0, inside = 0, times = 1;
      for (const Padded &axis : llvm::reverse(padded)) {
        auto at = static_cast<size_t>(rest % static_cast<int64_t>(axis.at.size()));
        rest /= static_cast<int64_t>(axis.at.size());
        image += axis.phase[at] * times;
        times *= static_cast<int64_t>(axis.starts.size());
        inside += axis.at[at] * axis.distance;
      }
      out.push_back((channel * phases + image) * length + inside);
    }
  return out;
}

void PaddedImages::copy(const Panel &panel, Value, Value k0, Value steps) {
  if (!distances.address) // now that it is known how long an image is
    distances = e.table(distancesOfSteps());
  const ConvAxis &last = axes.back();
  Value first = arith::DivUIOp::create(e.b, k0, e.number(windows));
  Value count = arith::DivUIOp::create(e.b, steps, e.number(windows));
  Value filled =
      e.number(length); // behind the last column too: what is not stored must be a number
  SmallVector<Value> lines;
  for (const Padded &axis : ArrayRef(padded).drop_back())
    lines.push_back(e.number(axis.size));
  e.loop(e.number(0), count, 1, [&](Value channel) {
    for (int64_t image = 0; image < phases; ++image) {
      SmallVector<Value> starts(padded.size());
      int64_t rest = image;
      for (size_t a = padded.size(); a-- > 0;) {
        auto many = static_cast<int64_t>(padded[a].starts.size());
        starts[a] = e.number(padded[a].starts[static_cast<size_t>(rest % many)]);
        rest /= many;
      }
      Value to = e.mul(e.add(e.mul(channel, e.number(phases)), e.number(image)), e.number(length));
      eachStretch(panel.begin, filled, e.number(padded.back().size), unit > 1,
                  [&](Value index, Value from, Value end) {
                    Spot spot =
                        spotOf(batch[1], e.add(first, channel), split(index, lines), starts);
                    Value begin = e.sub(e.mul(index, e.number(padded.back().size)), panel.begin);
                    copyAlong(spot, e.sub(starts.back(), last.low), last.stride, from, end, copied,
                              e.add(to, begin));
                  });
    }
  });
}

void PaddedImages::finish(Value row, Value i, Value count, Value begin, Value width) {
  SmallVector<Value> lines;
  for (const Padded &axis : ArrayRef(padded).drop_back())
    lines.push_back(e.number(axis.size));
  Value size = e.number(padded.back().size), out = e.number(padded.back().out);
  eachStretch(begin, width, size, unit > 1, [&](Value index, Value from, Value to) {
    SmallVector<Value> at = split(index, lines);
    Value line = at.empty() ? e.number(0) : at[0], isSeen;
    for (size_t a = 1; a < at.size(); ++a) {
      Value fits = e.compare(CmpIPredicate::ult, at[a], e.number(padded[a].out));
      isSeen = isSeen ? Value(arith::AndIOp::create(e.b, isSeen, fits)) : fits;
      line = e.add(e.mul(line, e.number(padded[a].out)), at[a]);
    }
    Value start = e.sub(e.mul(index, size), begin), end = e.least(to, out);
    if (isSeen)
      end = e.choose(isSeen, end, from);
    e.loop(e.number(0), count, 1, [&](Value r) {
      e.loop(from, end, 1, [&](Value p) {
        storeAt(batch[1], outputOf(e.add(i, r)), e.add(e.mul(line, out), p),
                sumAt(e.add(row, r), e.add(start, p)));
      });
    });
  });
}

// ---------------------------------------------------------------------------------- window panels
//
// Columns are (image, position of the window). They are copied in stretches along the last axis,
// which lie together in x: along the columns, or along the steps where the window is the longer of
// the two, as it is in the gradient by w.

class WindowPanels : public Convolution {
public:
  using Convolution::Convolution;
  void emit();

private:
  Buffer line;

  SmallVector<Value> columnSizes();
  void copy(const Panel &panel, Value from, Value k0, Value steps) override;
  void copyAlongColumns(const Panel &panel, Value k0, Value steps);
  void copyAlongSteps(const Panel &panel, Value k0, Value steps);
  void finish(Value row, Value i, Value count, Value begin, Value width) override;
};

void WindowPanels::emit() {
  begin();
  rows = outputs;
  columns = e.mul(images, places);
  deep = stepCount();
  line = e.scratch(type, kColumns + kBehind);
  run({groups});
}

SmallVector<Value> WindowPanels::columnSizes() {
  SmallVector<Value> out{images};
  for (const ConvAxis &axis : axes)
    out.push_back(axis.out);
  return out;
}

void WindowPanels::copy(const Panel &panel, Value, Value k0, Value steps) {
  const ConvAxis &last = axes.back();
  std::optional<int64_t> window = e.known(last.window), out = e.known(last.out);
  auto columns = [&] { copyAlongColumns(panel, k0, steps); };
  auto deep = [&] { copyAlongSteps(panel, k0, steps); };
  if (window && out)
    return *window > *out ? deep() : columns();
  e.when(e.compare(CmpIPredicate::sgt, last.window, last.out), deep, columns);
}

void WindowPanels::copyAlongColumns(const Panel &panel, Value k0, Value steps) {
  const ConvAxis &last = axes.back();
  Value zero = e.number(0);
  Value filled = wholeTiles(e.add(panel.width, e.number(wide - 1)));
  e.loop(zero, steps, 1, [&](Value k) {
    SmallVector<Value> in = split(e.add(k0, k), stepSizes());
    Value fixed = e.sub(e.mul(in.back(), last.dilation), last.low);
    eachStretch(panel.begin, panel.width, last.out, false, [&](Value index, Value from, Value to) {
      SmallVector<Value> sizes = columnSizes();
      SmallVector<Value> out = split(index, ArrayRef(sizes).drop_back());
      Spot spot = spotOf(out[0], in[0], ArrayRef(out).drop_front(), distancesOf(in));
      Value begin = e.sub(e.mul(index, last.out), panel.begin); // of the line, in the panel
      copyAlong(spot, fixed, last.stride, from, to, line, begin);
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

void WindowPanels::copyAlongSteps(const Panel &panel, Value k0, Value steps) {
  const ConvAxis &last = axes.back();
  copyByColumns(panel, e.number(0), steps, [&](Value j, Value to) {
    SmallVector<Value> out = split(e.add(panel.begin, j), columnSizes());
    Value fixed = e.sub(e.mul(out.back(), last.stride), last.low);
    eachStretch(k0, steps, last.window, false, [&](Value index, Value from, Value end) {
      SmallVector<Value> sizes = stepSizes();
      SmallVector<Value> in = split(index, ArrayRef(sizes).drop_back());
      Spot spot = spotOf(out[0], in[0], ArrayRef(out).drop_front(), distancesOf(in));
      Value begin = e.add(to, e.sub(e.mul(index, last.window), k0));
      copyAlong(spot, fixed, last.dilation, from, end, lines, begin);
    });
  });
}

void WindowPanels::finish(Value row, Value i, Value count, Value begin, Value width) {
  eachStretch(begin, width, places, false, [&](Value image, Value from, Value to) {
    Value start = e.sub(e.mul(image, places), begin);
    e.loop(e.number(0), count, 1, [&](Value r) {
      e.loop(from, to, 1, [&](Value p) {
        storeAt(image, outputOf(e.add(i, r)), p, sumAt(e.add(row, r), e.add(start, p)));
      });
    });
  });
}

} // namespace

LogicalResult emitConv(KernelEmitter &e, const OutputGroup &group) {
  auto op = cast<ConvOp>(group.sources[0]);
  if (failed(isAlone(group)) || failed(hasShapeOf(group)))
    return failure();
  auto isRead = [](Value value) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    return isa<BlockArgument>(transpose ? transpose.getX() : value);
  };
  if (!isRead(op.getX()) || !isRead(op.getW()))
    return op.emitOpError() << "reads what is computed in its kernel";
  if (PaddedImages padded(e, group); padded.fits())
    padded.emit();
  else if (OneOutput one(e, group); one.fits())
    one.emit();
  else
    WindowPanels(e, group).emit();
  return success();
}

} // namespace mx::lowering
