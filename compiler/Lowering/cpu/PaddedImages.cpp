// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implicit-GEMM convolution over zero-padded copies of channels, without im2col.
#include "Lowering/cpu/PaddedImages.h"

using namespace mlir;
using namespace mx::ir;
using arith::CmpIPredicate;

namespace mx::lowering {

// --------------------------------------------------------------------------------------- the copy

bool PaddedConvolution::planAxes(bool isNarrow) {
  padded.clear();
  phases = windows = 1;
  reach = 0;
  int64_t distance = 1, largest = 1;
  for (const ConvAxis &axis : llvm::reverse(axes)) {
    SmallVector<int64_t> numbers;
    for (Value number : {axis.out, axis.window, axis.stride, axis.dilation, axis.lhsDilation})
      numbers.push_back(e.known(number).value_or(0));
    auto [out, window, stride, dilation, lhsDilation] =
        std::tuple(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
    // The filter is longer than the result: most of the copy would not be read.
    if (out < 1 || window < 1 || stride < 1 || dilation < 1 || lhsDilation != 1 ||
        window > usualDepth || (window - 1) * dilation / stride > std::max<int64_t>(out, 2))
      return false;
    bool isLast = padded.empty(), areApart = isNarrow && isLast;
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
    if (isLast && !areApart && stride == 1)
      each.size -= std::min(each.at.back(), sharedZeros(axis, each.size));
    reach += each.at.back() * distance;
    distance *= each.size;
    phases *= static_cast<int64_t>(each.starts.size());
    windows *= window;
    largest = std::max(largest, distance);
    if (windows > usualDepth || largest > (int64_t(1) << 40))
      return false;
    padded.insert(padded.begin(), std::move(each));
  }
  if (!e.known(channels))
    return false;
  chooseBlock();
  return true;
}

/// Zeros after a row of `seen` elements that are also the zeros before the next row. If the padding
/// is wider than the filter reaches, positions of their own read some of them, and a row must have
/// room for these: the caller shares no more than the filter reaches.
int64_t PaddedConvolution::sharedZeros(const ConvAxis &axis, int64_t seen) {
  int64_t low = e.known(axis.paddingLow).value_or(0), size = e.known(axis.size).value_or(seen);
  return std::max<int64_t>(std::min(low, seen - low - size), 0);
}

/// K-blocks of whole channels, the same number in each. With 512-bit vectors a K-block may be an
/// eighth longer, if that makes one less; with others that was slower.
void PaddedConvolution::chooseBlock() {
  int64_t all = std::max<int64_t>(*e.known(channels), 1);
  int64_t longest = e.target.isWide() ? usualDepth * 9 / 8 : usualDepth;
  auto parts = static_cast<int64_t>(llvm::divideCeil(all, longest / windows));
  blockDepth = static_cast<int64_t>(llvm::divideCeil(all, parts)) * windows;
  // Blocks of steps are transposed: there must be room for whole blocks.
  depth = llvm::alignTo(std::max(usualDepth, blockDepth), 16);
}

int64_t PaddedConvolution::vectorsOf(int64_t columns) {
  int64_t bits = std::max(32u, e.memoryType(op.getType().getElement()).getIntOrFloatBitWidth());
  int64_t count = std::max<int64_t>(1, e.target.vectorBits / bits);
  return static_cast<int64_t>(llvm::divideCeil(columns, count));
}

int64_t PaddedConvolution::maxChannels() {
  return std::min(blockDepth / windows, std::max<int64_t>(*e.known(channels), 1));
}

SmallVector<int64_t> PaddedConvolution::distancesOfSteps(int64_t count, int64_t length) {
  SmallVector<int64_t> out;
  for (int64_t channel = 0; channel < count; ++channel)
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

void PaddedConvolution::copyRow(Value image, Value channel, int64_t phase, Value row, Value from,
                                Value end, const Buffer &into, Value at) {
  SmallVector<Value> starts(padded.size()), outer;
  for (size_t a = padded.size(); a-- > 0;) {
    auto many = static_cast<int64_t>(padded[a].starts.size());
    starts[a] = e.number(padded[a].starts[static_cast<size_t>(phase % many)]);
    phase /= many;
  }
  for (const Padded &axis : ArrayRef(padded).drop_back())
    outer.push_back(e.number(axis.size));
  const ConvAxis &last = axes.back();
  Spot spot = spotOf(image, channel, split(row, outer), starts);
  copyAlong(spot, e.sub(starts.back(), last.paddingLow), last.stride, from, end, into, at);
}

// --------------------------------------------------------------------------------- implicit GEMM

void PaddedImages::plan() {
  auto mayCopy = [&](bool isNarrow) {
    return planAxes(isNarrow) && packedSize(gemm.panelColumns) <= target.imageElements;
  };
  isPlanned = mayCopy(/*isNarrow=*/false);
  if (!isPlanned || e.known(outputs).value_or(0) < kManyOutputs)
    return;
  int64_t before = vectorsOf(columnCount());
  if (!mayCopy(/*isNarrow=*/true) || vectorsOf(columnCount()) * kSaved > before * (kSaved - 1))
    planAxes(/*isNarrow=*/false);
}

int64_t PaddedImages::vectorCount() {
  return vectorsOf(columnCount()) * e.known(images).value_or(1);
}

/// Columns then match positions of the result.
bool PaddedImages::maySumInPlace() {
  bool isDense = llvm::all_of(ArrayRef(padded).drop_front(),
                              [](const Padded &axis) { return axis.size == axis.out; });
  return isDense && isOnlyOutput();
}
Value PaddedImages::resultAt(Value i, Value j) {
  Buffer to = e.output(group.outputs[0].index);
  Value image = e.add(e.mul(batch[1], e.mul(groups, outputs)), outputOf(i));
  return e.addressAt(to, e.add(e.mul(image, positions), j));
}

int64_t PaddedImages::packedSize(int64_t columns) {
  length = llvm::alignTo(columns + reach, 16);
  return maxChannels() * phases * length + 64; // kBehind of them for copyAlong()
}

void PaddedImages::emit() {
  begin();
  rows = outputs;
  deep = stepCount();
  // Panels of whole rows are copied and stored without computing where in a row they begin.
  if (padded.back().size <= gemm.panelColumns)
    unit = padded.back().size;
  // No position of the first axis is past the last one.
  columns = e.number(columnCount());
  int64_t bytes = type.getIntOrFloatBitWidth() / 8, firstCache = target.firstCache.bytes();
  if (e.target.isWide() && *e.known(deep) <= blockDepth &&
      packedSize(gemm.panelColumns) * bytes > firstCache &&
      packedSize(gemm.maxColumns) <= target.imageElements)
    maxColumns = gemm.maxColumns;
  run({groups, images});
}

void PaddedImages::copy(const Panel &panel, Value, Value k0, Value steps) {
  if (!distances.address) // the size of an image is known now
    distances = e.table(distancesOfSteps(maxChannels(), length));
  Value first = arith::DivUIOp::create(e.b, k0, e.number(windows));
  Value count = arith::DivUIOp::create(e.b, steps, e.number(windows));
  Value filled =
      e.number(length); // past the last column too: what is not stored must be a number
  e.loop(e.number(0), count, 1, [&](Value channel) {
    for (int64_t phase = 0; phase < phases; ++phase) {
      Value to = e.mul(e.add(e.mul(channel, e.number(phases)), e.number(phase)), e.number(length));
      eachSegment(panel.begin, filled, e.number(padded.back().size), unit > 1,
                  [&](Value line, Value from, Value end) {
                    Value begin = e.sub(e.mul(line, e.number(padded.back().size)), panel.begin);
                    copyRow(batch[1], e.add(first, channel), phase, line, from, end, packed,
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
  eachSegment(begin, width, size, unit > 1, [&](Value index, Value from, Value to) {
    SmallVector<Value> at = split(index, lines);
    Value line = at.empty() ? e.number(0) : at[0], isSeen;
    for (size_t a = 1; a < at.size(); ++a) {
      Value fits = e.compare(CmpIPredicate::ult, at[a], e.number(padded[a].out));
      isSeen = isSeen ? Value(arith::AndIOp::create(e.b, isSeen, fits)) : fits;
      line = e.add(e.mul(line, e.number(padded[a].out)), at[a]);
    }
    Value start = e.sub(e.mul(index, size), begin), end = e.min(to, out);
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

} // namespace mx::lowering
