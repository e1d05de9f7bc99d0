// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models and other aggregate arguments, on any allocator. The C API wraps these with the system
// allocator.

#ifndef MXRT_AOT_VALUES_H
#define MXRT_AOT_VALUES_H

#include "base/Allocator.h"
#include "io/Input.h"
#include "mxrt/aot.h"

namespace mxrt::aot {

/// `out` is NULL after an error. Freed with mxrt_aot_free.
Status makeValue(const mxrt_allocator *alloc, const mxrt_aot_type &type, mxrt_aot_value *&out);
/// Loads the value from a safetensors file, with the input's allocator.
Status loadValue(const mxrt_aot_type &type, io::Input &input, mxrt_aot_value *&out);

} // namespace mxrt::aot

#endif // MXRT_AOT_VALUES_H
