// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Image augmentation: crop, zoom, flip, colour jitter, normalise, resize.

#include "data/Augment.h"
#include "io/Resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mxrt::data {

namespace {

/// Random samples that one augmentation of one image may use: two Philox blocks.
constexpr int64_t samplesPerChange = 8, blocksOfItem = maxChanges * samplesPerChange / 4;

io::ImageSize planeOf(const PictureSize &size) { return {size.width, size.height}; }

void crop(const PictureChange &change, const float *samples, const PictureSize &size,
          const float *from, float *to) {
  // Position of the crop in the source image, which has `pad` zeros on each side.
  int64_t freeY = size.height + 2 * change.pad - change.height;
  int64_t freeX = size.width + 2 * change.pad - change.width;
  int64_t top = freeY / 2, left = freeX / 2;
  if (change.random) {
    top = std::min(static_cast<int64_t>(double(samples[0]) * double(freeY + 1)), freeY);
    left = std::min(static_cast<int64_t>(double(samples[1]) * double(freeX + 1)), freeX);
  }
  top -= change.pad;
  left -= change.pad;
  int64_t begin = std::min(std::max<int64_t>(-left, 0), change.width);
  int64_t end = std::max(std::min(change.width, size.width - left), begin);
  for (int64_t c = 0; c < size.channels; ++c)
    for (int64_t y = 0; y < change.height; ++y) {
      float *row = to + (c * change.height + y) * change.width;
      std::fill(row, row + change.width, 0.0f);
      if (top + y >= 0 && top + y < size.height)
        std::memcpy(row + begin, from + (c * size.height + top + y) * size.width + left + begin,
                    static_cast<size_t>(end - begin) * sizeof(float));
    }
}

/// Random resized crop: a region with an area fraction from `smallest` to 1 and an aspect ratio of
/// 3:4 to 4:3 relative to the image, clipped to the image.
Status zoom(const mxrt_allocator *alloc, const PictureChange &change, const float *samples,
            const PictureSize &size, const float *from, float *to) {
  double smallest = double(change.values[0]);
  double area = smallest + (1 - smallest) * double(samples[0]);
  double ratio = std::exp((2 * double(samples[1]) - 1) * std::log(4.0 / 3.0));
  io::ImageBox box;
  box.width = std::min(1.0, std::sqrt(area * ratio)) * double(size.width);
  box.height = std::min(1.0, std::sqrt(area / ratio)) * double(size.height);
  box.left = double(samples[2]) * (double(size.width) - box.width);
  box.top = double(samples[3]) * (double(size.height) - box.height);
  return io::resamplePlanes(alloc, from, size.channels, planeOf(size), box, size.height, size.width,
                            to);
}

void flip(const PictureChange &change, const float *samples, const PictureSize &size,
          const float *from, float *to) {
  bool mirrored = samples[0] < change.values[0];
  for (int64_t row = 0; row < size.channels * size.height; ++row) {
    const float *source = from + row * size.width;
    if (mirrored)
      std::reverse_copy(source, source + size.width, to + row * size.width);
    else
      std::copy(source, source + size.width, to + row * size.width);
  }
}

void colour(const PictureChange &change, const float *samples, const PictureSize &size,
            const float *from, float *to) {
  float factors[3];
  for (int i = 0; i < 3; ++i)
    factors[i] = 1 + (2 * samples[i] - 1) * change.values[i];
  int64_t plane = size.height * size.width, all = size.elements();
  bool coloured = size.channels == 3;
  // Luma weights of red, green and blue (BT.601).
  auto grey = [&](int64_t i) {
    return coloured ? 0.299f * from[i] + 0.587f * from[plane + i] + 0.114f * from[2 * plane + i]
                    : from[i];
  };
  double sum = 0;
  int64_t counted = coloured ? plane : all;
  for (int64_t i = 0; i < counted; ++i)
    sum += double(grey(i));
  float mean = counted > 0 ? float(sum / double(counted)) : 0;
  for (int64_t i = 0; i < all; ++i) {
    float value = from[i];
    if (coloured) {
      float level = grey(i % plane);
      value = level + (value - level) * factors[2];
    }
    value = (mean + (value - mean) * factors[1]) * factors[0];
    to[i] = std::min(std::max(value, 0.0f), 1.0f);
  }
}

void normalise(const PictureChange &change, const PictureSize &size, const float *from, float *to) {
  int64_t plane = size.height * size.width;
  for (int64_t c = 0; c < size.channels; ++c) {
    int64_t at = change.channels == 1 ? 0 : c;
    float mean = change.values[at], deviation = change.values[change.channels + at];
    for (int64_t i = c * plane; i < (c + 1) * plane; ++i)
      to[i] = (from[i] - mean) / deviation;
  }
}

} // namespace

Status sizeAfter(const mxrt_allocator *alloc, const PictureChange &change, PictureSize &size) {
  auto does = [](int64_t number) { return static_cast<long long>(number); };
  switch (change.kind) {
  case Change::Crop:
    if (change.height > size.height + 2 * change.pad || change.width > size.width + 2 * change.pad)
      return error(
          alloc, MXRT_SHAPE, noLocation,
          "crop: a part of %lld x %lld of pictures of %lld x %lld\nhelp: pad=%lld on each "
          "side makes room",
          does(change.height), does(change.width), does(size.height), does(size.width),
          does((std::max(change.height - size.height, change.width - size.width) + 1) / 2));
    break;
  case Change::Resize:
  case Change::Zoom:
    if (size.height < 1 || size.width < 1)
      return error(alloc, MXRT_SHAPE, noLocation, "pictures of %lld x %lld have no pixels to scale",
                   does(size.height), does(size.width));
    break;
  case Change::Normalise:
    if (change.channels != 1 && change.channels != size.channels)
      return error(alloc, MXRT_SHAPE, noLocation,
                   "normalise: %lld means and deviations, pictures have %lld channels",
                   does(change.channels), does(size.channels));
    break;
  case Change::Flip:
  case Change::Colour:
    break;
  }
  if (change.kind == Change::Crop || change.kind == Change::Resize) {
    size.height = change.height;
    size.width = change.width;
  }
  return success();
}

uint64_t streamPosition(int64_t epoch, int64_t position) {
  return (static_cast<uint64_t>(epoch) << 40) + static_cast<uint64_t>(position) * blocksOfItem;
}

Status changePicture(const mxrt_context *context, std::span<const PictureChange> changes,
                     mxrt_rng stream, PictureSize size, const float *from, float *to,
                     Vec<float> &room) {
  const mxrt_allocator *alloc = context->allocator;
  PictureSize largest = size, after = size;
  for (const PictureChange &change : changes) {
    MXRT_CHECK(sizeAfter(alloc, change, after));
    if (after.elements() > largest.elements())
      largest = after;
  }
  auto each = static_cast<size_t>(largest.elements());
  if (!room.resize(2 * each))
    return outOfMemory(alloc);
  float *rooms[] = {room.data(), room.data() + each};
  for (size_t i = 0; i < changes.size(); ++i) {
    const PictureChange &change = changes[i];
    float samples[samplesPerChange];
    MXRT_CHECK(Status(mxrt_random_uniform_f32(context, &stream, 0, 1, samplesPerChange, samples)));
    float *out = i + 1 == changes.size() ? to : rooms[i % 2];
    switch (change.kind) {
    case Change::Resize:
      MXRT_CHECK(io::resamplePlanes(alloc, from, size.channels, planeOf(size),
                                    {0, 0, double(size.width), double(size.height)}, change.height,
                                    change.width, out));
      break;
    case Change::Crop:
      crop(change, samples, size, from, out);
      break;
    case Change::Zoom:
      MXRT_CHECK(zoom(alloc, change, samples, size, from, out));
      break;
    case Change::Flip:
      flip(change, samples, size, from, out);
      break;
    case Change::Colour:
      colour(change, samples, size, from, out);
      break;
    case Change::Normalise:
      normalise(change, size, from, out);
      break;
    }
    MXRT_CHECK(sizeAfter(alloc, change, size));
    from = out;
  }
  return success();
}

} // namespace mxrt::data
