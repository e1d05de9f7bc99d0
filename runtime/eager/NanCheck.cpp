// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search for the first NaN of a tensor, by bit patterns.

#include "eager/NanCheck.h"
#include "memory/Tensor.h"

#include <cstdio>

namespace mxrt::eager {

/// Index of the first element whose bits exceed those of infinity, or -1. Compares bits, so that no
/// floating-point option of the compiler can remove the check.
template <typename T> static int64_t firstNan(const void *data, int64_t count, T infinity) {
  auto *elements = static_cast<const T *>(data);
  constexpr T magnitude = T(~T(0)) >> 1;
  for (int64_t i = 0; i < count; ++i)
    if ((elements[i] & magnitude) > infinity)
      return i;
  return -1;
}

mxrt_status checkNan(const mxrt_context *context, const char *name, const mxrt_tensor *tensor) {
  int64_t found = -1;
  switch (tensor->type) {
  case MXRT_F16:
    found = firstNan<uint16_t>(tensor->data(), tensor->elements, 0x7c00);
    break;
  case MXRT_BF16:
    found = firstNan<uint16_t>(tensor->data(), tensor->elements, 0x7f80);
    break;
  case MXRT_F32:
    found = firstNan<uint32_t>(tensor->data(), tensor->elements, 0x7f800000);
    break;
  case MXRT_F64:
    found = firstNan<uint64_t>(tensor->data(), tensor->elements, 0x7ff0000000000000);
    break;
  default:
    break;
  }
  if (found < 0)
    return nullptr;
  char index[400] = "";
  int64_t rest = found;
  int64_t numbers[MXRT_MAX_RANK];
  for (int32_t i = tensor->rank - 1; i >= 0; --i) {
    numbers[i] = rest % tensor->sizes()[i];
    rest /= tensor->sizes()[i];
  }
  size_t used = 0;
  for (int32_t i = 0; i < tensor->rank; ++i)
    used += size_t(snprintf(index + used, sizeof(index) - used, i ? ", %lld" : "%lld",
                            static_cast<long long>(numbers[i])));
  return error(context->allocator, MXRT_NAN_FOUND, context->location,
               "%s: the result %s has nan at [%s]", name, shapeText(tensor->shape()).text,
               static_cast<char *>(index))
      .release();
}

} // namespace mxrt::eager
