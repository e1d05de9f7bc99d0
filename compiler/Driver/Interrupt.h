// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ctrl-C stops the program that a session runs. Only programs of their own use this, never the
// library: it is a signal handler of the process.
#pragma once
#include "Driver/Session.h"
#include <csignal>

namespace mx::driver {

/// While it lives SIGINT cancels `session`. One at a time.
class Interruptible {
public:
  explicit Interruptible(Session &session);
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;

private:
  struct sigaction before {};
};

} // namespace mx::driver
