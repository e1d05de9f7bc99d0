// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How functions of ahead-of-time code say that something went wrong: by a
// number, with a text that stays with the thread.

#ifndef MXRT_AOT_ERRORS_H
#define MXRT_AOT_ERRORS_H

#include "base/Status.h"

namespace mxrt::aot {

/// Keeps the text of `status` and gives its code; 0 if there is none. Takes it
/// over.
int report(mxrt_status status);

} // namespace mxrt::aot

#endif // MXRT_AOT_ERRORS_H
