// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "Lowering/KernelEmitter.h"

namespace mx::lowering {

/// A copy of the kernel without operands. Where all that is read and written lies densely in
/// memory, neighbouring axes are one in it: an elementwise kernel on f32[N, 28, 28] runs over
/// f32[784*N], and a sum over the last two axes over one. Kernels that move elements stay as they
/// are.
mlir::OwningOpRef<ir::KernelOp> collapsed(ir::KernelOp kernel);

} // namespace mx::lowering
