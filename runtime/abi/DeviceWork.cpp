// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The watch op, in flight while a GPU is busy, and copies between devices.

#include "abi/DeviceWork.h"
#include "abi/Variables.h"
#include "mxrt/call.h"

#include <cstring>

namespace mxrt {

//===-- Work in flight ------------------------------------------------------===//

static Completion completionOf(mxrt_op_token *token) {
  return {[](void *user, Status status) {
            mxrt_op_complete(static_cast<mxrt_op_token *>(user), status.release());
          },
          token};
}

Status watchDevice(mxrt_engine *engine, Device &device) {
  if (!device.needsWatch())
    return success();
  Device *watched = &device;
  mxrt_op op = {};
  op.run = [](mxrt_op_context *context, void *payload) -> mxrt_status {
    auto *device = *static_cast<Device **>(payload);
    mxrt_op_token *token = mxrt_op_defer(context);
    Status status = device->whenIdle(completionOf(token));
    if (status.failed())
      mxrt_op_complete(token, status.release());
    return nullptr;
  };
  op.payload = &watched;
  op.payload_bytes = sizeof(watched);
  op.device = device.identity();
  op.lane = MXRT_LANE_COMPUTE;
  // A cancelled program still has to wait for its GPU.
  op.flags = MXRT_OP_ALWAYS_RUN | MXRT_OP_NO_THROTTLE;
  op.name = "gpu work";
  Status status(mxrt_engine_push(engine, &op));
  if (status.failed()) // the next enqueued work retries
    (void)device.whenIdle({[](void *, Status dropped) { (void)std::move(dropped); }, nullptr});
  return status;
}

//===-- Copies --------------------------------------------------------------===//

Status copyOnDevice(Device &device, const mxrt_tensor *from, const mxrt_tensor *to,
                    mxrt_location location) {
  if (from->elements == 0)
    return success();
  Walk<2> walk = collapse<2>(from->rank, from->sizes(), {from->strides(), to->strides()});
  return device.copy({to->data(), from->data(), &walk, from->elements, mxrt_dtype_size(from->type)},
                     location);
}

namespace {

/// A copy to another device in flight. The two views are not owners: reading a tensor does not make
/// it shared.
struct Move {
  mxrt_runtime *runtime;
  mxrt_engine *engine; // not from the runtime, which may be shutting down
  TensorRef from, to; // dense, unless the host sees both
  size_t bytes;
  mxrt_location location;
  mxrt_op_token *token;
  char file[1];

  static mxrt_status run(mxrt_op_context *context, void *payload) {
    return static_cast<Move *>(payload)->start(context).release();
  }
  static void drop(void *payload) {
    auto *move = static_cast<Move *>(payload);
    const mxrt_allocator *alloc = &move->runtime->alloc;
    size_t bytes = move->bytes;
    move->~Move();
    releaseBytes(alloc, move, bytes, alignof(Move));
  }

private:
  Status start(mxrt_op_context *context) {
    Device *source = MXRT_TRY(runtime->device(from->buffer->device, location));
    Device *target = MXRT_TRY(runtime->device(to->buffer->device, location));
    DeviceBytes read = {from->data(), from->buffer->data};
    DeviceBytes written = {to->data(), to->buffer->data};
    int64_t count = mxrt_tensor_bytes(to.get());
    if (source->hostVisible() && target->hostVisible()) {
      mxrt_context here = runtime->context(target->identity(), location);
      here.holds_thread = MXRT_CONTEXT_HOLDS_THREAD;
      return Status(mxrt_tensor_copy(&here, from.get(), to.get()));
    }
    if (target->hostVisible()) {
      // In flight until the elements are there. From here on the op may end at any time.
      token = mxrt_op_defer(context);
      mxrt_op_token *mine = token;
      Status status = source->copyOut(written.data, read, count, completionOf(token), location);
      if (status.failed())
        mxrt_op_complete(mine, status.release());
      return success();
    }
    Status status = source->hostVisible()
                        ? target->copyIn(written, read.data, count, location)
                        : target->copyPeer(written, *source, read, count, location);
    Status watched = watchDevice(engine, *target);
    return status.ok() ? std::move(watched) : std::move(status);
  }
};

Status push(mxrt_runtime *runtime, Move *move, mxrt_tensor *from, mxrt_tensor *to) {
  mxrt_tensor *view = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_target(from, &view)));
  move->from = TensorRef(view);
  MXRT_CHECK(Status(mxrt_tensor_target(to, &view)));
  move->to = TensorRef(view);
  EngineLink *link = MXRT_TRY(engineLink(runtime));
  move->engine = link->target();
  mxrt_var reads[1] = {MXRT_TRY(variableOf(link, from->buffer))};
  mxrt_var writes[1] = {MXRT_TRY(variableOf(link, to->buffer))};
  mxrt_op op = {};
  op.run = Move::run;
  op.payload = move;
  op.drop = Move::drop;
  op.reads = reads;
  op.read_count = 1;
  op.writes = writes;
  op.write_count = 1;
  op.device = to->buffer->device;
  op.lane = MXRT_LANE_COPY;
  op.name = "to";
  op.location = move->location;
  op.bytes = uint64_t(mxrt_tensor_bytes(to));
  return Status(mxrt_engine_push(link->target(), &op));
}

Result<TensorRef> createLike(mxrt_runtime *runtime, mxrt_tensor *from, mxrt_device device,
                             mxrt_location location) {
  mxrt_tensor *made = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_create(runtime, &device, from->type, from->rank, from->sizes(),
                                       &location, &made)));
  return TensorRef(made);
}

} // namespace

Result<TensorRef> moveTensor(mxrt_runtime *runtime, mxrt_tensor *from, mxrt_device device,
                             mxrt_location location) {
  TensorRef made = MXRT_TRY(createLike(runtime, from, device, location));
  bool same = from->buffer->device.kind == device.kind && from->buffer->device.index == device.index;
  if (same) {
    MXRT_CHECK(Status(mxrt_call_copy(runtime, from, made.get(), &location)));
    return made;
  }
  TensorRef dense;
  bool isPlain = from->buffer->hostVisible && made->buffer->hostVisible;
  if (!isPlain && !mxrt_tensor_is_dense(from)) {
    dense = MXRT_TRY(createLike(runtime, from, from->buffer->device, location));
    MXRT_CHECK(Status(mxrt_call_copy(runtime, from, dense.get(), &location)));
    from = dense.get();
  }
  size_t fileBytes = location.file ? strlen(location.file) + 1 : 1;
  size_t bytes = sizeof(Move) + fileBytes;
  void *memory = allocateBytes(&runtime->alloc, bytes, alignof(Move));
  if (!memory)
    return outOfMemory(&runtime->alloc, location);
  auto *move = ::new (memory) Move{runtime, nullptr, {}, {}, bytes, location, nullptr, {}};
  if (location.file)
    move->location.file = static_cast<char *>(memcpy(move->file, location.file, fileBytes));
  Status status = push(runtime, move, from, made.get());
  if (status.failed()) {
    Move::drop(move);
    return std::move(status).issuedAt(location);
  }
  return made;
}

Result<TensorRef> hostTensor(mxrt_runtime *runtime, mxrt_tensor *tensor, mxrt_location location) {
  TensorRef seen = tensor->buffer->hostVisible
                       ? TensorRef(mxrt_tensor_retain(tensor))
                       : MXRT_TRY(moveTensor(runtime, tensor, {MXRT_CPU, 0}, location));
  MXRT_CHECK(Status(mxrt_tensor_wait(runtime, seen.get(), &location)));
  return seen;
}

} // namespace mxrt

using namespace mxrt;

extern "C" mxrt_status mxrt_tensor_move(mxrt_runtime *runtime, mxrt_tensor *tensor,
                                        const mxrt_device *device, const mxrt_location *location,
                                        mxrt_tensor **out) {
  *out = nullptr;
  auto moved = moveTensor(runtime, tensor, *device, locationOf(location));
  if (moved.failed())
    return moved.takeStatus().release();
  *out = moved->release();
  return nullptr;
}
