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
/// Red, green and blue of each pixel, row by row: 3 * width * height bytes of
/// the size that readImageSize gave. Transparent parts are black.
Status decodeImage(const Input &input, int64_t offset, std::string_view bytes, ImageSize size,
                   unsigned char *rgb);

/// The middle of a picture at another size, as [3, height, width] in 0 to 1:
/// scaled (by weighted neighbours) until it just covers the new size, then cut.
void fitImage(const unsigned char *rgb, ImageSize from, int64_t height, int64_t width, float *to);

} // namespace mxrt::io

#endif // MXRT_IO_IMAGES_H
