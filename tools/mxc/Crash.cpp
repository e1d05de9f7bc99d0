// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers of signals, uncaught exceptions and fatal LLVM errors.
#include "Crash.h"
#include "Driver/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <unistd.h>

namespace mx {
namespace {

/// Async-signal-safe output.
void say(const char *text) {
  for (size_t left = std::strlen(text); left > 0;) {
    ssize_t written = write(STDERR_FILENO, text, left);
    if (written <= 0)
      return;
    text += written;
    left -= static_cast<size_t>(written);
  }
}

[[noreturn]] void endWith(const char *what, const char *more) {
  say("mxc: a fault of mxc itself: ");
  say(what);
  say(more);
  say("\nplease report it with the file and the command; what you wrote is not to blame\n");
  _exit(driver::kFaultOfMxc);
}

void onSignal(int signal) {
  switch (signal) {
  case SIGSEGV:
    endWith("it used memory that is not its own, or its stack is full", " (SIGSEGV)");
  case SIGBUS:
    endWith("it used memory that is not there", " (SIGBUS)");
  case SIGFPE:
    endWith("an integer was divided by zero", " (SIGFPE)");
  case SIGILL:
    endWith("it met an instruction that it cannot run", " (SIGILL)");
  default:
    endWith("it gave up", " (SIGABRT)");
  }
}

void onTerminate() {
  if (std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception &fault) {
      endWith(fault.what(), "");
    } catch (...) {
    }
  }
  endWith("an error was not handled", "");
}

void onLlvmError(void *, const char *reason, bool) { endWith(reason, " (LLVM)"); }

} // namespace

void explainCrashes() {
  std::set_terminate(onTerminate);
  llvm::install_fatal_error_handler(onLlvmError);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MX_SANITIZED // sanitizers explain crashes better
#endif
#endif
#ifndef MX_SANITIZED
  // Alternate signal stack: after a stack overflow no handler can run on the normal one.
  static char stack[64 * 1024];
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, nullptr);
#endif
#endif
}

} // namespace mx
