// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies, fills and transfers between devices: work that needs no compiled kernel.

#include "eager/Issue.h"
#include "memory/Collapse.h"

#include <cstring>

namespace mxrt::eager {

Status OpCall::copyInto(mxrt_tensor *from, mxrt_tensor *to) const {
  host.issued = true;
  return Status(mxrt_call_copy(runtime, from, to, &location));
}

Status OpCall::prepareWrite(mxrt_tensor *&tensor) const {
  host.issued = true;
  return Status(mxrt_call_prepare_write(runtime, &tensor, &location));
}

Result<TensorRef> OpCall::denseCopy(mxrt_tensor *from) const {
  TensorRef made = MXRT_TRY(create(from->type, from->rank, from->sizes(), from->buffer->device));
  MXRT_CHECK(copyInto(from, made.get()));
  return made;
}

Result<TensorRef> OpCall::denseCopy(mxrt_tensor *from, int32_t rank, const int64_t *sizes) const {
  mxrt_tensor *wide = nullptr;
  MXRT_CHECK(named(mxrt_tensor_broadcast(from, rank, sizes, &location, &wide)));
  TensorRef owner(wide);
  return denseCopy(wide);
}

namespace {

struct FillJob {
  Walk<1> walk;
  char *start;
  uint64_t bits;
};

/// Fills elements [begin, end) of the outermost axis.
template <typename T>
mxrt_status fillRange(void *user, int64_t begin, int64_t end, int64_t, const mxrt_context *) {
  const FillJob &job = *static_cast<FillJob *>(user);
  const Walk<1> &walk = job.walk;
  const int64_t *strides = walk.strides[0];
  T element;
  memcpy(&element, &job.bits, sizeof(T));
  int32_t last = walk.rank - 1;
  int64_t index[MXRT_MAX_RANK] = {};
  index[0] = begin;
  T *row = reinterpret_cast<T *>(job.start) + begin * strides[0];
  if (last == 0) {
    for (int64_t i = begin; i < end; ++i, row += strides[0])
      *row = element;
    return nullptr;
  }
  while (index[0] < end) {
    for (int64_t i = 0; i < walk.sizes[last]; ++i)
      row[i * strides[last]] = element;
    for (int32_t axis = last - 1; axis >= 0; --axis) {
      row += strides[axis];
      if (++index[axis] < walk.sizes[axis] || axis == 0)
        break;
      row -= walk.sizes[axis] * strides[axis];
      index[axis] = 0;
    }
  }
  return nullptr;
}

mxrt_status fillKernel(const mxrt_context *context, const mxrt_tensor *const *tensors,
                       const void *arguments) {
  const mxrt_tensor *to = tensors[0];
  if (to->elements == 0)
    return mxrt_poll(context);
  FillJob job = {collapse<1>(to->rank, to->sizes(), {to->strides()}), to->data(), 0};
  memcpy(&job.bits, arguments, sizeof(job.bits));
  if (job.walk.rank == 0) {
    job.walk.rank = 1;
    job.walk.sizes[0] = job.walk.strides[0][0] = 1;
  }
  constexpr int64_t elementsPerChunk = 1 << 15;
  int64_t rows = job.walk.sizes[0], inner = to->elements / rows;
  int64_t grain = inner < elementsPerChunk ? elementsPerChunk / inner : 1;
  int64_t bytes = mxrt_dtype_size(to->type);
  mxrt_range_body body = bytes == 1   ? fillRange<uint8_t>
                         : bytes == 2 ? fillRange<uint16_t>
                         : bytes == 4 ? fillRange<uint32_t>
                                      : fillRange<uint64_t>;
  return mxrt_parallel_for(context, rows, grain, body, &job);
}

/// A copy between devices in flight. The two views own no tensor: reading a tensor does not make it
/// shared.
struct DeviceCopy {
  mxrt_runtime *runtime;
  TensorRef from, to;
  size_t bytes;
  mxrt_location location;
  char file[1];

  static mxrt_status run(mxrt_op_context *, void *payload) {
    auto *copy = static_cast<DeviceCopy *>(payload);
    mxrt_device device = copy->to->buffer->device;
    mxrt_context context;
    if (mxrt_status failure = mxrt_runtime_context(copy->runtime, &device, &copy->location, &context))
      return failure;
    context.holds_thread = 1;
    return mxrt_tensor_copy(&context, copy->from.get(), copy->to.get());
  }
  static void drop(void *payload) {
    auto *copy = static_cast<DeviceCopy *>(payload);
    const mxrt_allocator *alloc = mxrt_runtime_allocator(copy->runtime);
    size_t bytes = copy->bytes;
    copy->~DeviceCopy();
    releaseBytes(alloc, copy, bytes, alignof(DeviceCopy));
  }
};

} // namespace

Status OpCall::fill(mxrt_tensor *to, uint64_t bits) const {
  return issue(fillKernel, nullptr, 0, &to, 1, &bits, sizeof(bits), to->buffer->device);
}

Result<TensorRef> OpCall::moved(mxrt_tensor *from, mxrt_device device) const {
  TensorRef made = MXRT_TRY(create(from->type, from->rank, from->sizes(), device));
  size_t fileBytes = location.file ? strlen(location.file) + 1 : 1;
  size_t bytes = sizeof(DeviceCopy) + fileBytes;
  void *memory = allocateBytes(alloc(), bytes, alignof(DeviceCopy));
  if (!memory)
    return outOfMemory(alloc(), location);
  auto *copy = ::new (memory) DeviceCopy{runtime, {}, {}, bytes, location, {}};
  if (location.file)
    copy->location.file = static_cast<char *>(memcpy(copy->file, location.file, fileBytes));
  auto push = [&]() -> Status {
    mxrt_tensor *view = nullptr;
    MXRT_CHECK(Status(mxrt_tensor_target(from, &view)));
    copy->from = TensorRef(view);
    MXRT_CHECK(Status(mxrt_tensor_target(made.get(), &view)));
    copy->to = TensorRef(view);
    mxrt_var reads[1], writes[1];
    MXRT_CHECK(Status(mxrt_tensor_variable(runtime, from, reads)));
    MXRT_CHECK(Status(mxrt_tensor_variable(runtime, made.get(), writes)));
    mxrt_engine *engine = nullptr;
    MXRT_CHECK(Status(mxrt_runtime_engine(runtime, nullptr, &engine)));
    mxrt_op pushed = {};
    pushed.run = DeviceCopy::run;
    pushed.payload = copy;
    pushed.drop = DeviceCopy::drop;
    pushed.reads = reads;
    pushed.read_count = 1;
    pushed.writes = writes;
    pushed.write_count = 1;
    pushed.device = device;
    pushed.lane = MXRT_LANE_COPY;
    pushed.name = "to";
    pushed.location = copy->location;
    pushed.bytes = uint64_t(mxrt_tensor_bytes(made.get()));
    host.issued = true;
    return Status(mxrt_engine_push(engine, &pushed));
  };
  Status status = push();
  if (status.failed()) {
    DeviceCopy::drop(copy);
    return status;
  }
  return made;
}

} // namespace mxrt::eager
