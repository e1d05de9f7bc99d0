// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C types shared by every mxrt header: element types, source locations, devices and the
// allocator that provides all runtime memory.

#ifndef MXRT_TYPES_H
#define MXRT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define MXRT_EXPORT
#else
#define MXRT_EXPORT __attribute__((visibility("default")))
#endif

/// Enumerations are 32 bits wide and may hold any value, including one from a newer or an
/// incorrect caller: the runtime checks and refuses it.
#ifdef __cplusplus
#define MXRT_ENUM_INT32 : int32_t
#else
#define MXRT_ENUM_INT32
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Version of the binary interface. Compiled code records the value it was built with and
/// passes it to mxrt_abi_check before anything else.
/// Major: a signature or a layout changed. Minor: functions were added.
#define MXRT_ABI_MAJOR 2
#define MXRT_ABI_MINOR 3
#define MXRT_ABI_VERSION ((uint32_t)((MXRT_ABI_MAJOR << 16) | MXRT_ABI_MINOR))

/// Maximum rank of a tensor. Larger ranks are error R0202.
#define MXRT_MAX_RANK 16

/// Every buffer and every arena slice starts at a multiple of this.
#define MXRT_ALIGNMENT 64

/// Element types. The numbers are part of the ABI and of cached objects:
/// never renumber, only append.
typedef enum mxrt_dtype MXRT_ENUM_INT32 {
  MXRT_BOOL = 0, // one byte, 0 or 1
  MXRT_I8 = 1,
  MXRT_U8 = 2,
  MXRT_I32 = 3,
  MXRT_I64 = 4,
  MXRT_F16 = 5,
  MXRT_BF16 = 6,
  MXRT_F32 = 7,
  MXRT_F64 = 8,
  MXRT_DTYPE_COUNT = 9
} mxrt_dtype;

/// Bytes of one element; 0 for a value outside the enumeration.
MXRT_EXPORT int64_t mxrt_dtype_size(mxrt_dtype type);
/// The name as the language spells it ("f32"); "?" for an unknown value. Static.
MXRT_EXPORT const char *mxrt_dtype_name(mxrt_dtype type);

/// A source location. file may be NULL (unknown); line and column count from 1, 0 means
/// unknown. Functions that take a location copy what they keep: file need only live for the
/// call.
typedef struct mxrt_location {
  const char *file;
  int32_t line;
  int32_t column;
} mxrt_location;

/// Kinds of device. Numbers are part of the ABI.
typedef enum mxrt_device_kind MXRT_ENUM_INT32 {
  MXRT_CPU = 0,
  MXRT_CUDA = 1
} mxrt_device_kind;

/// cpu:0 and cpu:1 are different devices with separate arenas and pools.
typedef struct mxrt_device {
  int32_t kind; // mxrt_device_kind
  int32_t index;
} mxrt_device;

/// Source of every byte the runtime allocates: objects, queues, messages and tensors alike. A
/// host may supply its own in mxrt_options; tests supply one that fails on the Nth call.
///
/// Thread safety: both functions are called from any thread, possibly at the same time.
/// allocate returns NULL on failure (never throws, never aborts); align is a power of two.
/// release gets the size and alignment of the matching allocate and is never called with NULL.
typedef struct mxrt_allocator {
  void *user;
  void *(*allocate)(void *user, size_t bytes, size_t align);
  void (*release)(void *user, void *memory, size_t bytes, size_t align);
  /// Reserve for errors when allocate fails; the runtime sets it, a host leaves it NULL.
  struct mxrt_status_reserve *reserve;
} mxrt_allocator;

/// malloc and, for large blocks, mapped pages. Stateless; lives as long as the process.
MXRT_EXPORT const mxrt_allocator *mxrt_system_allocator(void);

/// Owner of all state; see runtime.h. Several can exist in one process.
typedef struct mxrt_runtime mxrt_runtime;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_TYPES_H
