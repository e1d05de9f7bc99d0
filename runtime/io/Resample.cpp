// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "io/Resample.h"

#include <algorithm>
#include <cmath>

namespace mxrt::io {

namespace {

/// How one axis changes: new pixel i is the sum of weights(i)[k] times old pixel
/// first[i] + k.
struct Axis {
  explicit Axis(const mxrt_allocator *alloc) : first(alloc), weights(alloc) {}

  Status plan(int64_t from, double begin, double length, int64_t to) {
    double step = length / double(to), reach = std::max(step, 1.0);
    taps = std::min(from, static_cast<int64_t>(std::ceil(2 * reach)) + 1);
    if (!first.resize(static_cast<size_t>(to)) || !weights.resize(static_cast<size_t>(to * taps)))
      return outOfMemory(first.allocator());
    for (int64_t i = 0; i < to; ++i) {
      // Pixel k covers k to k + 1: its middle is k + 0.5. Beyond the picture there is nothing.
      double middle = begin + (double(i) + 0.5) * step;
      auto low = static_cast<int64_t>(std::ceil(middle - reach - 0.5));
      low = std::min(std::max<int64_t>(low, 0), from - taps);
      float *row = weights.data() + i * taps;
      double sum = 0;
      for (int64_t k = 0; k < taps; ++k) {
        double weight = std::max(0.0, 1 - std::abs(double(low + k) + 0.5 - middle) / reach);
        row[k] = float(weight);
        sum += weight;
      }
      for (int64_t k = 0; k < taps; ++k)
        row[k] = float(row[k] / sum);
      first[static_cast<size_t>(i)] = low;
    }
    return success();
  }

  int64_t taps = 1;
  Vec<int64_t> first;
  Vec<float> weights;
};

/// Element (channel, y, x) is at channel * planeStep + y * rowStep + x * pixelStep.
template <typename T> struct Source {
  const T *pixels;
  int64_t channels, planeStep, rowStep, pixelStep;
};

template <typename T>
Status resample(const mxrt_allocator *alloc, const Source<T> &source, ImageSize from,
                const ImageBox &part, int64_t height, int64_t width, float divisor, float *to) {
  Axis across(alloc), down(alloc);
  MXRT_CHECK(across.plan(from.width, part.left, part.width, width));
  MXRT_CHECK(down.plan(from.height, part.top, part.height, height));
  // Rows that anybody needs, across first: they get narrower in most cases.
  int64_t top = down.first[0], bottom = down.first[static_cast<size_t>(height - 1)] + down.taps;
  Vec<float> rows(alloc);
  if (!rows.resize(static_cast<size_t>((bottom - top) * width)))
    return outOfMemory(alloc);
  for (int64_t c = 0; c < source.channels; ++c) {
    for (int64_t y = top; y < bottom; ++y) {
      const T *row = source.pixels + c * source.planeStep + y * source.rowStep;
      float *out = rows.data() + (y - top) * width;
      for (int64_t x = 0; x < width; ++x) {
        const T *at = row + across.first[static_cast<size_t>(x)] * source.pixelStep;
        const float *weights = across.weights.data() + x * across.taps;
        float sum = 0;
        for (int64_t k = 0; k < across.taps; ++k)
          sum += float(at[k * source.pixelStep]) * weights[k];
        out[x] = sum;
      }
    }
    for (int64_t y = 0; y < height; ++y) {
      float *out = to + (c * height + y) * width;
      const float *weights = down.weights.data() + y * down.taps;
      const float *begin = rows.data() + (down.first[static_cast<size_t>(y)] - top) * width;
      std::fill(out, out + width, 0.0f);
      for (int64_t k = 0; k < down.taps; ++k)
        for (int64_t x = 0; x < width; ++x)
          out[x] += begin[k * width + x] * weights[k];
      if (divisor != 1)
        for (int64_t x = 0; x < width; ++x)
          out[x] /= divisor;
    }
  }
  return success();
}

} // namespace

Status resamplePlanes(const mxrt_allocator *alloc, const float *planes, int64_t channels,
                      ImageSize from, const ImageBox &part, int64_t height, int64_t width,
                      float *to) {
  Source<float> source = {planes, channels, from.width * from.height, from.width, 1};
  return resample(alloc, source, from, part, height, width, 1, to);
}

Status resampleBytes(const mxrt_allocator *alloc, const unsigned char *rgb, ImageSize from,
                     const ImageBox &part, int64_t height, int64_t width, float *to) {
  Source<unsigned char> source = {rgb, 3, 1, from.width * 3, 3};
  return resample(alloc, source, from, part, height, width, 255, to);
}

ImageBox middleOf(ImageSize from, int64_t height, int64_t width) {
  double scale = std::min(double(from.width) / double(width), double(from.height) / double(height));
  ImageBox box = {0, 0, scale * double(width), scale * double(height)};
  box.left = (double(from.width) - box.width) / 2;
  box.top = (double(from.height) - box.height) / 2;
  return box;
}

} // namespace mxrt::io
