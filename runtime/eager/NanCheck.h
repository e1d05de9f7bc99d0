// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NaN check of kernel results (debugging option).

#ifndef MXRT_EAGER_NANCHECK_H
#define MXRT_EAGER_NANCHECK_H

#include "mxrt/parallel.h"
#include "mxrt/tensor.h"

namespace mxrt::eager {

/// R0304 with the index of the first NaN in a dense tensor of floats, else NULL. `name` is that of
/// the operation that computed it.
mxrt_status checkNan(const mxrt_context *context, const char *name, const mxrt_tensor *tensor);

} // namespace mxrt::eager

#endif // MXRT_EAGER_NANCHECK_H
