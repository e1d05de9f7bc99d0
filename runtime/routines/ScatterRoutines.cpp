// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter of rows. Each chunk owns some rows of the result and applies its updates in the order
// of the index, so the result is the same for any number of threads.

#include "base/Elements.h"
#include "routines/Routines.h"

#include <cstring>
#include <type_traits>

using namespace mxrt;

namespace {

enum class Join { Add, Set, Max };

/// Every chunk reads the whole index, so there are only a few chunks.
constexpr int64_t chunkCount = 8;

struct Job {
  int64_t rows, count, width;
  const int64_t *index;
  /// The destination row of entry k.
  int64_t row(int64_t k) const { return index[k] < 0 ? index[k] + rows : index[k]; }
};

mxrt_status checkIndices(const mxrt_context *context, const Job &job) {
  for (int64_t k = 0; k < job.count; ++k)
    if (job.index[k] < -job.rows || job.index[k] >= job.rows)
      return error(context->allocator, MXRT_INDEX, context->location,
                   "index %lld is out of range for axis 0 of size %lld",
                   static_cast<long long>(job.index[k]), static_cast<long long>(job.rows))
          .release();
  return nullptr;
}

/// Calls body(first row, end row, number, context), in parallel if that pays.
template <typename Body>
mxrt_status overRows(const mxrt_context *context, const Job &job, const Body &body) {
  bool small = job.count < 4096 && job.rows * job.width < (1 << 16);
  return inChunks(context, job.rows, small ? job.rows : ceilDiv(job.rows, chunkCount), body);
}

template <typename T, Join join> T joined(T x, T y) {
  if constexpr (join == Join::Max && std::is_floating_point_v<T>)
    return y > x || y != y ? y : x;
  else if constexpr (join == Join::Max)
    return y > x ? y : x;
  else if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(x) + std::make_unsigned_t<T>(y)); // wraps
  else
    return x + y;
}

template <typename T, Join join>
mxrt_status scatter(const mxrt_context *context, const Job &job, const void *const *inputs,
                    void *out) {
  auto *x = static_cast<const T *>(inputs[0]), *y = static_cast<const T *>(inputs[2]);
  auto *to = static_cast<T *>(out);
  int64_t width = job.width;
  return overRows(context, job, [&](int64_t begin, int64_t end, int64_t, const mxrt_context *) {
    memcpy(to + begin * width, x + begin * width, size_t((end - begin) * width) * sizeof(T));
    for (int64_t k = 0; k < job.count; ++k) {
      int64_t row = job.row(k);
      if (row < begin || row >= end)
        continue;
      T *mine = to + row * width;
      const T *more = y + k * width;
      for (int64_t c = 0; c < width; ++c)
        mine[c] = joined<T, join>(mine[c], more[c]);
    }
    return mxrt_status();
  });
}

/// Accumulates in f32, rounded at the end. `work` has a sum for each element of the result.
template <typename Half, Join join>
mxrt_status scatterHalfs(const mxrt_context *context, const Job &job, const void *const *inputs,
                         void *out, void *work) {
  auto *x = static_cast<const Half *>(inputs[0]), *y = static_cast<const Half *>(inputs[2]);
  auto *to = static_cast<Half *>(out);
  auto *sums = static_cast<float *>(work);
  int64_t width = job.width;
  return overRows(context, job, [&](int64_t begin, int64_t end, int64_t, const mxrt_context *) {
    for (int64_t i = begin * width; i < end * width; ++i)
      sums[i] = x[i].wide();
    for (int64_t k = 0; k < job.count; ++k) {
      int64_t row = job.row(k);
      if (row < begin || row >= end)
        continue;
      float *mine = sums + row * width;
      for (int64_t c = 0; c < width; ++c)
        mine[c] = joined<float, join>(mine[c], y[k * width + c].wide());
    }
    for (int64_t i = begin * width; i < end * width; ++i)
      to[i] = Half::of(sums[i]);
    return mxrt_status();
  });
}

mxrt_status scatterSet(const mxrt_context *context, const Job &job, size_t elementBytes,
                       const void *const *inputs, void *out) {
  auto *x = static_cast<const char *>(inputs[0]), *y = static_cast<const char *>(inputs[2]);
  auto *to = static_cast<char *>(out);
  auto bytes = size_t(job.width) * elementBytes;
  return overRows(context, job, [&](int64_t begin, int64_t end, int64_t, const mxrt_context *) {
    memcpy(to + size_t(begin) * bytes, x + size_t(begin) * bytes, size_t(end - begin) * bytes);
    for (int64_t k = 0; k < job.count; ++k)
      if (int64_t row = job.row(k); row >= begin && row < end)
        memcpy(to + size_t(row) * bytes, y + size_t(k) * bytes, bytes);
    return mxrt_status();
  });
}

template <Join join>
mxrt_status scatterTyped(const mxrt_context *context, mxrt_dtype type, const char *name,
                         const int64_t *sizes, const void *const *inputs, void *out, void *work) {
  Job job = {sizes[0], sizes[1], sizes[2], static_cast<const int64_t *>(inputs[1])};
  if (mxrt_status bad = checkIndices(context, job))
    return bad;
  if (job.rows == 0 || job.width == 0)
    return nullptr;
  if constexpr (join == Join::Set) {
    return scatterSet(context, job, size_t(mxrt_dtype_size(type)), inputs, out);
  } else {
    return visitElement(type, [&](auto element) -> mxrt_status {
      using T = typename decltype(element)::Type;
      if constexpr (element.dtype == MXRT_BOOL)
        return wrongType(context, name, type);
      else if constexpr (element.isFloat && sizeof(T) == 2)
        return scatterHalfs<T, join>(context, job, inputs, out, work);
      else
        return scatter<T, join>(context, job, inputs, out);
    });
  }
}

} // namespace

extern "C" {

mxrt_status mxrt_scatter_add(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                             const void *const *inputs, void *out, void *work) {
  return scatterTyped<Join::Add>(context, type, "scatter_add", sizes, inputs, out, work);
}

mxrt_status mxrt_scatter_set(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                             const void *const *inputs, void *out, void *work) {
  return scatterTyped<Join::Set>(context, type, "scatter_set", sizes, inputs, out, work);
}

mxrt_status mxrt_scatter_max(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                             const void *const *inputs, void *out, void *work) {
  return scatterTyped<Join::Max>(context, type, "scatter_max", sizes, inputs, out, work);
}

} // extern "C"
