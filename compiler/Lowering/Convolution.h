// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all ways to compute a convolution share: its axes, where its elements are, and its result.
#pragma once
#include "Lowering/TileProduct.h"

namespace mx::lowering {

/// A spatial axis.
struct ConvAxis {
  Value size, window, out; ///< of x, w and the result
  Value stride, dilation, low, holes;
  Value step; ///< from one element of x to the next

  /// The window has one position, and sees the elements one after the other.
  bool isWhole() const;
};

class Convolution : public TileProduct {
public:
  Convolution(KernelEmitter &e, const OutputGroup &group);

protected:
  /// Where elements of x are: in range, and how far from its first.
  struct Spot {
    Value isInside, offset;
  };

  ir::ConvOp op;
  Buffer x, w;
  SmallVector<ConvAxis> axes;
  Value images, groups, channels, outputs; ///< the last two of a group
  Value places;                            ///< positions of the window

  /// Before anything of it is emitted, by the way that was chosen.
  void begin();
  /// The number of steps of a sum, (channel, position in the window).
  Value stepCount();
  SmallVector<Value> stepSizes();
  /// A place as its parts; the first takes what is left.
  SmallVector<Value> split(Value number, ArrayRef<Value> sizes);
  /// How far what a step sees, (channel, position in the window), is from what its window begins
  /// with.
  SmallVector<Value> distancesOf(Indices step);
  /// By all but the last axis: positions of the window, and distances from them.
  Spot spotOf(Value image, Value channel, Indices outs, Indices distances);
  /// Calls body with each place from `from` to `to` and the element at place * step + fixed of the
  /// last axis, 0 outside of x.
  void along(const Spot &spot, Value fixed, Value step, Value from, Value to,
             llvm::function_ref<void(Value, Value)> body);
  /// Stores these elements into a buffer, that of place p at `at` + p. It needs kBehind elements
  /// more.
  void copyAlong(const Spot &spot, Value fixed, Value step, Value from, Value to,
                 const Buffer &into, Value at);
  static constexpr int64_t kBehind = 16, kShort = 32; ///< kShort: a line that goes by vectors
  /// Cuts `count` numbers from `begin` where a line of `length` ends: body gets the line, and where
  /// the stretch begins and ends in it. `fromStart`: the first one begins with its line, and either
  /// `count` is known, or the last one ends with its line.
  void eachStretch(Value begin, Value count, Value length, bool fromStart,
                   llvm::function_ref<void(Value, Value, Value)> body);
  /// The ops on a sum, and the outputs. `position` counts those of the window.
  void storeAt(Value image, Value output, Value position, Value sum);
  Value outputOf(Value i) { return e.add(e.mul(batch[0], outputs), i); }

  /// Where an element of the left operand is in w.
  Value inWindow(Value i, Value k);
  Value left(Value i, Value k) override;
  bool mayReadRowsInPlace() override { return true; }

private:
  bool isFlat = false;
  /// In memory the channels of w come before its outputs; from one of each to the next.
  bool areOutputsSwapped = false;
  Value outputStep, channelStep;

  void findAxes();
  Value atLeastOne(Value size);
  bool mayCountFlat();
  SmallVector<Value> resultPlace(Value image, Value output, Value position);
};

} // namespace mx::lowering
