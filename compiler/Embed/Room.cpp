// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack checks: runs deep work on a helper thread if the caller's stack is too small.
#include "Embed/Room.h"
#include <cstring>
#include <pthread.h>

namespace mx::embed {
namespace {

/// The lowest usable address of this thread's stack; 0 if unknown. Queried once per thread: it may
/// be slow.
uintptr_t stackEnd() {
  thread_local const uintptr_t end = [] {
    pthread_attr_t attributes;
    void *lowest = nullptr;
    size_t size = 0, guard = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
      return uintptr_t(0);
    bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0 &&
                 pthread_attr_getguardsize(&attributes, &guard) == 0;
    pthread_attr_destroy(&attributes);
    return known ? reinterpret_cast<uintptr_t>(lowest) + guard : uintptr_t(0);
  }();
  return end;
}

bool hasRoom(size_t bytes) {
  uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), end = stackEnd();
  // On a stack allocated by the host (a coroutine) the thread's limit says nothing.
  return end == 0 || here < end || here - end >= bytes;
}

struct Errand {
  llvm::function_ref<mxc_error *()> body;
  mxc_error *error = nullptr;
};

void *run(void *given) {
  auto *errand = static_cast<Errand *>(given);
  errand->error = guarded([&] { return errand->body(); });
  return nullptr;
}

} // namespace

mxc_error *guardedWithRoom(size_t bytes, llvm::function_ref<mxc_error *()> body) {
  constexpr size_t kOwnStack = size_t(16) << 20;
  if (hasRoom(bytes))
    return guarded([&] { return body(); });
  Errand errand{body};
  pthread_attr_t attributes;
  pthread_t thread;
  int problem = pthread_attr_init(&attributes);
  if (problem == 0) {
    problem = pthread_attr_setstacksize(&attributes, kOwnStack);
    if (problem == 0)
      problem = pthread_create(&thread, &attributes, run, &errand);
    pthread_attr_destroy(&attributes);
  }
  if (problem != 0)
    return guarded([&] {
      return makeError("R0006", std::string("error[R0006]: the stack of this thread is too small, "
                                            "and there is no other thread: ") +
                                    std::strerror(problem) + "\n");
    });
  pthread_join(thread, nullptr);
  return errand.error;
}

} // namespace mx::embed
