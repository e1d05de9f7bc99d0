// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axis collapsing: fewer, longer axes for the same traversal of one or more strided operands.
// Kernels then handle fewer ranks.

#ifndef MXRT_MEMORY_COLLAPSE_H
#define MXRT_MEMORY_COLLAPSE_H

#include "mxrt/types.h"

namespace mxrt {

template <int operands> struct Walk {
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK];
  int64_t strides[operands][MXRT_MAX_RANK];
};

/// Drops axes of size 1 and merges adjacent axes that are contiguous in all operands. The order
/// of axes, and so of elements, stays. A tensor of one element has rank 0.
template <int operands>
Walk<operands> collapse(int32_t rank, const int64_t *sizes,
                        const int64_t *const (&strides)[operands]) {
  Walk<operands> walk;
  for (int32_t axis = 0; axis < rank; ++axis) {
    if (sizes[axis] == 1)
      continue;
    int32_t last = walk.rank - 1;
    bool joins = last >= 0;
    for (int k = 0; joins && k < operands; ++k)
      joins = walk.strides[k][last] == strides[k][axis] * sizes[axis];
    int32_t at = joins ? last : walk.rank++;
    walk.sizes[at] = joins ? walk.sizes[at] * sizes[axis] : sizes[axis];
    for (int k = 0; k < operands; ++k)
      walk.strides[k][at] = strides[k][axis];
  }
  return walk;
}

} // namespace mxrt

#endif // MXRT_MEMORY_COLLAPSE_H
