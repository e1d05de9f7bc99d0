// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of pictures on their way from a data set into a batch: size, part,
// mirror, colours, scale of values. What is random follows from a stream of the
// loader, the epoch and the place of the item in it, and from nothing else.

#ifndef MXRT_DATA_AUGMENT_H
#define MXRT_DATA_AUGMENT_H

#include "base/Allocator.h"
#include "mxrt/random.h"

#include <span>

namespace mxrt::data {

enum class Change : int64_t { Resize, Crop, Zoom, Flip, Colour, Normalise };

inline constexpr size_t maxChanges = 16, maxChannels = 16;

/// One change of pictures [channels, height, width]. Copied as bytes into ops.
struct PictureChange {
  Change kind = Change::Flip;
  int64_t height = 0, width = 0; // Resize, Crop
  int64_t pad = 0, random = 1;   // Crop
  /// Zoom: the smallest part. Flip: how likely. Colour: brightness, contrast,
  /// saturation. Normalise: means, then deviations, of `channels` channels; with
  /// one of each they are for all.
  int64_t channels = 0;
  float values[2 * maxChannels] = {};
};

struct PictureSize {
  int64_t channels = 0, height = 0, width = 0;
  int64_t elements() const { return channels * height * width; }
};

/// The size behind a change. R0201 if it does not fit such a picture.
Status sizeAfter(const mxrt_allocator *alloc, const PictureChange &change, PictureSize &size);

/// Where the random numbers of an item begin in its stream.
uint64_t drawsOf(int64_t epoch, int64_t place);

/// All changes of one picture after the other. `stream` is at its draws; `room`
/// is memory that is used again for the next picture.
Status changePicture(const mxrt_context *context, std::span<const PictureChange> changes,
                     mxrt_rng stream, PictureSize size, const float *from, float *to,
                     Vec<float> &room);

} // namespace mxrt::data

#endif // MXRT_DATA_AUGMENT_H
