// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Driver/Interrupt.h"
#include <atomic>

namespace mx::driver {
namespace {

/// A handler can only reach what is global.
std::atomic<Session *> running{nullptr};

void stopRunning(int) {
  if (Session *session = running.load())
    session->cancel();
}

} // namespace

Interruptible::Interruptible(Session &session) {
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

} // namespace mx::driver
