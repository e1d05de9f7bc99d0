// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implicit-GEMM convolutions that copy channels with zero padding, so that each filter tap is at a
// constant offset. Positions are counted in an image as wide as the part that the windows read;
// zeros that end a row and begin the next one are stored once. With a stride, elements that are a
// stride apart become contiguous: an image is split into several, its phases.
#pragma once
#include "Lowering/cpu/Convolution.h"

namespace mx::lowering {

class PaddedConvolution : public Convolution {
public:
  using Convolution::Convolution;

protected:
  /// A spatial axis in the copy.
  struct Padded {
    int64_t out, size, distance;    ///< positions of the window; size and pitch of the copy
    SmallVector<int64_t> phase, at; ///< of each filter tap: which image, offset in it
    SmallVector<int64_t> starts;    ///< of each phase: its first position in x, before low padding
  };
  /// With this many outputs, more copies pay off.
  static constexpr int64_t kManyOutputs = 48;

  SmallVector<Padded> padded;
  int64_t phases = 1, reach = 0,
          windows = 1; ///< images; the largest distance; filter taps

  /// Whether such a copy exists. `isNarrow`: each filter tap along the last axis has an image of
  /// its own, as wide as the result.
  bool planAxes(bool isNarrow);
  /// Number of vectors for so many columns, whatever the tiles will be.
  int64_t vectorsOf(int64_t columns);
  /// Max channels of a copy.
  int64_t maxChannels();
  /// Offset of each step, (channel, filter tap), from the first element of its window, for so many
  /// channels, with `length` elements for a phase of each.
  SmallVector<int64_t> distancesOfSteps(int64_t count, int64_t length);
  /// Copies the elements at positions `from` to `end` of a row of a phase, that of position p to
  /// `at` + p.
  void copyRow(Value image, Value channel, int64_t phase, Value row, Value from, Value end,
               const Buffer &into, Value at);

private:
  const int64_t usualDepth = depth;
  int64_t sharedZeros(const ConvAxis &axis, int64_t seen);
  void chooseBlock();
};

/// Tiles read the copies directly. Positions at the end of a row read the next row, and are not
/// stored. For narrow images much of the work would be discarded: there each filter tap along a row
/// has an image of its own, so that all positions are used.
class PaddedImages : public PaddedConvolution {
public:
  PaddedImages(KernelEmitter &e, const OutputGroup &group) : PaddedConvolution(e, group) { plan(); }
  bool fits() { return isPlanned; }
  /// Vectors of all images.
  int64_t vectorCount();
  void emit();

private:
  /// More copies must save this fraction (1 / kSaved) of the vectors.
  static constexpr int64_t kSaved = 14;

  bool isPlanned = false;
  int64_t length = 0; ///< of a phase of a channel in the copy
  Buffer distances;

  void plan();
  int64_t columnCount() { return padded[0].out * padded[0].distance; }
  bool maySumInPlace() override;
  Value resultAt(Value i, Value j) override;
  int64_t packedSize(int64_t columns) override;
  Value packedBegin(const Tile &tile) override { return tile.column; }
  bool isPackedInOrder() override { return false; }
  Value packedStepOffset(Value k) override { return e.load(distances, k); }
  void copy(const Panel &panel, Value from, Value k0, Value steps) override;
  void finish(Value row, Value i, Value count, Value begin, Value width) override;
};

} // namespace mx::lowering
