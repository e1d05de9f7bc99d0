// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes that passes exchange on ops of `mxrt`.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::rt {

/// On a program: its kernel calls go through the runtime, which checks what they change
/// (mxrt/guard.h).
inline constexpr llvm::StringLiteral kGuarded = "mxrt.guarded";
/// On a call of such a program: positions of reads that are the last use of their buffer.
inline constexpr llvm::StringLiteral kEnds = "mxrt.ends";

/// On a program: for each output the input that it aliases, or -1. The caller passes one address
/// for both.
inline constexpr llvm::StringLiteral kOverInputs = "mxrt.over";

/// On a program: its caller wants to know of each output when it is complete.
inline constexpr llvm::StringLiteral kAnnounces = "mxrt.announces";

} // namespace mx::rt
