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
/// The same of red, green and blue bytes, pixel by pixel; values become 0 to 1.
Status resampleBytes(const mxrt_allocator *alloc, const unsigned char *rgb, ImageSize from,
                     const ImageBox &part, int64_t height, int64_t width, float *to);

/// The largest part in the middle with the proportions of height x width.
ImageBox middleOf(ImageSize from, int64_t height, int64_t width);

} // namespace mxrt::io

#endif // MXRT_IO_RESAMPLE_H
