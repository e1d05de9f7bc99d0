// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Incremental reload of a file that changed since it was loaded: the statements that must run
// again. Unchanged statements do not, so values that are expensive to compute stay.
#pragma once
#include <string>

namespace mx::repl {

/// `now` with everything blanked out that need not run again; lines and columns stay. A declaration
/// counts as changed if it names a changed one, a statement if it names a changed model or type.
std::string changedPart(const std::string &before, const std::string &now);

} // namespace mx::repl
