// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detection of poison (mxrt/guard.h) in the outputs of a kernel.

#ifndef MXRT_MEMORY_POISON_H
#define MXRT_MEMORY_POISON_H

#include "mxrt/guard.h"

#include <cstring>

namespace mxrt {

/// The first of `count` elements all of whose bytes are poison; -1: none. As floats they are
/// NaN, but not the NaN that arithmetic produces.
inline int64_t firstPoison(const void *data, int64_t count, int64_t elementBytes) {
  static constexpr unsigned char poison[8] = {MXRT_POISON_BYTE, MXRT_POISON_BYTE, MXRT_POISON_BYTE,
                                              MXRT_POISON_BYTE, MXRT_POISON_BYTE, MXRT_POISON_BYTE,
                                              MXRT_POISON_BYTE, MXRT_POISON_BYTE};
  auto *at = static_cast<const char *>(data);
  for (int64_t i = 0; i < count; ++i)
    if (memcmp(at + i * elementBytes, poison, static_cast<size_t>(elementBytes)) == 0)
      return i;
  return -1;
}

} // namespace mxrt

#endif // MXRT_MEMORY_POISON_H
