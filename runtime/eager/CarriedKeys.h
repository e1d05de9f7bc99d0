// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels a program carries that has no compiler with it. The executor
// has a kernel made for each combination of ranks and layouts that it meets; of
// an operation these are many, so a carried program has few: the flat forms, and
// general ones that take any strides. The bits are the same.

#ifndef MXRT_EAGER_CARRIEDKEYS_H
#define MXRT_EAGER_CARRIEDKEYS_H

#include "eager/Issue.h"

namespace mxrt::eager {

/// Makes the form of an elementwise kernel one that is carried: ranks become 2
/// or 4 with axes of size 1 in front, layouts Strided as far as needed.
/// `strides` has a row for each of `count` operands.
void widenForm(int32_t count, Layout *layouts, int32_t &rank, int64_t *sizes,
               int64_t (*strides)[MXRT_MAX_RANK]);

/// Calls `add` with every key that `op` may ask a carried source for. `types`
/// are bits of the element types of the program's tensors: not all names say
/// theirs.
void carriedKeys(const Operation &op, uint32_t types, void (*add)(void *, std::string_view),
                 void *context);

} // namespace mxrt::eager

#endif // MXRT_EAGER_CARRIEDKEYS_H
