// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search for the first NaN of a tensor, by bit patterns.

#include "eager/NanCheck.h"
#include "base/Elements.h"
#include "memory/Tensor.h"

#include <cstdio>

namespace mxrt::eager {

/// Index of the first NaN, or -1. Compares bits, so that no floating-point option of the compiler can
/// remove the check.
static int64_t firstNan(mxrt_dtype type, const void *data, int64_t count) {
  return visitElement(type, [&](auto element) -> int64_t {
    using Bits = typename decltype(element)::Bits;
    auto *elements = static_cast<const Bits *>(data);
    for (int64_t i = 0; element.isFloat && i < count; ++i)
      if (Bits(elements[i] & Bits(~element.sign)) > element.infinity)
        return i;
    return -1;
  });
}

mxrt_status checkNan(const mxrt_context *context, const char *name, const mxrt_tensor *tensor) {
  int64_t found = firstNan(tensor->type, tensor->data(), tensor->elements);
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
