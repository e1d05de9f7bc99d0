// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tab completion.
#pragma once
#include "Sema/Assist.h"
#include "Sema/Checker.h"

namespace mx::repl {

/// Completions at the end of `before`: a command, a file in a string, or names that the checker
/// knows.
sema::Completion suggest(sema::Checker &checker, const std::string &before);

} // namespace mx::repl
