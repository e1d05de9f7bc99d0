// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions that copy channels with zeros around them, so that what a window sees lies a fixed
// distance behind what it sees first. Positions are counted in an image that is as wide as what the
// windows see of it; zeros at the end of a line that are at the begin of the next one too are there
// once. With a stride, elements that are apart by it lie together: an image is several, its phases.
#pragma once
#include "Lowering/Convolution.h"

namespace mx::lowering {

class PaddedConvolution : public Convolution {
public:
  using Convolution::Convolution;

protected:
  /// A spatial axis in the copy.
  struct Padded {
    int64_t out, size, distance;    ///< positions of the window; of the copy; between them in it
    SmallVector<int64_t> phase, at; ///< of each position in the window: which image, where in it
    SmallVector<int64_t> starts;    ///< of each phase: its first position in x, but for `low`
  };
  static constexpr int64_t kRoom = 98304; ///< elements of a copy: they are to stay in the cache
  /// So many outputs make up for more copies.
  static constexpr int64_t kManyOutputs = 48;

  SmallVector<Padded> padded;
  int64_t phases = 1, reach = 0,
          windows = 1; ///< images; the largest distance; positions in a window

  /// Whether there is such a copy. `isNarrow`: each position of the window along the last axis has
  /// an image of its own, as wide as the result.
  bool planAxes(bool isNarrow);
  /// Of so many columns, whatever tiles there will be.
  int64_t vectorsOf(int64_t columns);
  /// Of a copy.
  int64_t mostChannels();
  /// How far behind the first element of a window what it sees at each step is, for so many
  /// channels, with `length` elements for a phase of each.
  SmallVector<int64_t> distancesOfSteps(int64_t count, int64_t length);
  /// Copies what the places from `from` to `end` of a line of a phase are, that of place p to `at`
  /// + p.
  void copyLine(Value image, Value channel, int64_t phase, Value line, Value from, Value end,
                const Buffer &into, Value at);

private:
  const int64_t usualDepth = depth;
  int64_t sharedZeros(const ConvAxis &axis, int64_t seen);
  void chooseStretch();
};

/// Tiles read the copies where they are. Positions at the end of a line see the next one, and are
/// not stored. Of narrow images much would be computed and not stored: there each position along a
/// line of the window has an image of its own, so that all positions count.
class PaddedImages : public PaddedConvolution {
public:
  PaddedImages(KernelEmitter &e, const OutputGroup &group) : PaddedConvolution(e, group) { plan(); }
  bool fits() { return isPlanned; }
  /// Of all images.
  int64_t vectorCount();
  void emit();

private:
  /// More copies are to save so much of the vectors.
  static constexpr int64_t kSaved = 14;

  bool isPlanned = false;
  int64_t length = 0; ///< of a phase of a channel in the copy
  Buffer distances;

  /// Of a panel where sums need no room of their own, and copies are not in the first cache anyway.
  static constexpr int64_t kManyColumns = 448;

  void plan();
  int64_t columnCount() { return padded[0].out * padded[0].distance; }
  bool maySumInPlace() override;
  Value resultAt(Value i, Value j) override;
  int64_t copiedRoom(int64_t columns) override;
  Value copiedBegin(const Tile &tile) override { return tile.column; }
  bool areCopiedInOrder() override { return false; }
  Value copiedAfter(Value k) override { return e.load(distances, k); }
  void copy(const Panel &panel, Value from, Value k0, Value steps) override;
  void finish(Value row, Value i, Value count, Value begin, Value width) override;
};

} // namespace mx::lowering
