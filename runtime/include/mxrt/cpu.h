// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operating system has to allow before code may use it. Part of
// mxrt_core.

#ifndef MXRT_CPU_H
#define MXRT_CPU_H

#include "mxrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/// State components of x86 by the numbers of its manual: 0 is part of every
/// thread, 18 are the tile registers of AMX.
#define MXRT_STATE_ALWAYS 0
#define MXRT_STATE_TILES 18

/// 1 if threads of this process may use the component, 0 if not: the CPU or
/// the system does not have it, or the system refuses. Asks the system when
/// it is called first; compiled code calls it before it uses tile registers.
/// Any thread.
MXRT_EXPORT int32_t mxrt_may_use_state(int32_t component);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_CPU_H
