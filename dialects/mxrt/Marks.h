// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes that passes leave for each other on ops of `mxrt`.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::rt {

/// On a program: its calls are made through the runtime, which looks at what they change
/// (mxrt/guard.h).
inline constexpr llvm::StringLiteral kGuarded = "mxrt.guarded";
/// On a call of such a program: positions of the reads after which nobody reads that buffer.
inline constexpr llvm::StringLiteral kEnds = "mxrt.ends";

/// On a program: of each output the input whose memory it is, or -1. The caller gives one address
/// for both.
inline constexpr llvm::StringLiteral kOverInputs = "mxrt.over";

} // namespace mx::rt
