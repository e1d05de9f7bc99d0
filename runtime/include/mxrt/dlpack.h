// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout of DLPack's structs (version 1.0), under distinct names so that this header and
// dlpack.h can be included together. Pointers to them are exchanged as void* with other systems.

#ifndef MXRT_DLPACK_H
#define MXRT_DLPACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MXRT_DL_CPU = 1, MXRT_DL_CUDA = 2 };
enum {
  MXRT_DL_INT = 0,
  MXRT_DL_UINT = 1,
  MXRT_DL_FLOAT = 2,
  MXRT_DL_BFLOAT = 4,
  MXRT_DL_BOOL = 6
};
enum {
  MXRT_DL_FLAG_READ_ONLY = 1,
  MXRT_DL_FLAG_IS_COPIED = 2
};
enum { MXRT_DL_MAJOR = 1, MXRT_DL_MINOR = 0 };

typedef struct mxrt_dl_device {
  int32_t type;
  int32_t id;
} mxrt_dl_device;

typedef struct mxrt_dl_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} mxrt_dl_dtype;

typedef struct mxrt_dl_tensor {
  void *data;
  mxrt_dl_device device;
  int32_t rank;
  mxrt_dl_dtype dtype;
  int64_t *shape;
  int64_t *strides; // in elements; NULL: dense
  uint64_t byte_offset;
} mxrt_dl_tensor;

/// DLManagedTensor.
typedef struct mxrt_dl_managed {
  mxrt_dl_tensor tensor;
  void *manager;
  void (*deleter)(struct mxrt_dl_managed *self);
} mxrt_dl_managed;

typedef struct mxrt_dl_version {
  uint32_t major;
  uint32_t minor;
} mxrt_dl_version;

/// DLManagedTensorVersioned.
typedef struct mxrt_dl_managed_versioned {
  mxrt_dl_version version;
  void *manager;
  void (*deleter)(struct mxrt_dl_managed_versioned *self);
  uint64_t flags;
  mxrt_dl_tensor tensor;
} mxrt_dl_managed_versioned;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_DLPACK_H
