// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Driver/Interrupt.h"
#include <atomic>
#include <cerrno>
#include <poll.h>
#include <pthread.h>

namespace mx::driver {
namespace {

/// A handler can only reach what is global.
std::atomic<Session *> running{nullptr};
pthread_t runner; ///< the thread that runs `running`

/// Always on the thread that runs the session: what that thread sees of an interrupt is then either
/// nothing or all of it, and the call it waits in ends.
void stopRunning(int signal) {
  int before = errno;
  if (!pthread_equal(pthread_self(), runner))
    pthread_kill(runner, signal);
  else if (Session *session = running.load())
    session->cancel();
  errno = before;
}

} // namespace

Interruptible::Interruptible(Session &session) {
  runner = pthread_self();
  running = &session;
  struct sigaction action {};
  action.sa_handler = stopRunning; // without SA_RESTART: a prompt that waits for a key hears of it
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before);
}

Interruptible::~Interruptible() {
  sigaction(SIGINT, &before, nullptr);
  running = nullptr;
}

bool Interruptible::waitForInput(int file, llvm::function_ref<bool()> isInterrupted) {
  sigset_t blocked, usual;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &blocked, &usual);
  bool interrupted = false;
  for (;;) {
    interrupted = isInterrupted();
    pollfd input{file, POLLIN, 0};
    if (interrupted || ppoll(&input, 1, nullptr, &usual) >= 0 || errno != EINTR)
      break;
  }
  pthread_sigmask(SIG_SETMASK, &usual, nullptr);
  return !interrupted;
}

} // namespace mx::driver
