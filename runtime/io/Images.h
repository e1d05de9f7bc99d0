// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures: JPEG by libjpeg-turbo, PNG by libpng. Both are told apart by their
// first bytes, and their size is known and checked before memory is taken for
// it. (The two libraries keep their own working memory on the C heap.)

#ifndef MXRT_IO_IMAGES_H
#define MXRT_IO_IMAGES_H

#include "io/Input.h"

namespace mxrt::io {

/// Pictures with more are refused: a few hundred bytes can announce them.
inline constexpr int64_t maxPixels = int64_t(1) << 27;

struct ImageSize {
  int64_t width = 0, height = 0;
};

/// `offset` is that of `bytes` in `input`, for messages.
Status readImageSize(const Input &input, int64_t offset, std::string_view bytes, ImageSize &size);
/// How much smaller than it is a picture may be decoded, a power of 2 up to 8,
/// and still be at least height x width; that is quicker. 1 for a PNG.
int64_t shrinkOf(std::string_view bytes, ImageSize size, int64_t height, int64_t width);
/// The size of a picture that is decoded `shrink` times smaller.
inline ImageSize shrunk(ImageSize size, int64_t shrink) {
  return {(size.width + shrink - 1) / shrink, (size.height + shrink - 1) / shrink};
}
/// Red, green and blue of each pixel, row by row: 3 bytes for each pixel of
/// shrunk(size, shrink), where readImageSize gave `size`. Transparent parts are
/// black.
Status decodeImage(const Input &input, int64_t offset, std::string_view bytes, ImageSize size,
                   int64_t shrink, unsigned char *rgb);

/// Appends a JPEG of these pixels; `quality` is 1 to 100.
Status encodeJpeg(const unsigned char *rgb, ImageSize size, int quality, Vec<char> &out);

} // namespace mxrt::io

#endif // MXRT_IO_IMAGES_H
