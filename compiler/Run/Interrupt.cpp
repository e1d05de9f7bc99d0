// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Run/Interrupt.h"
#include <atomic>
#include <cerrno>
#include <poll.h>
#include <pthread.h>

namespace mx::run {
namespace {

/// A handler can only reach what is global.
std::atomic<Machine *> running{nullptr};
pthread_t runner; ///< the thread that runs `running`

/// Always on the thread that runs the machine: what that thread sees of an interrupt is then either
/// nothing or all of it, and the call it waits in ends.
void stopRunning(int signal) {
  int before = errno;
  if (!pthread_equal(pthread_self(), runner))
    pthread_kill(runner, signal);
  else if (Machine *machine = running.load())
    machine->cancel();
  errno = before;
}

} // namespace

Interruptible::Interruptible(Machine &machine) {
  runner = pthread_self();
  running = &machine;
  struct sigaction action {};
  action.sa_handler = stopRunning; // without SA_RESTART: a prompt that waits for a key hears of it
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before);
}

Interruptible::~Interruptible() {
  sigaction(SIGINT, &before, nullptr);
  running = nullptr;
}

bool Interruptible::waitForInput(int file, const std::function<bool()> &isInterrupted) {
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

} // namespace mx::run
