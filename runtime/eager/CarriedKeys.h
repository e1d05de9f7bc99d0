// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carried kernels: those shipped with a program that runs without the compiler. The executor
// normally compiles a kernel for each combination of ranks and layouts that it meets. An operation
// has many of these, so a shipped program has few: the flat forms, and general ones that take any
// strides. The bits are the same.

#ifndef MXRT_EAGER_CARRIEDKEYS_H
#define MXRT_EAGER_CARRIEDKEYS_H

#include "eager/Issue.h"

namespace mxrt::eager {

/// Generalises the form of an elementwise kernel to one that is shipped: ranks become 2 or 4 with
/// leading axes of size 1, layouts Strided as far as needed. `strides` has a row for each of
/// `count` operands.
void widenForm(int32_t count, Layout *layouts, int32_t &rank, int64_t *sizes,
               int64_t (*strides)[MXRT_MAX_RANK]);

/// Calls `add` with every key that `op` may request from a carried source. `types` is the bit set
/// of the element types of the program's tensors: not all names include theirs.
void carriedKeys(const Operation &op, uint32_t types, void (*add)(void *, std::string_view),
                 void *context);

} // namespace mxrt::eager

#endif // MXRT_EAGER_CARRIEDKEYS_H
