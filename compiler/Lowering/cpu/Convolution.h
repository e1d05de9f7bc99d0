// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base of all convolution algorithms: the axes, the addresses of elements, and the result.
#pragma once
#include "Lowering/cpu/TiledMatmul.h"

namespace mx::lowering {

/// A spatial axis.
struct ConvAxis {
  Value size, window, out; ///< of x, w and the result
  Value stride, dilation, paddingLow, lhsDilation;
  Value step; ///< from one element of x to the next

  /// A pointwise convolution along this axis: filter of size 1, stride 1, no padding.
  bool isWhole() const;
};

class Convolution : public TiledMatmul {
public:
  Convolution(KernelEmitter &e, const OutputGroup &group);

protected:
  /// Address of elements of x: whether in range, and the offset from the first element of x.
  struct Spot {
    Value isInside, offset;
  };

  ir::ConvOp op;
  Buffer x, w;
  SmallVector<ConvAxis> axes;
  Value images, groups, channels, outputs; ///< the last two of a group
  Value positions;                         ///< number of window positions

  /// Called by the chosen algorithm before it emits anything.
  void begin();
  /// The number of steps of a sum: (channel, filter tap).
  Value stepCount();
  SmallVector<Value> stepSizes();
  /// Splits a linear index by sizes; the first part takes the rest.
  SmallVector<Value> split(Value number, ArrayRef<Value> sizes);
  /// Distances of a step, (channel, filter tap), from the start of its window.
  SmallVector<Value> distancesOf(Indices step);
  /// By all but the last axis: positions of the window, and distances from them.
  Spot spotOf(Value image, Value channel, Indices outs, Indices distances);
  /// Calls body with each position p from `from` to `to` and the element at p * step + fixed of the
  /// last axis, 0 outside of x.
  void along(const Spot &spot, Value fixed, Value step, Value from, Value to,
             llvm::function_ref<void(Value, Value)> body);
  /// Stores these elements into a buffer, that of position p at `at` + p. The buffer needs kBehind
  /// elements of padding.
  void copyAlong(const Spot &spot, Value fixed, Value step, Value from, Value to,
                 const Buffer &into, Value at);
  static constexpr int64_t kBehind = 16, kShort = 32; ///< kShort: a row copied by masked vectors
  /// Splits `count` indices from `begin` at the ends of rows of `length`: body gets the row, and
  /// the start and end of the segment in it. `fromStart`: the first segment begins with its row,
  /// and either `count` is known, or the last segment ends with its row.
  void eachSegment(Value begin, Value count, Value length, bool fromStart,
                   llvm::function_ref<void(Value, Value, Value)> body);
  /// The epilogue of a sum, and the outputs. `position` is the linear position of the window.
  void storeAt(Value image, Value output, Value position, Value sum);
  Value outputOf(Value i) { return e.add(e.mul(batch[0], outputs), i); }

  /// The offset in w of an element of the left operand.
  Value inWindow(Value i, Value k);
  Value left(Value i, Value k) override;
  bool mayReadRowsInPlace() override { return true; }

private:
  bool isFlat = false;
  /// In memory the channels of w come before its outputs; distance from one of each to the next.
  bool areOutputsSwapped = false;
  Value outputStep, channelStep;

  void findAxes();
  Value atLeastOne(Value size);
  bool mayCountFlat();
  SmallVector<Value> resultIndices(Value image, Value output, Value position);
};

} // namespace mx::lowering
