// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mxrt/aot.h"

int32_t mxrt_aot_cpu_level(void) {
#if defined(__x86_64__)
  // The compiler's library asks the CPU once for the process.
  __builtin_cpu_init();
  return __builtin_cpu_supports("x86-64-v4")   ? 4
         : __builtin_cpu_supports("x86-64-v3") ? 3
         : __builtin_cpu_supports("x86-64-v2") ? 2
                                               : 0;
#else
  return 0;
#endif
}
