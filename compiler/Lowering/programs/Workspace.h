// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workspace sizes: memory that kernels need during a call.
#pragma once
#include "dialects/mxrt/Bounds.h"

namespace mx::lowering {

/// Bytes that a kernel needs for the rows of a table, or for the runtime routines in it, for any
/// values of the open sizes. Routines run one after the other, so this is the max over them.
/// INT64_MAX: unbounded.
int64_t workspaceOf(ir::KernelOp kernel, const rt::SizeBounds &bounds);

} // namespace mx::lowering
