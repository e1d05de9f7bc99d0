// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs an image into a record, optionally resized and re-encoded.

#include "Pack.h"
#include "io/Records.h"
#include "io/Resample.h"

#include <algorithm>
#include <cmath>

using namespace mxrt;

namespace {

constexpr int usualQuality = 95;

/// The output size of an image.
io::ImageSize sizeAfter(io::ImageSize size, const PackOptions &options) {
  int64_t shorter = std::min(size.width, size.height);
  int64_t side = options.resize > 0 ? options.resize : shorter;
  if (options.square)
    return {side, side};
  auto scaled = [&](int64_t length) {
    return std::max<int64_t>(1, std::llround(double(length) * double(side) / double(shorter)));
  };
  return {scaled(size.width), scaled(size.height)};
}

Status encodeAgain(const io::Input &input, std::string_view image, io::ImageSize size,
                   const PackOptions &options, Vec<char> &out) {
  const mxrt_allocator *alloc = out.allocator();
  io::ImageSize to = sizeAfter(size, options);
  if (to.width > io::maxPixels / to.height)
    return input.malformed(0, "pixels", "the picture would get %lld x %lld pixels",
                           static_cast<long long>(to.width), static_cast<long long>(to.height));
  int64_t shrink = io::shrinkOf(image, size, to.height, to.width);
  io::ImageSize from = io::shrunk(size, shrink);
  Vec<unsigned char> rgb(alloc), bytes(alloc);
  Vec<float> planes(alloc);
  auto pixels = static_cast<size_t>(to.width * to.height);
  if (!rgb.resize(static_cast<size_t>(3 * from.width * from.height)) ||
      !planes.resize(3 * pixels) || !bytes.resize(3 * pixels))
    return outOfMemory(alloc);
  MXRT_CHECK(io::decodeImage(input, 0, image, size, shrink, rgb.data()));
  MXRT_CHECK(io::ByteResampler(alloc).run(rgb.data(), from, io::middleOf(from, to.height, to.width),
                                          to.height, to.width, planes.data()));
  for (size_t i = 0; i < pixels; ++i)
    for (size_t c = 0; c < 3; ++c)
      bytes[3 * i + c] = static_cast<unsigned char>(
          std::lround(std::min(std::max(planes[c * pixels + i], 0.0f), 1.0f) * 255));
  return io::encodeJpeg(bytes.data(), to, options.quality > 0 ? options.quality : usualQuality,
                        out);
}

} // namespace

Status packPicture(const Line &line, const std::string &path, const PackOptions &options,
                   Vec<char> &record) {
  const mxrt_allocator *alloc = record.allocator();
  io::FileInput input(alloc, path.c_str());
  MXRT_CHECK(input.open());
  Vec<char> bytes(alloc), payload(alloc), again(alloc);
  if (!bytes.resize(static_cast<size_t>(input.size)))
    return outOfMemory(alloc);
  MXRT_CHECK(input.read(0, bytes.data(), bytes.size()));
  std::string_view image(bytes.data(), bytes.size());
  io::ImageSize size;
  MXRT_CHECK(io::readImageSize(input, 0, image, size));
  if (options.encodes()) {
    MXRT_CHECK(encodeAgain(input, image, size, options, again));
    image = {again.data(), again.size()};
  }
  if (!io::appendImageRecord(payload, line.labels, static_cast<uint64_t>(line.index), image))
    return outOfMemory(alloc);
  return io::appendRecord(record, {payload.data(), payload.size()});
}
