// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file that was changed since it was loaded: what of it has to run again. Statements that are as
// they were do not, so values that took long to make stay.
#pragma once
#include <string>

namespace mx::repl {

/// `now` with everything blanked out that need not run again; lines and columns stay. Declarations
/// count as changed if they name one that is, a statement if it names a model or type that is.
std::string changedPart(const std::string &before, const std::string &now);

} // namespace mx::repl
