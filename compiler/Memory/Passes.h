// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory passes (Passes.td describes each). Input: programs with a slice for every buffer.
// Output: programs whose slices share memory.
#pragma once
#include "dialects/mxrt/Mxrt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mx::memory {

#define GEN_PASS_DECL
#include "Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Memory/Passes.h.inc"

} // namespace mx::memory
