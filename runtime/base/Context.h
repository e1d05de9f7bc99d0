// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The prefix of an mxrt_context that may be accessed without checking its flags.

#ifndef MXRT_BASE_CONTEXT_H
#define MXRT_BASE_CONTEXT_H

#include "mxrt/parallel.h"

namespace mxrt {

/// Bytes of the part that every context has; see mxrt/parallel.h.
constexpr size_t contextBaseBytes = offsetof(mxrt_context, ready);
static_assert(contextBaseBytes == 64, "the layout of ABI 2.0");

} // namespace mxrt

#endif // MXRT_BASE_CONTEXT_H
