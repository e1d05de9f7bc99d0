// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record lock on a file (fcntl): the system releases it when the process ends.
#include "Launch/CompileGate.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace mx::launch {

static bool set(int file, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  return fcntl(file, F_SETLK, &range) == 0;
}

void CompileGate::lock() {
  threads.lock();
  if (file < 0)
    return;
  using namespace std::chrono_literals;
  auto end = std::chrono::steady_clock::now() + 60s;
  auto pause = 1ms;
  while (!(isLocked = set(file, F_WRLCK)) && (errno == EAGAIN || errno == EACCES) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, 32ms);
  }
}

void CompileGate::unlock() {
  if (isLocked)
    set(file, F_UNLCK);
  isLocked = false;
  threads.unlock();
}

} // namespace mx::launch
