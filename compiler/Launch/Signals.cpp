// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A signalfd for the signals of the launcher.
#include "Launch/Signals.h"
#include <initializer_list>
#include <sys/signalfd.h>
#include <unistd.h>

namespace mx::launch {

Signals::Signals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCHLD})
    sigaddset(&taken, signal);
  sigprocmask(SIG_BLOCK, &taken, &before);
  descriptor = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  while (next() != 0) { // a second Ctrl-C must not end the process after its work
  }
  if (descriptor >= 0)
    close(descriptor);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

int Signals::next() {
  signalfd_siginfo info;
  bool any = descriptor >= 0 && read(descriptor, &info, sizeof info) == sizeof info;
  return any ? static_cast<int>(info.ssi_signo) : 0;
}

} // namespace mx::launch
