// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints of the kernel lowering to the code generator, as attributes of LLVM functions.
#pragma once

namespace mx {

/// Constants are loaded at their uses and not hoisted out of loops: interleaved vectors of a loop
/// share them and need the registers.
inline constexpr char kLoadsConstants[] = "mx-loads-constants";

} // namespace mx
