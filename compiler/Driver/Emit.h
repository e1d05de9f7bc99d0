// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--emit=STAGE` and `--explain-fusion` of commands that run programs.
#pragma once
#include "Driver/Session.h"

namespace mx::driver {

/// Makes the session print the stage to `out`. Returns an error message if the name is invalid, or
/// an empty string.
std::string prepareEmit(const std::string &stage, SessionOptions &options, std::ostream &out);
/// Makes the session also report which ops were not fused, and why.
void explainFusion(SessionOptions &options, std::ostream &err);

} // namespace mx::driver
