// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ctrl-C during a call into mx: a signal handler around the interpreter's that cancels the session.
#include "Python/Binding.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace mx::python {

// One call of the main thread at a time is interruptible; calls nest only through `print`, which must
// not call the session.
static std::atomic<mxc_session *> running{nullptr};
static std::atomic<bool> interrupted{false};
static struct sigaction previous;

static void cancelAndPassOn(int signal, siginfo_t *info, void *context) {
  if (mxc_session *session = running.load()) {
    interrupted.store(true);
    mxc_session_cancel(session);
  }
  if (previous.sa_flags & SA_SIGINFO)
    previous.sa_sigaction(signal, info, context);
  else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
    previous.sa_handler(signal);
}

static bool onMainThread() {
  static thread_local const bool isMain = gettid() == getpid();
  return isMain;
}

Interruptible::Interruptible(mxc_session *session) {
  if (!session || !onMainThread() || running.load())
    return;
  struct sigaction now;
  if (sigaction(SIGINT, nullptr, &now) != 0)
    return;
  // A process that ignores the signal, or ends by it, goes on doing so.
  bool isHandled = (now.sa_flags & SA_SIGINFO) ||
                   (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
  if (!isHandled)
    return;
  previous = now;
  interrupted.store(false);
  running.store(session);
  this->session = session;
  struct sigaction own = {};
  own.sa_sigaction = cancelAndPassOn;
  own.sa_flags = SA_SIGINFO | SA_RESTART;
  own.sa_mask = now.sa_mask;
  sigaction(SIGINT, &own, nullptr);
}

bool Interruptible::finish() {
  if (!session || finished)
    return false;
  finished = true;
  sigaction(SIGINT, &previous, nullptr);
  running.store(nullptr);
  if (!interrupted.exchange(false))
    return false;
  mxc_session_resume(session);
  return true;
}

Interruptible::~Interruptible() { finish(); }

} // namespace mx::python
