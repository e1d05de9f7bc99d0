// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes beside those that ops declare, which passes exchange. Only headers of the dialects spell
// their names (tools/dev/check-sources.py).
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

/// On a program: for each output the input that the caller donates for it, or -1.
inline constexpr llvm::StringLiteral kGiven = "mxrt.given";
/// On a program: what each input holds, parameter, state, gradient or data.
inline constexpr llvm::StringLiteral kUses = "mxrt.uses";

/// On a call or copy that rematerialisation added.
inline constexpr llvm::StringLiteral kRecomputed = "mxrt.recomputed";
/// On a program: bytes of the arena without rematerialisation.
inline constexpr llvm::StringLiteral kPlainBytes = "mxrt.plain";
/// On a program: peak bytes in use before scheduling.
inline constexpr llvm::StringLiteral kSourceBound = "mxrt.source_bound";
/// On a program: limit of its arena in bytes.
inline constexpr llvm::StringLiteral kLimit = "mxrt.limit";

} // namespace mx::rt
