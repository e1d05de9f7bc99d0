// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// List scheduling of a program's ops for low peak memory.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Reorders ops to lower peak memory. Returns false if nothing moved.
bool schedule(rt::ProgramOp program);

} // namespace mx::memory
