// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals as a descriptor for poll() (signalfd). Only the launcher uses this, never the library:
// signals belong to the whole process.
#pragma once
#include <csignal>

namespace mx::launch {

/// While it exists, SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGCHLD are read from file(). Create it on
/// the main thread; no other thread of the process may receive signals.
class Signals {
public:
  Signals();
  ~Signals();
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;

  int file() const { return descriptor; } ///< -1: the system refused
  /// The next signal; 0 if there is none.
  int next();
  /// The previous signal mask, for child processes.
  const sigset_t &usual() const { return before; }

private:
  sigset_t before;
  int descriptor;
};

} // namespace mx::launch
