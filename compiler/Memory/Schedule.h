// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduling of a program's ops.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Reorders ops to lower peak memory. Returns false if nothing moved.
bool schedule(rt::ProgramOp program);

} // namespace mx::memory
