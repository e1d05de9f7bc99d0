// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Makes the calls of a planned program guarded, and tells each which of the buffers it reads hold
/// nothing any more afterwards.
void guard(rt::ProgramOp program);

} // namespace mx::memory
