// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MXRT_DATA_PICTURES_H
#define MXRT_DATA_PICTURES_H

#include "data/Dataset.h"
#include "mxrt/parallel.h"

namespace mxrt::data {

/// Decodes the pictures of these records; part of an op. `pictures` has room
/// for [n, 3, height, width], `labels` for [n].
Status gatherPictures(const mxrt_context *context, const mxrt_tensor *file,
                      const mxrt_tensor *offsets, std::span<const int64_t> numbers, int64_t height,
                      int64_t width, float *pictures, float *labels);

} // namespace mxrt::data

#endif // MXRT_DATA_PICTURES_H
