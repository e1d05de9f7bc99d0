// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Image codecs: JPEG with libjpeg-turbo, PNG with libpng. The first bytes determine the format. The
// size is known and checked before memory is allocated for the pixels. (Both libraries keep their
// own working memory on the C heap.)

#ifndef MXRT_IO_IMAGES_H
#define MXRT_IO_IMAGES_H

#include "io/Input.h"

namespace mxrt::io {

/// Larger images are rejected: a few hundred bytes can declare them.
inline constexpr int64_t maxPixels = int64_t(1) << 27;

struct ImageSize {
  int64_t width = 0, height = 0;
};

/// `offset` is the position of `bytes` in `input`, for messages.
Status readImageSize(const Input &input, int64_t offset, std::string_view bytes, ImageSize &size);
/// The factor by which an image can be downscaled during decoding, a power of 2 up to 8, and still
/// be at least height x width. Scaled decoding is faster. 1 for a PNG.
int64_t shrinkOf(std::string_view bytes, ImageSize size, int64_t height, int64_t width);
/// The size of an image that is decoded with the factor `shrink`.
inline ImageSize shrunk(ImageSize size, int64_t shrink) {
  return {(size.width + shrink - 1) / shrink, (size.height + shrink - 1) / shrink};
}
/// Interleaved RGB pixels in row-major order: 3 bytes for each pixel of shrunk(size, shrink), where
/// `size` is the result of readImageSize. Transparent parts are black.
Status decodeImage(const Input &input, int64_t offset, std::string_view bytes, ImageSize size,
                   int64_t shrink, unsigned char *rgb);

/// Encodes these pixels as JPEG and appends it; `quality` is 1 to 100.
Status encodeJpeg(const unsigned char *rgb, ImageSize size, int quality, Vec<char> &out);

} // namespace mxrt::io

#endif // MXRT_IO_IMAGES_H
