// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Image augmentation between a data set and a batch: size, region, mirroring, colours, scale of
// values. Randomness depends only on a stream of the loader, the epoch and the position of the item
// in the epoch.

#ifndef MXRT_DATA_AUGMENT_H
#define MXRT_DATA_AUGMENT_H

#include "base/Allocator.h"
#include "mxrt/random.h"

#include <span>

namespace mxrt::data {

enum class Change : int64_t { Resize, Crop, Zoom, Flip, Colour, Normalise };

inline constexpr size_t maxChanges = 16, maxChannels = 16;

/// One augmentation of images [channels, height, width]. Copied bytewise into ops.
struct PictureChange {
  Change kind = Change::Flip;
  int64_t height = 0, width = 0; // Resize, Crop
  int64_t pad = 0, random = 1;   // Crop
  /// Zoom: the smallest area fraction. Flip: the probability. Colour: brightness, contrast,
  /// saturation. Normalise: means, then deviations, of `channels` channels; a single pair applies
  /// to all channels.
  int64_t channels = 0;
  float values[2 * maxChannels] = {};
};

struct PictureSize {
  int64_t channels = 0, height = 0, width = 0;
  int64_t elements() const { return channels * height * width; }
};

/// The size after an augmentation. R0201 if it does not fit such an image.
Status sizeAfter(const mxrt_allocator *alloc, const PictureChange &change, PictureSize &size);

/// The position of an item's random samples in its stream (counter-based RNG).
uint64_t streamPosition(int64_t epoch, int64_t position);

/// Applies all augmentations of one image in order. `stream` is at the image's samples; `room` is
/// scratch memory that is reused for the next image.
Status changePicture(const mxrt_context *context, std::span<const PictureChange> changes,
                     mxrt_rng stream, PictureSize size, const float *from, float *to,
                     Vec<float> &room);

} // namespace mxrt::data

#endif // MXRT_DATA_AUGMENT_H
