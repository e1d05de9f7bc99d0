// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module loading: files, imports, the prelude, and the order in which a program is checked.
#include "Sema/Internals.h"
#include "Sema/StepStates.h"
