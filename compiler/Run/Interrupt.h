// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ctrl-C stops the program that a machine runs. Only programs of their own use this, never the
// library: it is a signal handler of the process.
#pragma once
#include "Run/Machine.h"
#include <csignal>

namespace mx::run {

/// While it lives SIGINT cancels what runs on `machine`. One at a time, on the thread that runs it.
class Interruptible {
public:
  explicit Interruptible(Machine &machine);
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;

  /// Waits until `file` can be read, or has ended; false if `isInterrupted` said so, which it is
  /// asked at first and after each signal. None is missed in between.
  static bool waitForInput(int file, const std::function<bool()> &isInterrupted);

private:
  struct sigaction before {};
};

} // namespace mx::run
