// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a program's ops.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Orders ops so that less is in use at once. False if nothing was moved.
bool schedule(rt::ProgramOp program);

} // namespace mx::memory
