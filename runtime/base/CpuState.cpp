// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Permission to use x86 state components such as the AMX tile registers, queried once per process.

#include "base/Os.h"
#include "mxrt/cpu.h"

int32_t mxrt_may_use_state(int32_t component) {
  if (component == MXRT_STATE_ALWAYS)
    return 1;
  if (component != MXRT_STATE_TILES)
    return mxrt::os::requestState(component);
  // The result holds for the process and does not change. Threads that query at the same time
  // get the same result.
  enum : int32_t { unknown, no, yes };
  static std::atomic<int32_t> answer{unknown};
  int32_t known = answer.load(std::memory_order_relaxed);
  if (known == unknown) {
    known = mxrt::os::requestState(component) ? yes : no;
    answer.store(known, std::memory_order_relaxed);
  }
  return known == yes;
}
