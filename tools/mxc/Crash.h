// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Crash handling of mxc: exits with the code of an internal error and prints how to report it,
// instead of a signal or a stack of addresses. For the executable only; the library installs no
// handlers.
#pragma once

namespace mx {

/// After this call a crash, an uncaught exception and a fatal error of LLVM end the process with
/// exit code 3. main calls it once, before threads are started.
void explainCrashes();

} // namespace mx
