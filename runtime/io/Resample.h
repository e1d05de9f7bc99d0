// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Image resampling. Each output pixel is a weighted mean with a triangle filter, whose half width
// is the pixel distance of the coarser grid: downscaled images have no aliasing. The order of
// summation is fixed, so the result is bitwise independent of the number of threads.

#ifndef MXRT_IO_RESAMPLE_H
#define MXRT_IO_RESAMPLE_H

#include "io/Images.h"

namespace mxrt::io {

/// A region of an image, in pixels. Pixel edges are at integers.
struct ImageBox {
  double left = 0, top = 0, width = 0, height = 0;
};

/// Resamples a region of an image of `channels` planes, each [from.height, from.width], to planes
/// of [height, width]. Sizes are at least 1.
Status resamplePlanes(const mxrt_allocator *alloc, const float *planes, int64_t channels,
                      ImageSize from, const ImageBox &part, int64_t height, int64_t width,
                      float *to);

/// Filter of one axis: output pixel i is the sum of weights(i)[k] times input pixel first[i] + k,
/// for k < taps.
struct ResampleAxis {
  explicit ResampleAxis(const mxrt_allocator *alloc) : first(alloc), weights(alloc) {}
  /// Computes the filter that maps the region of this length at `begin` of `from` pixels to `to`
  /// pixels. Does nothing if the filter is already computed for these arguments.
  Status plan(int64_t from, double begin, double length, int64_t to);

  int64_t taps = 0;
  Vec<int64_t> first; // ascending
  Vec<float> weights; // [to, taps]

private:
  int64_t plannedFrom = -1;
  double plannedBegin = 0, plannedLength = 0;
};

/// The same for interleaved RGB bytes; values are scaled to [0, 1]. Keeps its filters and scratch
/// memory between images.
class ByteResampler {
public:
  explicit ByteResampler(const mxrt_allocator *alloc) : across(alloc), down(alloc), row(alloc) {}
  Status run(const unsigned char *rgb, ImageSize from, const ImageBox &part, int64_t height,
             int64_t width, float *to);

private:
  ResampleAxis across, down;
  Vec<float> row;
};

/// The largest centred region with the aspect ratio of height x width.
ImageBox middleOf(ImageSize from, int64_t height, int64_t width);

} // namespace mxrt::io

#endif // MXRT_IO_RESAMPLE_H
