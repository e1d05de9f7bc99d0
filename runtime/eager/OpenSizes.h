// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions whose result has a size that only their data say. They wait for
// their operand and compute at once.

#ifndef MXRT_EAGER_OPENSIZES_H
#define MXRT_EAGER_OPENSIZES_H

#include "eager/Executor.h"

namespace mxrt::eager {

/// Places (i32) of the elements of bool[N] that are true.
Status nonzero(void *context, host::Invocation &call);
/// The different elements of T[N], sorted; all NaN are one, and so are both
/// zeros (the first one stays).
Status unique(void *context, host::Invocation &call);

} // namespace mxrt::eager

#endif // MXRT_EAGER_OPENSIZES_H
