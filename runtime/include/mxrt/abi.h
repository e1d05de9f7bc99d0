// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of the functions of abi.def with their addresses, for a JIT that links compiled code to
// this runtime without symbol lookup in the process.

#ifndef MXRT_ABI_H
#define MXRT_ABI_H

#include "mxrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mxrt_abi_type MXRT_ENUM_INT32 {
  MXRT_ABI_VOID = 0,
  MXRT_ABI_I32,
  MXRT_ABI_U32,
  MXRT_ABI_I64,
  MXRT_ABI_U64,
  MXRT_ABI_F32,
  MXRT_ABI_F64,
  MXRT_ABI_PTR,
  MXRT_ABI_STATUS
} mxrt_abi_type;

#define MXRT_ABI_MAX_PARAMETERS 8

typedef struct mxrt_abi_function {
  const char *name;
  void (*address)(void);
  uint8_t is_core;
  uint8_t result; // mxrt_abi_type
  uint8_t parameter_count;
  uint8_t parameters[MXRT_ABI_MAX_PARAMETERS];
} mxrt_abi_function;

/// All rows, in the order of abi.def. Static, constant.
MXRT_EXPORT const mxrt_abi_function *mxrt_abi_functions(size_t *count);
/// The row of a function name, or NULL.
MXRT_EXPORT const mxrt_abi_function *mxrt_abi_find(const char *name);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_ABI_H
