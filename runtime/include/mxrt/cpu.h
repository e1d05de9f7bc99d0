// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU features that the operating system must enable before code may use them (x86 state
// components such as the AMX tile registers). Part of mxrt_core.

#ifndef MXRT_CPU_H
#define MXRT_CPU_H

#include "mxrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/// State components of x86, numbered as in its manual: 0 is part of every thread, 18 is the
/// tile registers of AMX.
#define MXRT_STATE_ALWAYS 0
#define MXRT_STATE_TILES 18

/// 1 if threads of this process may use the component, 0 if not: the CPU or the system does not
/// have it, or the system refuses. Queries the system on the first call; compiled code calls it
/// before it uses tile registers. Thread-safe.
MXRT_EXPORT int32_t mxrt_may_use_state(int32_t component);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_CPU_H
