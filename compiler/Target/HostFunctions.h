// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of libc, libm and the compiler's own library that generated code may call.
#pragma once
#include "Target/Jit.h"
#include <vector>

namespace mx::target {

/// Every such function; the list is the same on each call. LLVM turns operations that a CPU has no
/// instruction for into calls of these. Nothing that allocates, prints, stops or reads the world is
/// among them: generated code reaches those only through the runtime.
std::vector<HostSymbol> hostFunctions();

} // namespace mx::target
