// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mxrt` dialect in C++: attributes, types and ops of Dialect.td and Ops.td.
#pragma once
#include "dialects/mx/Mx.h"
#include "dialects/mxrt/Bounds.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mx::rt {

/// Slices and arenas are aligned to multiples of this (MXRT_ALIGNMENT of the runtime).
inline constexpr int64_t kAlignment = 64;

/// The builtin type of an element in a register: u8 becomes i8.
mlir::Type scalarType(mlir::Type element);

/// The type of a kernel's workspace, passed as its last output: bytes on the device of its outputs.
ir::TensorType workspaceType(ir::KernelOp kernel);

} // namespace mx::rt

#include "dialects/mxrt/MxrtDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mxrt/MxrtAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/mxrt/MxrtTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/mxrt/MxrtOps.h.inc"
