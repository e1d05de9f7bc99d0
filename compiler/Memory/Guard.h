// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarded programs: each call lists its buffers that are dead afterwards, for checks at run time.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Marks the calls of a planned program as guarded, and attaches to each call the list of buffers
/// it reads that are dead afterwards.
void guard(rt::ProgramOp program);

} // namespace mx::memory
