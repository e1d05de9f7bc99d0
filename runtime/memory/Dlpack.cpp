// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zero-copy exchange of tensors with other systems by DLPack.

#include "abi/Runtime.h"
#include "base/CheckedMath.h"
#include "memory/Tensor.h"
#include "mxrt/dlpack.h"

#include <cstring>

using namespace mxrt;

namespace {

struct TypePair {
  mxrt_dtype type;
  mxrt_dl_dtype foreign;
};
constexpr TypePair types[] = {
    {MXRT_BOOL, {MXRT_DL_BOOL, 8, 1}},  {MXRT_I8, {MXRT_DL_INT, 8, 1}},
    {MXRT_U8, {MXRT_DL_UINT, 8, 1}},    {MXRT_I32, {MXRT_DL_INT, 32, 1}},
    {MXRT_I64, {MXRT_DL_INT, 64, 1}},   {MXRT_F16, {MXRT_DL_FLOAT, 16, 1}},
    {MXRT_BF16, {MXRT_DL_BFLOAT, 16, 1}}, {MXRT_F32, {MXRT_DL_FLOAT, 32, 1}},
    {MXRT_F64, {MXRT_DL_FLOAT, 64, 1}},
};
static_assert(sizeof(types) / sizeof(*types) == MXRT_DTYPE_COUNT);

// The layout that other systems rely on (64-bit).
static_assert(sizeof(mxrt_dl_tensor) == 48);
static_assert(offsetof(mxrt_dl_managed, manager) == 48);
static_assert(sizeof(mxrt_dl_managed) == 64);
static_assert(offsetof(mxrt_dl_managed_versioned, flags) == 24);
static_assert(offsetof(mxrt_dl_managed_versioned, tensor) == 32);

/// The exported struct and the data it points to, in one block.
template <typename Managed> struct Export {
  Managed managed;
  mxrt_allocator alloc;
  mxrt_tensor *tensor;
  int64_t sizes[MXRT_MAX_RANK];
  int64_t strides[MXRT_MAX_RANK];
};

template <typename Managed> void deleteExport(Managed *managed) {
  if (!managed)
    return;
  auto *box = static_cast<Export<Managed> *>(managed->manager);
  mxrt_allocator alloc = box->alloc;
  mxrt_tensor_release(box->tensor);
  deleteObject(&alloc, box);
}

template <typename Managed>
Result<Managed *> exportTensor(mxrt_tensor *tensor, mxrt_location location) {
  const mxrt_allocator *alloc = &tensor->buffer->alloc;
  auto *box = newObject<Export<Managed>>(alloc);
  if (!box)
    return outOfMemory(alloc, location);
  box->alloc = *alloc;
  box->tensor = mxrt_tensor_retain(tensor);
  box->managed.manager = box;
  box->managed.deleter = deleteExport<Managed>;
  mxrt_dl_tensor &foreign = box->managed.tensor;
  foreign.data = tensor->elements ? tensor->data() : nullptr;
  foreign.device = {MXRT_DL_CPU, tensor->buffer->device.index};
  if (tensor->buffer->device.kind == MXRT_CUDA)
    foreign.device.type = MXRT_DL_CUDA;
  else
    foreign.device.id = 0; // other systems know one CPU only
  foreign.rank = tensor->rank;
  foreign.dtype = types[tensor->type].foreign;
  foreign.shape = box->sizes;
  foreign.strides = box->strides;
  foreign.byte_offset = 0;
  for (int32_t i = 0; i < tensor->rank; ++i) {
    box->sizes[i] = tensor->sizes()[i];
    box->strides[i] = tensor->strides()[i];
  }
  return &box->managed;
}

/// The release function passed to mxrt_tensor_borrow.
template <typename Managed> void releaseImport(void *user) {
  auto *managed = static_cast<Managed *>(user);
  if (managed->deleter)
    managed->deleter(managed);
}

Status importTensor(mxrt_runtime *runtime, const mxrt_dl_tensor &foreign,
                    bool writable, void (*release)(void *), void *managed,
                    mxrt_location location, mxrt_tensor **out) {
  const mxrt_allocator *alloc = &runtime->alloc;
  const TypePair *found = nullptr;
  for (const TypePair &pair : types)
    if (pair.foreign.code == foreign.dtype.code &&
        pair.foreign.bits == foreign.dtype.bits && foreign.dtype.lanes == 1)
      found = &pair;
  if (!found)
    return error(alloc, MXRT_DTYPE, location,
                 "DLPack element type (code %d, %d bits, %d lanes) has no "
                 "counterpart",
                 foreign.dtype.code, foreign.dtype.bits, foreign.dtype.lanes);
  if (foreign.device.type != MXRT_DL_CPU)
    return error(alloc, MXRT_NO_DEVICE, location,
                 "DLPack tensor on a device of type %d", foreign.device.type);
  if (foreign.rank < 0 || foreign.rank > MXRT_MAX_RANK)
    return error(alloc, MXRT_RANK_LIMIT, location,
                 "DLPack tensor of rank %d: the limit is %d dimensions",
                 foreign.rank, MXRT_MAX_RANK);
  if (foreign.rank > 0 && !foreign.shape)
    return error(alloc, MXRT_INVALID_ARGUMENT, location,
                 "DLPack tensor without a shape");
  char *data = static_cast<char *>(foreign.data);
  if (data)
    data += foreign.byte_offset;
  mxrt_device host = {MXRT_CPU, 0};
  return Status(mxrt_tensor_borrow(
      runtime, &host, found->type, foreign.rank, foreign.shape,
      foreign.strides, data, writable ? MXRT_BORROW_WRITABLE : 0, release,
      managed, &location, out));
}

} // namespace

extern "C" {

mxrt_status mxrt_tensor_to_dlpack(mxrt_tensor *tensor, int32_t versioned,
                                  const mxrt_location *location, void **out) {
  *out = nullptr;
  bool readOnly = mxrt_tensor_is_shared(tensor) != 0;
  if (versioned) {
    auto made =
        exportTensor<mxrt_dl_managed_versioned>(tensor, locationOf(location));
    if (made.failed())
      return made.takeStatus().release();
    (*made)->version = {MXRT_DL_MAJOR, MXRT_DL_MINOR};
    (*made)->flags = readOnly ? MXRT_DL_FLAG_READ_ONLY : 0;
    *out = *made;
    return nullptr;
  }
  if (readOnly)
    return error(&tensor->buffer->alloc, MXRT_UNSUPPORTED, locationOf(location),
                 "%s is shared: only the versioned form of DLPack can say that "
                 "it must not be written",
                 shapeText(tensor->shape()).text)
        .release();
  auto made = exportTensor<mxrt_dl_managed>(tensor, locationOf(location));
  if (made.failed())
    return made.takeStatus().release();
  *out = *made;
  return nullptr;
}

mxrt_status mxrt_tensor_from_dlpack(mxrt_runtime *runtime, void *managed,
                                    int32_t versioned, const mxrt_location *location,
                                    mxrt_tensor **out) {
  *out = nullptr;
  if (!versioned) {
    auto *plain = static_cast<mxrt_dl_managed *>(managed);
    // The unversioned struct cannot promise exclusive access: treat it as read-only, so that our
    // writes copy.
    return importTensor(runtime, plain->tensor, false,
                        releaseImport<mxrt_dl_managed>, managed, locationOf(location),
                        out)
        .release();
  }
  auto *modern = static_cast<mxrt_dl_managed_versioned *>(managed);
  if (modern->version.major != MXRT_DL_MAJOR)
    return error(&runtime->alloc, MXRT_UNSUPPORTED, locationOf(location),
                 "DLPack version %u.%u: version %d is supported",
                 modern->version.major, modern->version.minor, MXRT_DL_MAJOR)
        .release();
  bool writable = (modern->flags & MXRT_DL_FLAG_IS_COPIED) != 0 &&
                  (modern->flags & MXRT_DL_FLAG_READ_ONLY) == 0;
  return importTensor(runtime, modern->tensor, writable,
                      releaseImport<mxrt_dl_managed_versioned>, managed,
                      locationOf(location), out)
      .release();
}

} // extern "C"
