// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that kernels need for the time of a call.
#pragma once
#include "dialects/mxrt/Bounds.h"

namespace mx::lowering {

/// Bytes that a kernel needs to keep the rows of a table, or that the routines of the runtime in it
/// need, whatever the open sizes are. These run one after the other, so it is what the largest
/// needs. INT64_MAX if that has no bound.
int64_t workspaceOf(ir::KernelOp kernel, const rt::SizeBounds &bounds);

} // namespace mx::lowering
