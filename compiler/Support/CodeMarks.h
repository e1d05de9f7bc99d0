// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowering of kernels tells the generation of code, as attributes of LLVM functions.
#pragma once

namespace mx {

/// Constants are loaded where they are used, not before a loop: in its loops vectors side by side
/// share them and need the registers for themselves.
inline constexpr char kLoadsConstants[] = "mx-loads-constants";

} // namespace mx
