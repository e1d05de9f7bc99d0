// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the math functions of the host VM.

#ifndef MXRT_HOST_MATH_H
#define MXRT_HOST_MATH_H

#include "host/Vm.h"

namespace mxrt::host {

/// Registers the functions of Math.def, which compiled programs may import.
Status registerMath(Vm &vm);

} // namespace mxrt::host

#endif // MXRT_HOST_MATH_H
