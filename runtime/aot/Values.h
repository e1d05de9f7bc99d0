// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models and other arguments with parts, on any allocator. The C interface is
// these on the system's.

#ifndef MXRT_AOT_VALUES_H
#define MXRT_AOT_VALUES_H

#include "base/Allocator.h"
#include "io/Input.h"
#include "mxrt/aot.h"

namespace mxrt::aot {

/// `out` is NULL after an error. It is given back with mxrt_aot_free.
Status makeValue(const mxrt_allocator *alloc, const mxrt_aot_type &type, mxrt_aot_value *&out);
/// Filled from a safetensors file, with the input's allocator.
Status loadValue(const mxrt_aot_type &type, io::Input &input, mxrt_aot_value *&out);

} // namespace mxrt::aot

#endif // MXRT_AOT_VALUES_H
