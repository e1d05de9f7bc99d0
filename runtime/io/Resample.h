// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures at another size. Each new pixel is the weighted mean of the old ones
// under a triangle, as wide as the distance of pixels in the coarser of the two
// grids: small pictures of large ones show no patterns of their own. Sums have
// one order, so the bits do not depend on threads.

#ifndef MXRT_IO_RESAMPLE_H
#define MXRT_IO_RESAMPLE_H

#include "io/Images.h"

namespace mxrt::io {

/// A part of a picture, in pixels; their edges are whole numbers.
struct ImageBox {
  double left = 0, top = 0, width = 0, height = 0;
};

/// A part of a picture of `channels` planes, each [from.height, from.width], as
/// planes of [height, width]. Sizes are at least 1.
Status resamplePlanes(const mxrt_allocator *alloc, const float *planes, int64_t channels,
                      ImageSize from, const ImageBox &part, int64_t height, int64_t width,
                      float *to);

/// How one axis changes: new pixel i is the sum of weights(i)[k] times old pixel
/// first[i] + k, for k up to taps.
struct ResampleAxis {
  explicit ResampleAxis(const mxrt_allocator *alloc) : first(alloc), weights(alloc) {}
  /// `from` pixels, of which the part from `begin` on of this length becomes
  /// `to` pixels. Nothing is done if that is what it is planned for.
  Status plan(int64_t from, double begin, double length, int64_t to);

  int64_t taps = 0;
  Vec<int64_t> first; // rises
  Vec<float> weights; // [to, taps]

private:
  int64_t plannedFrom = -1;
  double plannedBegin = 0, plannedLength = 0;
};

/// The same of red, green and blue bytes, pixel by pixel; values become 0 to 1.
/// Keeps its plan and its room from one picture to the next.
class ByteResampler {
public:
  explicit ByteResampler(const mxrt_allocator *alloc) : across(alloc), down(alloc), row(alloc) {}
  Status run(const unsigned char *rgb, ImageSize from, const ImageBox &part, int64_t height,
             int64_t width, float *to);

private:
  ResampleAxis across, down;
  Vec<float> row;
};

/// The largest part in the middle with the proportions of height x width.
ImageBox middleOf(ImageSize from, int64_t height, int64_t width);

} // namespace mxrt::io

#endif // MXRT_IO_RESAMPLE_H
