// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mxrt` dialect in C++: attributes, types and ops of Dialect.td and Ops.td.
#pragma once
#include "dialects/mx/Mx.h"
#include "dialects/mxrt/Bounds.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mx::rt {

/// Slices and arenas begin at multiples of this (MXRT_ALIGNMENT of the runtime).
inline constexpr int64_t kAlignment = 64;

/// The builtin type of an element as a number in a register: u8 is i8 there.
mlir::Type scalarType(mlir::Type element);

/// What a kernel with a workspace is given as its last output: bytes where its outputs are.
ir::TensorType workspaceType(ir::KernelOp kernel);

} // namespace mx::rt

#include "dialects/mxrt/MxrtDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mxrt/MxrtAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/mxrt/MxrtTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/mxrt/MxrtOps.h.inc"
