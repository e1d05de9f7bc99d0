// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "io/Images.h"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>
#include <png.h>

namespace mxrt::io {

namespace {

bool isPng(std::string_view bytes) { return bytes.substr(0, 8) == "\x89PNG\r\n\x1a\n"; }
bool isJpeg(std::string_view bytes) { return bytes.substr(0, 3) == "\xff\xd8\xff"; }

Status checkSize(const Input &input, int64_t offset, int64_t width, int64_t height,
                 ImageSize &size) {
  if (width < 1 || height < 1 || width > maxPixels / height)
    return input.malformed(offset, "pixels",
                           "a picture of %lld x %lld, at most %lld pixels are read",
                           static_cast<long long>(width), static_cast<long long>(height),
                           static_cast<long long>(maxPixels));
  size = {width, height};
  return success();
}

// -- JPEG ---------------------------------------------------------------------

/// libjpeg leaves by a jump; what it says of a damaged file is an error here,
/// not a warning.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};
void jpegFailed(j_common_ptr info) {
  auto *errors = reinterpret_cast<JpegErrors *>(info->err);
  errors->manager.format_message(info, errors->text);
  std::longjmp(errors->back, 1);
}
void jpegMessage(j_common_ptr info, int level) {
  if (level < 0) // damaged data
    jpegFailed(info);
}

/// Runs `body` on an open picture; false, with the text, if libjpeg gives up.
/// `body` must have nothing to destroy.
template <typename Body>
bool withJpeg(std::string_view bytes, JpegErrors &errors, const Body &body) {
  jpeg_decompress_struct info;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jpegFailed;
  errors.manager.emit_message = jpegMessage;
  if (setjmp(errors.back)) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  body(info);
  jpeg_destroy_decompress(&info);
  return true;
}

// -- PNG ----------------------------------------------------------------------

/// Ends the library's part of a picture.
struct PngImage {
  png_image image = {};
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image); }
};

} // namespace

Status readImageSize(const Input &input, int64_t offset, std::string_view bytes, ImageSize &size) {
  if (isPng(bytes)) {
    PngImage png;
    if (!png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()))
      return input.malformed(offset, "png", "%s", png.image.message);
    return checkSize(input, offset, png.image.width, png.image.height, size);
  }
  if (!isJpeg(bytes))
    return input.malformed(offset, "picture", "this is neither a JPEG nor a PNG");
  JpegErrors errors;
  int64_t width = 0, height = 0;
  if (!withJpeg(bytes, errors, [&](jpeg_decompress_struct &info) {
        width = info.image_width;
        height = info.image_height;
      }))
    return input.malformed(offset, "jpeg", "%s", errors.text);
  return checkSize(input, offset, width, height, size);
}

Status decodeImage(const Input &input, int64_t offset, std::string_view bytes, ImageSize size,
                   unsigned char *rgb) {
  if (isPng(bytes)) {
    PngImage png;
    png_color black = {0, 0, 0};
    bool fine = png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()) != 0;
    png.image.format = PNG_FORMAT_RGB;
    fine = fine && png.image.width == size.width && png.image.height == size.height &&
           png_image_finish_read(&png.image, &black, rgb, 0, nullptr);
    // The library reads on after damage that it can repair; we do not.
    if (!fine || png.image.warning_or_error)
      return input.malformed(offset, "png", "%s", png.image.message);
    return success();
  }
  JpegErrors errors;
  bool same = true;
  if (!withJpeg(bytes, errors, [&](jpeg_decompress_struct &info) {
        same = info.image_width == size.width && info.image_height == size.height;
        if (!same)
          return;
        info.out_color_space = JCS_RGB;
        jpeg_start_decompress(&info);
        while (info.output_scanline < info.output_height) {
          unsigned char *row = rgb + int64_t(info.output_scanline) * size.width * 3;
          jpeg_read_scanlines(&info, &row, 1);
        }
        jpeg_finish_decompress(&info);
      }))
    return input.malformed(offset, "jpeg", "%s", errors.text);
  return same ? success() : input.malformed(offset, "jpeg", "the picture has another size now");
}

void fitImage(const unsigned char *rgb, ImageSize from, int64_t height, int64_t width, float *to) {
  double scale = std::min(double(from.width) / double(width), double(from.height) / double(height));
  double left = (double(from.width) - scale * double(width)) / 2;
  double top = (double(from.height) - scale * double(height)) / 2;
  auto clampTo = [](double at, int64_t count) {
    return std::min(std::max(at, 0.0), double(count - 1));
  };
  for (int64_t y = 0; y < height; ++y) {
    double fy = clampTo(top + (double(y) + 0.5) * scale - 0.5, from.height);
    auto y0 = static_cast<int64_t>(fy);
    int64_t y1 = std::min(y0 + 1, from.height - 1);
    float wy = float(fy - double(y0));
    for (int64_t x = 0; x < width; ++x) {
      double fx = clampTo(left + (double(x) + 0.5) * scale - 0.5, from.width);
      auto x0 = static_cast<int64_t>(fx);
      int64_t x1 = std::min(x0 + 1, from.width - 1);
      float wx = float(fx - double(x0));
      for (int64_t c = 0; c < 3; ++c) {
        auto at = [&](int64_t row, int64_t column) {
          return float(rgb[(row * from.width + column) * 3 + c]);
        };
        float upper = at(y0, x0) * (1 - wx) + at(y0, x1) * wx;
        float lower = at(y1, x0) * (1 - wx) + at(y1, x1) * wx;
        to[(c * height + y) * width + x] = (upper * (1 - wy) + lower * wy) / 255;
      }
    }
  }
}

} // namespace mxrt::io
