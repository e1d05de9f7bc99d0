// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that fill a parcel and hand it over.

#include "dist/Parcel.h"

#include "abi/Runtime.h"
#include "mxrt/call.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::dist {

/// How often a program that waits looks whether it was cancelled.
static constexpr int64_t cancelCheckNs = 20'000'000;

Result<Returns *> Returns::of(mxrt_runtime *runtime) {
  void *part = MXRT_TRY(runtime->part(
      Part::KvStore,
      [](mxrt_runtime *runtime, void **object) -> Status {
        *object = newObject<Returns>(&runtime->alloc);
        return *object ? success() : outOfMemory(&runtime->alloc);
      },
      [](mxrt_runtime *runtime, void *object) {
        auto *returns = static_cast<Returns *>(object);
        returns->waitForAll();
        deleteObject(&runtime->alloc, returns);
      }));
  return static_cast<Returns *>(part);
}

void Returns::expect() {
  Lock lock(mutex);
  ++pending;
}

void Returns::complete(mxrt_op_token *token, Status status) {
  mxrt_op_complete(token, status.release());
  Lock lock(mutex);
  --pending;
  changed.wakeAll();
}

void Returns::waitForAll() {
  Lock lock(mutex);
  while (pending > 0)
    changed.wait(mutex);
}

void Parcel::release() {
  if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    deleteObject(alloc, this);
}

Status Parcel::layOut(std::span<const TensorRef> tensors, mxrt_location at) {
  if (!parts.resize(tensors.size()))
    return outOfMemory(alloc, at);
  for (size_t i = 0; i < tensors.size(); ++i) {
    mxrt_tensor *tensor = tensors[i].get();
    Part &part = parts[i];
    part.type = tensor->type;
    part.rank = tensor->rank;
    std::copy_n(tensor->sizes(), tensor->rank, part.sizes);
    part.offset = bytes;
    part.bytes = size_t(mxrt_tensor_bytes(tensor));
    bytes += (part.bytes + alignment - 1) / alignment * alignment;
  }
  memory = static_cast<char *>(allocateBytes(alloc, bytes, alignment));
  if (!memory)
    return error(alloc, MXRT_OUT_OF_MEMORY, at, "out of memory: put needs %zu bytes", bytes);
  std::snprintf(file, sizeof file, "%s", at.file ? at.file : "");
  location = {file, at.line, at.column};
  return success();
}

/// The error of a sender, in memory that outlives its runtime, with the location of the put.
static Status forOthers(mxrt_status from, mxrt_location put) {
  char note[320];
  std::snprintf(note, sizeof note,
                "note: it was computed by another instance of the program, and put into a queue at "
                "%s:%u:%u",
                put.file, unsigned(put.line), unsigned(put.column));
  return error(mxrt_system_allocator(), mxrt_status_code(from), mxrt_status_location(from),
               "%s\n%s", mxrt_status_message(from), note);
}

/// On a worker of the sender.
mxrt_status Parcel::runSend(mxrt_op_context *context, void *payload) {
  auto &parcel = *static_cast<Parcel *>(payload);
  mxrt_status failed = mxrt_op_input_error(context);
  for (Part &part : parcel.parts) {
    if (!failed && part.bytes)
      std::memcpy(parcel.memory + part.offset, part.from, part.bytes);
    mxrt_buffer_release(std::exchange(part.source, nullptr));
  }
  parcel.finish(failed ? forOthers(failed, parcel.location) : success());
  return nullptr;
}

void Parcel::finish(Status status) {
  mxrt_op_token *token;
  {
    Lock lock(mutex);
    failure = status.share();
    isFinished = true;
    token = std::exchange(waiting, nullptr);
    finished.wakeAll();
  }
  if (token)
    returns->complete(token, std::move(status));
}

static void dropParcel(void *payload) { static_cast<Parcel *>(payload)->release(); }

Result<Parcel *> Parcel::send(mxrt_runtime *runtime, std::span<const TensorRef> tensors,
                              mxrt_location location) {
  const mxrt_allocator *alloc = mxrt_system_allocator();
  mxrt_engine *engine = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_engine(runtime, nullptr, &engine)));
  auto *parcel = newObject<Parcel>(alloc, alloc);
  if (!parcel)
    return outOfMemory(alloc, location);
  Vec<mxrt_var> reads(alloc);
  Status status = parcel->layOut(tensors, location);
  if (status.ok() && !reads.resize(tensors.size()))
    status = outOfMemory(alloc, location);
  for (size_t i = 0; i < tensors.size() && status.ok(); ++i)
    status = Status(mxrt_tensor_variable(runtime, tensors[i].get(), &reads[i]));
  if (status.failed()) {
    parcel->release();
    return status;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    parcel->parts[i].source = mxrt_buffer_retain(mxrt_tensor_buffer(tensors[i].get()));
    parcel->parts[i].from = tensors[i]->data();
  }
  std::sort(reads.begin(), reads.end()); // parts may be views of one buffer
  mxrt_op op = {};
  op.run = runSend;
  op.payload = parcel;
  op.drop = dropParcel;
  op.reads = reads.data();
  op.read_count = size_t(std::unique(reads.begin(), reads.end()) - reads.begin());
  op.lane = MXRT_LANE_COMMUNICATION;
  op.flags = MXRT_OP_ALWAYS_RUN | MXRT_OP_NO_THROTTLE; // the receiver must hear of an error
  op.name = "put";
  op.location = location;
  op.bytes = parcel->bytes;
  parcel->retain();
  status = Status(mxrt_engine_push(engine, &op));
  if (status.ok())
    return parcel;
  for (Part &part : parcel->parts)
    mxrt_buffer_release(std::exchange(part.source, nullptr));
  parcel->release();
  parcel->release();
  return std::move(status).issuedAt(location);
}

/// On a worker of the receiver.
mxrt_status Parcel::runReceive(mxrt_op_context *context, void *payload) {
  auto &parcel = *static_cast<Parcel *>(payload);
  Lock lock(parcel.mutex);
  if (parcel.isFinished)
    return parcel.failure.share().release();
  parcel.returns->expect();
  parcel.waiting = mxrt_op_defer(context);
  return nullptr;
}

/// Tensors over the memory of the parts, each of which owns a reference to the parcel.
Status Parcel::borrow(mxrt_runtime *runtime, uint32_t flags, mxrt_location location,
                      Vec<TensorRef> &out) {
  if (!out.reserve(parts.size()))
    return outOfMemory(alloc, location);
  mxrt_device device = {MXRT_CPU, 0};
  for (const Part &part : parts) {
    mxrt_tensor *made = nullptr;
    MXRT_CHECK(Status(mxrt_tensor_borrow(runtime, &device, part.type, part.rank, part.sizes,
                                         nullptr, memory + part.offset, flags, dropParcel, this,
                                         &location, &made)));
    retain();
    (void)out.push(TensorRef(made)); // reserved
  }
  return success();
}

Status Parcel::receive(mxrt_runtime *runtime, mxrt_location location, Vec<TensorRef> &out) {
  mxrt_engine *engine = nullptr;
  MXRT_CHECK(Status(mxrt_runtime_engine(runtime, nullptr, &engine)));
  Vec<mxrt_var> writes(alloc);
  if (!writes.resize(parts.size()))
    return outOfMemory(alloc, location);
  returns = MXRT_TRY(Returns::of(runtime));
  MXRT_CHECK(borrow(runtime, MXRT_BORROW_WRITABLE, location, out));
  for (size_t i = 0; i < parts.size(); ++i)
    MXRT_CHECK(Status(mxrt_tensor_variable(runtime, out[i].get(), &writes[i])));
  mxrt_op op = {};
  op.run = runReceive;
  op.payload = this;
  op.drop = dropParcel;
  op.writes = writes.data();
  op.write_count = writes.size();
  op.lane = MXRT_LANE_COMMUNICATION;
  op.flags = MXRT_OP_OVERWRITES | MXRT_OP_NO_THROTTLE;
  op.name = "get";
  op.location = location;
  retain();
  Status status(mxrt_engine_push(engine, &op));
  if (status.failed())
    release();
  return std::move(status).issuedAt(location);
}

Status Parcel::read(mxrt_runtime *runtime, mxrt_location location, Vec<TensorRef> &out) {
  {
    Lock lock(mutex);
    while (!isFinished) {
      if (runtime->cancelled.load(std::memory_order_relaxed))
        return Status(mxrt_status_constant(MXRT_CANCELLED));
      finished.wait(mutex, cancelCheckNs);
    }
    MXRT_CHECK(failure.share());
  }
  return borrow(runtime, 0, location, out);
}

} // namespace mxrt::dist
