// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prebuilt kernels: those that mxc has compiled already when it is built (tools/mxc-kernels), so
// that the first `a + b` of a program needs no compilation. They are requested for ops on small and
// large dense tensors.

#ifndef MXRT_EAGER_PREBUILTKEYS_H
#define MXRT_EAGER_PREBUILTKEYS_H

#include "base/Status.h"

#include <string_view>

namespace mxrt::eager {

/// Calls `add` once with every key.
Status prebuiltKeys(const mxrt_allocator *alloc, void (*add)(void *, std::string_view),
                    void *context);

} // namespace mxrt::eager

#endif // MXRT_EAGER_PREBUILTKEYS_H
