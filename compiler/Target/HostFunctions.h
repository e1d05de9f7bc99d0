// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of libc, libm and the compiler's own library that generated code may call.
#pragma once
#include "Target/Jit.h"
#include <vector>

namespace mx::target {

/// All such functions; the list is the same on each call. LLVM lowers operations that a CPU has no
/// instruction for to calls of these. None of them allocates, prints, exits or does I/O: generated
/// code reaches such functions only through the runtime.
std::vector<HostSymbol> hostFunctions();

} // namespace mx::target
