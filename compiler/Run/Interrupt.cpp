// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SIGINT handling: cancels the running program, and ends a process that does not stop in time.
#include "Run/Interrupt.h"
#include <atomic>
#include <cerrno>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace mx::run {
namespace {

/// A signal handler can only reach globals.
std::atomic<Machine *> running{nullptr};
pthread_t runner; ///< the thread that runs `running`
std::atomic<bool> endsIfSlow{false};
std::atomic<int> interrupts{0};
/// Enough to stop between kernels and to finish writes in progress.
constexpr unsigned kPatienceSeconds = 3;

/// The message of Machine::finish, with async-signal-safe calls only.
void endProcess(int) {
  constexpr char text[] = "stopped\n";
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  _exit(1);
}

/// Always runs on the thread that runs the machine. That thread then sees either nothing of an
/// interrupt or all of it, and the blocking call it is in returns.
void stopRunning(int signal) {
  int before = errno;
  if (!pthread_equal(pthread_self(), runner))
    pthread_kill(runner, signal);
  else if (Machine *machine = running.load()) {
    machine->cancel();
    if (endsIfSlow.load()) {
      if (interrupts.fetch_add(1) > 0)
        endProcess(signal);
      alarm(kPatienceSeconds);
    }
  }
  errno = before;
}

} // namespace

Interruptible::Interruptible(Machine &machine, IfSlow ifSlow) : ends(ifSlow == IfSlow::End) {
  runner = pthread_self();
  interrupts = 0;
  endsIfSlow = ends;
  running = &machine;
  struct sigaction action {};
  action.sa_handler = stopRunning; // without SA_RESTART: a prompt that waits for a key is woken up
  sigemptyset(&action.sa_mask);
  if (ends) {
    struct sigaction late {};
    late.sa_handler = endProcess;
    sigemptyset(&late.sa_mask);
    sigaction(SIGALRM, &late, &beforeAlarm);
  }
  sigaction(SIGINT, &action, &before);
}

Interruptible::~Interruptible() {
  sigaction(SIGINT, &before, nullptr);
  if (ends) {
    alarm(0);
    sigaction(SIGALRM, &beforeAlarm, nullptr);
  }
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
