// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions with a data-dependent result size. They wait for their operand and compute
// synchronously.

#ifndef MXRT_EAGER_OPENSIZES_H
#define MXRT_EAGER_OPENSIZES_H

#include "eager/Executor.h"

namespace mxrt::eager {

/// Indices (i32) of the true elements of bool[N].
Status nonzero(void *context, host::Invocation &call);
/// The distinct elements of T[N], sorted; all NaN are equal, and so are both zeros (the first one
/// is kept).
Status unique(void *context, host::Invocation &call);

} // namespace mxrt::eager

#endif // MXRT_EAGER_OPENSIZES_H
