// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Image codecs: JPEG with libjpeg-turbo, PNG with libpng.

#include "io/Images.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
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

/// libjpeg reports errors with longjmp. Its warnings about damaged files are errors here.
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

/// Each scan of a progressive JPEG processes the whole image, and a few bytes can declare one.
/// Images with more scans than any encoder writes are rejected (decompression bomb).
constexpr int maxScans = 100;
void jpegProgress(j_common_ptr info) {
  auto *errors = reinterpret_cast<JpegErrors *>(info->err);
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= maxScans)
    return;
  std::snprintf(errors->text, sizeof errors->text, "the picture has more than %d scans", maxScans);
  std::longjmp(errors->back, 1);
}

/// Runs `body` on an open image; false, with the text, if libjpeg fails. `body` must not have
/// objects with destructors, because of longjmp.
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
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = jpegProgress;
  info.progress = &progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  body(info);
  jpeg_destroy_decompress(&info);
  return true;
}

// -- PNG ----------------------------------------------------------------------

/// RAII owner of the image state of libpng.
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
                   int64_t shrink, unsigned char *rgb) {
  if (isPng(bytes)) {
    PngImage png;
    png_color black = {0, 0, 0};
    bool fine = png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()) != 0;
    png.image.format = PNG_FORMAT_RGB;
    fine = fine && png.image.width == size.width && png.image.height == size.height &&
           png_image_finish_read(&png.image, &black, rgb, 0, nullptr);
    // libpng continues after damage that it can repair. This decoder reports an error.
    if (!fine || png.image.warning_or_error)
      return input.malformed(offset, "png", "%s", png.image.message);
    return success();
  }
  JpegErrors errors;
  bool same = true;
  ImageSize small = shrunk(size, shrink);
  if (!withJpeg(bytes, errors, [&](jpeg_decompress_struct &info) {
        same = info.image_width == size.width && info.image_height == size.height;
        if (!same)
          return;
        info.out_color_space = JCS_RGB;
        info.scale_num = 1;
        info.scale_denom = static_cast<unsigned>(shrink);
        jpeg_start_decompress(&info);
        same = info.output_width == small.width && info.output_height == small.height;
        while (same && info.output_scanline < info.output_height) {
          unsigned char *row = rgb + int64_t(info.output_scanline) * small.width * 3;
          jpeg_read_scanlines(&info, &row, 1);
        }
        if (same)
          jpeg_finish_decompress(&info);
      }))
    return input.malformed(offset, "jpeg", "%s", errors.text);
  return same ? success() : input.malformed(offset, "jpeg", "the picture has another size now");
}

int64_t shrinkOf(std::string_view bytes, ImageSize size, int64_t height, int64_t width) {
  int64_t shrink = 1;
  while (!isPng(bytes) && shrink < 8 && size.width / (2 * shrink) >= width &&
         size.height / (2 * shrink) >= height)
    shrink *= 2;
  return shrink;
}

namespace {

/// The libjpeg part of encoding. No object here has a destructor, since libjpeg leaves with
/// longjmp. The output is in `memory`, also after an error.
bool compress(const unsigned char *rgb, ImageSize size, int quality, JpegErrors &errors,
              unsigned char *&memory, unsigned long &bytes) {
  jpeg_compress_struct info;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jpegFailed;
  errors.manager.emit_message = jpegMessage;
  if (setjmp(errors.back)) {
    jpeg_destroy_compress(&info);
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &memory, &bytes);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto *row = const_cast<unsigned char *>(rgb) + int64_t(info.next_scanline) * size.width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

} // namespace

Status encodeJpeg(const unsigned char *rgb, ImageSize size, int quality, Vec<char> &out) {
  const mxrt_allocator *alloc = out.allocator();
  if (size.width < 1 || size.height < 1 || size.width > JPEG_MAX_DIMENSION ||
      size.height > JPEG_MAX_DIMENSION)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "a JPEG has 1 to %ld pixels a side, this is %lld x %lld", JPEG_MAX_DIMENSION,
                 static_cast<long long>(size.width), static_cast<long long>(size.height));
  JpegErrors errors;
  unsigned char *memory = nullptr;
  unsigned long bytes = 0;
  Status status;
  if (!compress(rgb, size, quality, errors, memory, bytes))
    status = error(alloc, MXRT_INTERNAL, noLocation, "libjpeg: %s", errors.text);
  else if (size_t before = out.size(); out.resize(before + bytes))
    std::memcpy(out.data() + before, memory, bytes);
  else
    status = outOfMemory(alloc);
  std::free(memory);
  return status;
}

} // namespace mxrt::io
