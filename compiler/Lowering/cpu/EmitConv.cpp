// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions as implicit GEMM (TiledMatmul.h), with epilogue ops on the result: rows are the
// outputs of a group, steps of k are (channel of the group, filter tap), columns are positions of
// the window. The left operand is w in its own layout. The right operand, the im2col matrix of the
// elements under the windows, is never materialised: only a copy for one panel exists at a time.
// Algorithms, in the order of preference:
//
// - PaddedImages: copies the part of each channel that a panel reads once, with zero padding.
//   Not where WindowPanels need fewer vectors.
// - OneOutput: direct convolution. With one output in a group, as in depthwise convolutions, no
//   other row would share a packed panel, so rows of x are accumulated without one.
// - WindowPanels: packs the elements under the windows as a matrix (im2col of one panel).
//
// The first and the last accumulate the same terms in the same order, including those with the zero
// padding outside of x.
#include "Lowering/cpu/PaddedImages.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {
namespace {

// ------------------------------------------------------------------------------------- one output

/// Accumulates one row of the result at a time, each step for the whole row. If the filter is
/// longer than the result, as in the gradient of the weights, a few positions at a time: terms
/// are accumulated in `kLanes` sums, whatever the vector width, and these are added in order.
class OneOutput : public Convolution {
public:
  using Convolution::Convolution;
  bool fits() { return e.known(outputs) == 1; }
  void emit();

private:
  static constexpr int64_t kLanes = 16, kPositions = 4;
  /// Elements of a row of sums at a time: an eighth of L1, in f32.
  const int64_t lineElements = target.firstCache.bytes() / 8 / int64_t(sizeof(float));
  Buffer sums;          ///< of a row
  Buffer seen, factors; ///< parts of rows of x and w

  void row(Indices at);
  void positionByPosition(Indices at);
  void positions(Indices at, Value first, int64_t count);
  void give(Indices at, Value position, Value sum);
  void copy(const Panel &, Value, Value, Value) override {}
  void finish(Value, Value, Value, Value, Value) override {}
};

void OneOutput::emit() {
  begin();
  const ConvAxis &last = axes.back();
  sums = e.scratch(type, lineElements);
  seen = e.scratch(type, lineElements + kLanes + kLanes * kPositions + kBehind);
  factors = e.scratch(type, lineElements + kLanes);
  SmallVector<Value> outer{images, groups};
  for (const ConvAxis &axis : ArrayRef(axes).drop_back())
    outer.push_back(axis.out);
  deep = stepCount();
  auto body = [&](Indices at) {
    batch.assign(1, at[1]);
    std::optional<int64_t> window = e.known(last.window), out = e.known(last.out);
    if (window && out)
      return *window > *out ? positionByPosition(at) : row(at);
    e.when(
        e.compare(CmpIPredicate::sgt, last.window, last.out), [&] { positionByPosition(at); },
        [&] { row(at); });
  };
  e.parallelFor(outer, e.mul(last.out, deep), body, outer.size());
}

/// Stores the sum at a position in the row of the result that `at` names.
void OneOutput::give(Indices at, Value position, Value sum) {
  Value rowIndex = e.number(0);
  for (auto [index, axis] : llvm::zip_equal(at.drop_front(2), ArrayRef(axes).drop_back()))
    rowIndex = e.add(e.mul(rowIndex, axis.out), index);
  Type element = e.codeType(op.getType().getElement());
  if (sum.getType() != element)
    sum = arith::TruncFOp::create(e.b, element, sum);
  storeAt(at[0], at[1], e.add(e.mul(rowIndex, axes.back().out), position), sum);
}

void OneOutput::row(Indices at) {
  const ConvAxis &last = axes.back();
  SmallVector<Value> inner = stepSizes();
  e.loop(e.number(0), last.out, lineElements, [&](Value from) {
    Value to = e.min(e.add(from, e.number(lineElements)), last.out);
    e.loop(from, to, 1, [&](Value p) { e.store(sums, e.sub(p, from), e.constantOf(type, 0)); });
    e.nest(inner, [&](Indices in) {
      Value k = e.number(0);
      for (auto [index, size] : llvm::zip_equal(in, inner))
        k = e.add(e.mul(k, size), index);
      Value factor = left(e.number(0), k);
      Spot spot = spotOf(at[0], in[0], at.drop_front(2), distancesOf(in));
      Value fixed = e.sub(e.mul(in.back(), last.dilation), last.paddingLow);
      along(spot, fixed, last.stride, from, to, [&](Value p, Value value) {
        Value index = e.sub(p, from);
        e.store(sums, index, multiplyAdd(e.load(sums, index), factor, value));
      });
    });
    e.loop(from, to, 1, [&](Value p) { give(at, p, e.load(sums, e.sub(p, from))); });
  });
}

/// Computes the positions of a row, a few at a time: the part of x that they read is copied once
/// for all of them.
void OneOutput::positionByPosition(Indices at) {
  const ConvAxis &last = axes.back();
  std::optional<int64_t> out = e.known(last.out), stride = e.known(last.stride);
  bool mayShare = out && stride && *stride <= kLanes && e.known(last.dilation) == 1;
  int64_t few = mayShare ? std::clamp<int64_t>(*out, 1, kPositions) : 1;
  int64_t rest = out ? *out % few : 0;
  e.loop(e.number(0), out ? e.number(*out - rest) : last.out, few,
         [&](Value p) { positions(at, p, few); });
  if (rest)
    positions(at, e.number(*out - rest), rest);
}

void OneOutput::positions(Indices at, Value first, int64_t count) {
  const ConvAxis &last = axes.back();
  SmallVector<Value> inner = stepSizes();
  Value zero = e.number(0), none = e.constantOf(type, 0);
  Type vector = VectorType::get({kLanes}, type);
  Value nothing = arith::ConstantOp::create(
      e.b, vector, DenseElementsAttr::get(cast<ShapedType>(vector), e.b.getZeroAttr(type)));
  SmallVector<Value> totals;
  for (int64_t p = 0; p < count; ++p)
    totals.push_back(e.variable(vector, nothing));
  Value fixed = e.sub(e.mul(first, last.stride), last.paddingLow);
  Value further = e.mul(e.number(count - 1), last.stride); // reach of the last position
  auto alignment = static_cast<unsigned>(type.getIntOrFloatBitWidth() / 8);
  auto loadAt = [&](const Buffer &from, Value index) {
    return LLVM::LoadOp::create(e.b, vector, e.addressAt(from, index), alignment);
  };
  // Lanes past the end of a row read zeros, not elements of another position: these may be
  // infinite.
  auto step = [&](Value t, Value factor, Value isInside) {
    for (auto [p, total] : llvm::enumerate(totals)) {
      Value index = e.add(t, e.mul(e.number(static_cast<int64_t>(p)), last.stride));
      Value value = loadAt(seen, index);
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
    // Vectors of w are read unpacked if w has the type of the sums; the last one only if its length
    // is known. Otherwise it is assembled in memory, which costs a stall.
    bool isDirect = e.codeType(w.element) == type && e.memoryType(w.element) == type;
    Value inW = inWindow(zero, k); // its rows are contiguous
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
    Value rowIndex = e.number(0);
    for (auto [index, size] : llvm::zip_equal(in, ArrayRef(inner).drop_back()))
      rowIndex = e.add(e.mul(rowIndex, size), index);
    Value k = e.mul(rowIndex, last.window);
    SmallVector<Value> atFirst(in);
    atFirst.push_back(zero);
    Spot spot = spotOf(at[0], in[0], at.drop_front(2), distancesOf(atFirst));
    if (std::optional<int64_t> window = e.known(last.window); window && *window <= lineElements)
      return part(spot, k, zero, last.window);
    e.loop(zero, last.window, lineElements, [&](Value from) {
      part(spot, e.add(k, from), from, e.min(e.add(from, e.number(lineElements)), last.window));
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

// ---------------------------------------------------------------------------------- window panels
//
// Columns are (image, position of the window), so all columns belong to the result and several
// images share a vector. They are packed in segments along the last axis, which is contiguous in x:
// along the columns, or along the steps if the filter is longer than the result, as in the gradient
// of the weights. With many outputs, channels are first copied with zero padding, for all filter
// taps.

class WindowPanels : public PaddedConvolution {
public:
  using PaddedConvolution::PaddedConvolution;
  /// Whether this saves enough vectors to pay for a copy of each filter tap from padded images;
  /// then padded images are used.
  bool isBetterThan(PaddedImages &other);
  void emit();

private:
  /// Cost of copying a vector, in rows computed with it.
  static constexpr int64_t kCopy = 16;
  /// Elements of padded images, which should stay in L1, in f32.
  const int64_t seenElements = target.firstCache.bytes() / int64_t(sizeof(float));

  Buffer rowBuffer;
  /// With images: the images, where rows of the panel begin in them, and distances of steps.
  bool hasImages = false;
  Buffer seen, rowStarts, distances;
  int64_t area = 0; ///< elements of a phase of a channel of an image
  int64_t some = 1; ///< channels whose images are copied at a time

  bool planImages();
  int64_t maxImages();
  /// Elements that the windows of a row read along it, including zeros shared with the next row.
  int64_t seenAlong() { return padded.back().out + padded.back().at.back(); }
  SmallVector<Value> columnSizes();
  void copy(const Panel &panel, Value from, Value k0, Value steps) override;
  void copyAlongColumns(const Panel &panel, Value k0, Value steps);
  void copyAlongSteps(const Panel &panel, Value k0, Value steps);
  void copyFromImages(const Panel &panel, Value k0, Value steps);
  void copyImages(const Panel &panel, Value first, Value k0, Value steps);
  void cutIntoTiles(const Panel &panel, Value k, int64_t from);
  void finish(Value row, Value i, Value count, Value begin, Value width) override;
};

bool WindowPanels::planImages() {
  bool fits = e.target.vectorBits >= 256 && e.known(outputs).value_or(0) >= kManyOutputs &&
              e.known(images).value_or(0) > 0 && planAxes(/*isNarrow=*/false) &&
              padded.back().out <= gemm.panelColumns;
  if (!fits)
    return false;
  area = llvm::alignTo(padded[0].size * padded[0].distance + seenAlong() + kBehind, 16);
  some = std::clamp<int64_t>(seenElements / (maxImages() * phases * area), 1, maxChannels());
  return maxImages() * some * phases * area <= target.imageElements;
}

bool WindowPanels::isBetterThan(PaddedImages &other) {
  if (!planImages())
    return false;
  int64_t before = other.vectorCount(), now = vectorsOf(*e.known(images) * *e.known(positions));
  hasImages = (before - now) * *e.known(outputs) >= now * kCopy;
  return hasImages;
}

/// Max images that a panel has columns of.
int64_t WindowPanels::maxImages() {
  int64_t size = *e.known(positions);
  return std::min(*e.known(images), (size - 1 + gemm.panelColumns - 1) / size + 1);
}

void WindowPanels::emit() {
  begin();
  rows = outputs;
  columns = e.mul(images, positions);
  deep = stepCount();
  if (hasImages) {
    int64_t rowCount = (gemm.panelColumns - 1) / padded.back().out + 2;
    seen = e.scratch(type, maxImages() * some * phases * area + kBehind);
    rowStarts = e.scratch(e.b.getI64Type(), rowCount);
    distances = e.table(distancesOfSteps(some, area));
  }
  run({groups});
}

SmallVector<Value> WindowPanels::columnSizes() {
  SmallVector<Value> out{images};
  for (const ConvAxis &axis : axes)
    out.push_back(axis.out);
  return out;
}

void WindowPanels::copy(const Panel &panel, Value, Value k0, Value steps) {
  if (!rowBuffer.address) { // the tile width is known now: the last tile is padded
    int64_t filled = llvm::alignTo(panelColumns, wide);
    // With images, rows begin before the columns of a panel and end after them.
    rowBuffer = e.scratch(type, (hasImages ? 2 * gemm.panelColumns : 0) + filled + kBehind);
  }
  if (hasImages)
    return copyFromImages(panel, k0, steps);
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
  e.loop(e.number(0), steps, 1, [&](Value k) {
    SmallVector<Value> in = split(e.add(k0, k), stepSizes());
    Value fixed = e.sub(e.mul(in.back(), last.dilation), last.paddingLow);
    eachSegment(panel.begin, panel.width, last.out, false, [&](Value index, Value from, Value to) {
      SmallVector<Value> sizes = columnSizes();
      SmallVector<Value> out = split(index, ArrayRef(sizes).drop_back());
      Spot spot = spotOf(out[0], in[0], ArrayRef(out).drop_front(), distancesOf(in));
      Value begin = e.sub(e.mul(index, last.out), panel.begin); // of the row, in the panel
      copyAlong(spot, fixed, last.stride, from, to, rowBuffer, begin);
    });
    cutIntoTiles(panel, k, 0);
  });
}

/// Copies one step of all columns, which is in `rowBuffer` from `from` on, to tiles; pads the last
/// tile with zeros.
void WindowPanels::cutIntoTiles(const Panel &panel, Value k, int64_t from) {
  Value filled = wholeTiles(e.add(panel.width, e.number(wide - 1)));
  auto inBuffer = [&](Value column) { return e.add(column, e.number(from)); };
  e.loop(panel.width, filled, 1,
         [&](Value j) { e.store(rowBuffer, inBuffer(j), e.constantOf(type, 0)); });
  e.loop(e.number(0), filled, wide, [&](Value tile) {
    for (int64_t v = 0; v < wide; v += lanes)
      moveVector(e.addressAt(rowBuffer, inBuffer(e.add(tile, e.number(v)))),
                 e.addressAt(packed, packedIndex(tile, k, e.number(v))));
  });
}

/// Rows are copied in whole vectors: the next row overwrites the excess of a vector.
void WindowPanels::copyFromImages(const Panel &panel, Value k0, Value steps) {
  int64_t out = padded.back().out;
  Value zero = e.number(0), width = e.number(out), size = e.number(padded.back().size);
  Value begin = arith::DivUIOp::create(e.b, panel.begin, width);
  Value end =
      arith::DivUIOp::create(e.b, e.add(e.add(panel.begin, panel.width), e.number(out - 1)), width);
  Value image = arith::DivUIOp::create(e.b, panel.begin, positions);
  e.loop(begin, end, 1, [&](Value index) {
    SmallVector<Value> sizes = columnSizes(), at = split(index, ArrayRef(sizes).drop_back());
    Value inImage = zero;
    for (size_t a = 0; a + 1 < padded.size(); ++a)
      inImage = e.add(e.mul(inImage, e.number(padded[a].size)), at[a + 1]);
    Value of = e.mul(e.sub(at[0], image), e.number(some * phases * area));
    e.store(rowStarts, e.sub(index, begin), e.add(of, e.mul(inImage, size)));
  });
  // The first row may begin before the panel does.
  Value count = e.sub(end, begin);
  Value first = e.add(e.number(gemm.panelColumns), e.sub(e.mul(begin, width), panel.begin));
  e.loop(zero, steps, some * windows, [&](Value begun) {
    Value now = smaller(e.sub(steps, begun), some * windows);
    copyImages(panel, image, e.add(k0, begun), now);
    e.loop(zero, now, 1, [&](Value k) {
      Value distance = e.load(distances, k);
      e.loop(zero, count, 1, [&](Value index) {
        Value from = e.add(e.load(rowStarts, index), distance);
        Value to = e.add(first, e.mul(index, width));
        for (int64_t p = 0; p < out; p += lanes)
          moveVector(e.addressAt(seen, e.add(from, e.number(p))),
                     e.addressAt(rowBuffer, e.add(to, e.number(p))));
      });
      cutIntoTiles(panel, e.add(begun, k), gemm.panelColumns);
    });
  });
}

/// Copies the images that the panel has columns of, from `first` on; of these, the part that its
/// windows read along the first axis.
void WindowPanels::copyImages(const Panel &panel, Value first, Value k0, Value steps) {
  Value zero = e.number(0), one = e.number(1), end = e.add(panel.begin, panel.width);
  Value channel = arith::DivUIOp::create(e.b, k0, e.number(windows));
  Value count = arith::DivUIOp::create(e.b, steps, e.number(windows));
  const Padded &outer = padded.front();
  Value last = arith::DivUIOp::create(e.b, e.sub(end, one), positions);
  e.loop(first, e.add(last, one), 1, [&](Value image) {
    Value begin = e.mul(image, positions), from = zero, to = one; // rows
    if (padded.size() > 1) {
      int64_t rowCount = outer.distance / padded.back().size; // rows per position on the first axis
      Value apart = e.number(*e.known(positions) / outer.out);
      Value low = arith::MaxSIOp::create(e.b, e.sub(panel.begin, begin), zero);
      Value high = e.sub(e.min(e.sub(end, begin), positions), one);
      from = e.mul(arith::DivUIOp::create(e.b, low, apart), e.number(rowCount));
      to = e.mul(
          e.add(arith::DivUIOp::create(e.b, high, apart), e.number(outer.size - outer.out + 1)),
          e.number(rowCount));
    }
    Value slot = e.mul(e.sub(image, first), e.number(some * phases * area));
    for (int64_t phase = 0; phase < phases; ++phase)
      e.loop(from, to, 1, [&](Value index) {
        Value inImage = e.add(slot, e.mul(index, e.number(padded.back().size)));
        e.loop(zero, count, 1, [&](Value c) {
          Value at = e.mul(e.add(e.mul(c, e.number(phases)), e.number(phase)), e.number(area));
          copyRow(image, e.add(channel, c), phase, index, zero, e.number(seenAlong()), seen,
                  e.add(at, inImage));
        });
      });
  });
}

void WindowPanels::copyAlongSteps(const Panel &panel, Value k0, Value steps) {
  const ConvAxis &last = axes.back();
  packByColumns(panel, e.number(0), steps, [&](Value j, Value to) {
    SmallVector<Value> out = split(e.add(panel.begin, j), columnSizes());
    Value fixed = e.sub(e.mul(out.back(), last.stride), last.paddingLow);
    eachSegment(k0, steps, last.window, false, [&](Value index, Value from, Value end) {
      SmallVector<Value> sizes = stepSizes();
      SmallVector<Value> in = split(index, ArrayRef(sizes).drop_back());
      Spot spot = spotOf(out[0], in[0], ArrayRef(out).drop_front(), distancesOf(in));
      Value begin = e.add(to, e.sub(e.mul(index, last.window), k0));
      copyAlong(spot, fixed, last.dilation, from, end, staged, begin);
    });
  });
}

void WindowPanels::finish(Value row, Value i, Value count, Value begin, Value width) {
  eachSegment(begin, width, positions, false, [&](Value image, Value from, Value to) {
    Value start = e.sub(e.mul(image, positions), begin);
    e.loop(e.number(0), count, 1, [&](Value r) {
      e.loop(from, to, 1, [&](Value p) {
        storeAt(image, outputOf(e.add(i, r)), p, sumAt(e.add(row, r), e.add(start, p)));
      });
    });
  });
}

} // namespace

LogicalResult emitConv(CpuKernel &e, const OutputGroup &group) {
  auto op = cast<ConvOp>(group.sources[0]);
  if (failed(isAlone(group)) || failed(hasShapeOf(group)))
    return failure();
  auto isRead = [](Value value) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    return isa<BlockArgument>(transpose ? transpose.getX() : value);
  };
  if (!isRead(op.getX()) || !isRead(op.getW()))
    return op.emitOpError() << "reads what is computed in its kernel";
  WindowPanels panels(e, group);
  if (PaddedImages padded(e, group); padded.fits() && !panels.isBetterThan(padded))
    padded.emit();
  else if (OneOutput one(e, group); one.fits())
    one.emit();
  else
    panels.emit();
  return success();
}

} // namespace mx::lowering
