// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ctrl-C stops the program that a session runs. Only programs of their own use this, never the
// library: it is a signal handler of the process.
#pragma once
#include "Driver/Session.h"
#include <csignal>

namespace mx::driver {

/// While it lives SIGINT cancels `session`. One at a time, on the thread that runs the session.
class Interruptible {
public:
  explicit Interruptible(Session &session);
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;

  /// Waits until `file` can be read, or has ended; false if `isInterrupted` said so, which it is
  /// asked at first and after each signal. None is missed in between.
  static bool waitForInput(int file, llvm::function_ref<bool()> isInterrupted);

private:
  struct sigaction before {};
};

} // namespace mx::driver
