// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Error reporting of ahead-of-time code: an error code, with the text stored per thread.

#ifndef MXRT_AOT_ERRORS_H
#define MXRT_AOT_ERRORS_H

#include "base/Status.h"

namespace mxrt::aot {

/// Stores the text of `status` and returns its code; 0 if there is none. Takes ownership.
int report(mxrt_status status);

} // namespace mxrt::aot

#endif // MXRT_AOT_ERRORS_H
