// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals as a file that poll() waits for. Only the launcher uses this, never the library: signals
// belong to the whole process.
#pragma once
#include <csignal>

namespace mx::launch {

/// While it exists, SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGCHLD are read from file(). On the main
/// thread of a process that has no other that takes signals.
class Signals {
public:
  Signals();
  ~Signals();
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;

  int file() const { return descriptor; } ///< -1: the system refused
  /// The next signal; 0 if there is none.
  int next();
  /// The mask from before, which new processes get.
  const sigset_t &usual() const { return before; }

private:
  sigset_t before;
  int descriptor;
};

} // namespace mx::launch
