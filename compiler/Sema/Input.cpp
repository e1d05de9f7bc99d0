// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of a REPL session. Each is checked as a transaction against the names that earlier inputs
// left. A summary of the input is kept for its execution.
#include "Sema/Internals.h"
#include "Sema/StepStates.h"
