// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Separable image resampling with a triangle filter (antialiased bilinear), vectorised.

#include "io/Resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mxrt::io {

Status ResampleAxis::plan(int64_t from, double begin, double length, int64_t to) {
  if (plannedFrom == from && plannedBegin == begin && plannedLength == length &&
      first.size() == static_cast<size_t>(to))
    return success();
  plannedFrom = -1;
  double step = length / double(to), reach = std::max(step, 1.0);
  taps = std::min(from, static_cast<int64_t>(std::ceil(2 * reach)) + 1);
  if (!first.resize(static_cast<size_t>(to)) || !weights.resize(static_cast<size_t>(to * taps)))
    return outOfMemory(first.allocator());
  for (int64_t i = 0; i < to; ++i) {
    // Pixel k covers [k, k + 1), with its centre at k + 0.5. Pixels outside the image have no
    // weight.
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
  plannedFrom = from;
  plannedBegin = begin;
  plannedLength = length;
  return success();
}

namespace {

/// A SIMD vector: red, green, blue and the red of the next pixel.
using Four = float __attribute__((vector_size(16)));
Four fourAt(const float *numbers) {
  Four four;
  std::memcpy(&four, numbers, sizeof four);
  return four;
}

/// out[i] = (or +=) the sum of rows[k * stride + i] * weights[k]. The loop over i is vectorised.
template <int taps, bool adds>
void mixRows(const unsigned char *rows, int64_t stride, const float *weights, float *out,
             int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = adds ? out[i] : 0;
    for (int k = 0; k < taps; ++k)
      sum += float(rows[k * stride + i]) * weights[k];
    out[i] = sum;
  }
}
template <bool adds>
void mixSome(int64_t taps, const unsigned char *rows, int64_t stride, const float *weights,
             float *out, int64_t count) {
  switch (taps) {
  case 1:
    return mixRows<1, adds>(rows, stride, weights, out, count);
  case 2:
    return mixRows<2, adds>(rows, stride, weights, out, count);
  case 3:
    return mixRows<3, adds>(rows, stride, weights, out, count);
  default:
    return mixRows<4, adds>(rows, stride, weights, out, count);
  }
}

/// Horizontal pass: a row of `width` pixels in three planes, from the columns of `row`. `taps` is
/// the tap count of the axis as a constant, or 0 for a run-time count.
template <int taps>
void mixPixels(const ResampleAxis &axis, const float *row, int64_t width, int64_t plane,
               float *out) {
  const int64_t *first = axis.first.data();
  const int64_t count = taps ? taps : axis.taps;
  const float *weights = axis.weights.data();
  for (int64_t x = 0; x < width; ++x, weights += count) {
    const float *at = row + (first[x] - first[0]) * 3;
    Four sum = {0, 0, 0, 0};
    for (int64_t k = 0; k < count; ++k)
      sum += fourAt(at + 3 * k) * weights[k];
    sum *= 1.0f / 255;
    out[x] = sum[0];
    out[plane + x] = sum[1];
    out[2 * plane + x] = sum[2];
  }
}

} // namespace

Status ByteResampler::run(const unsigned char *rgb, ImageSize from, const ImageBox &part,
                          int64_t height, int64_t width, float *to) {
  MXRT_CHECK(across.plan(from.width, part.left, part.width, width));
  MXRT_CHECK(down.plan(from.height, part.top, part.height, height));
  // Vertical pass first, over the needed columns only: those are contiguous bytes. The horizontal
  // pass loads vectors of four floats, so the row has one extra element.
  int64_t left = across.first[0];
  int64_t count = 3 * (across.first[static_cast<size_t>(width - 1)] + across.taps - left);
  if (!row.resize(static_cast<size_t>(count + 1)))
    return outOfMemory(row.allocator());
  row[static_cast<size_t>(count)] = 0;
  int64_t stride = from.width * 3, plane = height * width;
  for (int64_t y = 0; y < height; ++y) {
    const unsigned char *rows = rgb + down.first[static_cast<size_t>(y)] * stride + left * 3;
    const float *weights = down.weights.data() + y * down.taps;
    mixSome<false>(down.taps, rows, stride, weights, row.data(), count);
    for (int64_t k = 4; k < down.taps; k += 4)
      mixSome<true>(down.taps - k, rows + k * stride, stride, weights + k, row.data(), count);
    auto mix = across.taps == 3   ? mixPixels<3>
               : across.taps == 4 ? mixPixels<4>
               : across.taps == 5 ? mixPixels<5>
                                  : mixPixels<0>;
    mix(across, row.data(), width, plane, to + y * width);
  }
  return success();
}

Status resamplePlanes(const mxrt_allocator *alloc, const float *planes, int64_t channels,
                      ImageSize from, const ImageBox &part, int64_t height, int64_t width,
                      float *to) {
  ResampleAxis across(alloc), down(alloc);
  MXRT_CHECK(across.plan(from.width, part.left, part.width, width));
  MXRT_CHECK(down.plan(from.height, part.top, part.height, height));
  // Horizontal pass first, over the needed rows only: it makes them narrower in most cases.
  int64_t top = down.first[0], bottom = down.first[static_cast<size_t>(height - 1)] + down.taps;
  Vec<float> rows(alloc);
  if (!rows.resize(static_cast<size_t>((bottom - top) * width)))
    return outOfMemory(alloc);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = top; y < bottom; ++y) {
      const float *row = planes + (c * from.height + y) * from.width;
      float *out = rows.data() + (y - top) * width;
      for (int64_t x = 0; x < width; ++x) {
        const float *at = row + across.first[static_cast<size_t>(x)];
        const float *weights = across.weights.data() + x * across.taps;
        float sum = 0;
        for (int64_t k = 0; k < across.taps; ++k)
          sum += at[k] * weights[k];
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
    }
  }
  return success();
}

ImageBox middleOf(ImageSize from, int64_t height, int64_t width) {
  double scale = std::min(double(from.width) / double(width), double(from.height) / double(height));
  ImageBox box = {0, 0, scale * double(width), scale * double(height)};
  box.left = (double(from.width) - box.width) / 2;
  box.top = (double(from.height) - box.height) / 2;
  return box;
}

} // namespace mxrt::io
