// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thread-local error text of ahead-of-time code.

#include "aot/Errors.h"

#include "mxrt/aot.h"

namespace mxrt::aot {

namespace {
// Long enough for a list of several mismatched tensors; longer text is truncated.
constexpr size_t longestText = 2048;
constinit thread_local char lastError[longestText] = "";
} // namespace

int report(mxrt_status status) {
  if (!status)
    return 0;
  mxrt_status_format(status, lastError, sizeof lastError);
  int code = mxrt_status_code(status);
  mxrt_status_release(status);
  return code;
}

} // namespace mxrt::aot

const char *mxrt_aot_error(void) { return mxrt::aot::lastError; }
