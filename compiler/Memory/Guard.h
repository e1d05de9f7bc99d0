// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarded programs: calls that know which of their buffers are dead afterwards.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Marks the calls of a planned program as guarded, and attaches to each call the list of buffers
/// it reads that are dead afterwards.
void guard(rt::ProgramOp program);

} // namespace mx::memory
