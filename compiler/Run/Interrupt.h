// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ctrl-C stops the program that a machine runs. Only stand-alone programs use this, never the
// library: it installs a signal handler for the process.
#pragma once
#include "Run/Machine.h"
#include <csignal>

namespace mx::run {

/// While it exists, SIGINT cancels the work on `machine`. One at a time, on the thread that runs
/// the machine.
class Interruptible {
public:
  /// What to do when a program does not stop soon: a long kernel or a part of the compiler does not
  /// poll for cancellation. A prompt waits. A stand-alone program ends the process, as it does at a
  /// second SIGINT: its memory cannot be observed any more, and a file that is being replaced still
  /// has its old contents.
  enum class IfSlow { Wait, End };
  explicit Interruptible(Machine &machine, IfSlow ifSlow = IfSlow::End);
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;

  /// Waits until `file` is readable or at its end. Returns false if `isInterrupted` returns true,
  /// which is polled first and after each signal. No signal is missed in between.
  static bool waitForInput(int file, const std::function<bool()> &isInterrupted);

private:
  struct sigaction before {
  }, beforeAlarm{};
  bool ends;
};

} // namespace mx::run
