// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues of host code (dist/Queue.h).
//
//   mx.queue.make(capacity, part...) -> queue
//   mx.queue.shuffled(capacity, among, seed, counter, part...) -> queue
//       `among` 0: the capacity
//   mx.queue.shared(workers, capacity, part...) -> queue
//       The same queue at all instances of the program.
//   mx.queue.put(queue, value)
//   mx.queue.get(queue) -> tuple              mx.queue.get.only(queue) -> tensor
//   mx.queue.more(queue) -> bool              whether get() would give an element; waits
//   mx.queue.length(queue) -> i64             mx.queue.capacity(queue) -> i64
//   mx.queue.close(queue)                     mx.queue.cancel(queue)
//
// A part is an element type, a rank and that many sizes. A value is a tensor, or a tuple of
// tensors.

#include "data/Numbers.h"
#include "data/QueueHandle.h"
#include "dist/Instance.h"
#include "dist/Parcel.h"
#include "eager/TensorValue.h"

#include "abi/Runtime.h"
#include "engine/LaneNames.h"
#include "profile/Profile.h"

#include <algorithm>

namespace mxrt::data {

using dist::Element;
using dist::PartType;
using dist::Queue;
using dist::QueueForm;
using dist::QueueState;
using eager::tensorOf;
using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

void deleteHeld(void *payload) {
  auto *held = static_cast<Held *>(payload);
  held->queue->release();
  deleteObject(held->alloc, held);
}
} // namespace

const host::ForeignType queueType = {"queue", deleteHeld};

namespace {

Status heldOf(void *context, const Invocation &call, Held *&held) {
  const Value &value = call.args[0];
  if (value.kind != Kind::Handle || value.foreign()->type != &queueType)
    return error(hostOf(context).allocator(), MXRT_HOST_TYPE, noLocation, "%.*s takes a queue",
                 int(call.name.size()), call.name.data());
  held = &data::heldOf(value);
  return success();
}

Queue::Waiter waiterOf(void *context, const Held &held) {
  return {held.rank, &hostOf(context).options.runtime->cancelled};
}

// -- making -------------------------------------------------------------------

constexpr int64_t maxCapacity = 1 << 24;

/// The arguments from `first` on: the parts of an element.
Status partsOf(const mxrt_allocator *alloc, const Invocation &call, size_t first,
               Vec<PartType> &out) {
  auto wrong = [&] {
    return error(alloc, MXRT_HOST_TYPE, noLocation, "%.*s: a part is a type, a rank and sizes",
                 int(call.name.size()), call.name.data());
  };
  for (size_t i = first; i < call.args.size();) {
    if (i + 1 >= call.args.size() || call.args[i].kind != Kind::DType ||
        call.args[i + 1].kind != Kind::Int)
      return wrong();
    PartType part;
    part.type = static_cast<mxrt_dtype>(call.args[i].i);
    int64_t rank = call.args[i + 1].i;
    if (rank < 0 || rank > MXRT_MAX_RANK || i + 2 + size_t(rank) > call.args.size())
      return wrong();
    part.rank = int32_t(rank);
    for (int64_t axis = 0; axis < rank; ++axis) {
      const Value &size = call.args[i + 2 + size_t(axis)];
      if (size.kind != Kind::Int)
        return wrong();
      part.sizes[axis] = size.i;
    }
    if (!out.push(part))
      return outOfMemory(alloc);
    i += 2 + size_t(rank);
  }
  return out.empty() ? wrong() : success();
}

Status checkCapacity(const mxrt_allocator *alloc, int64_t capacity) {
  if (capacity >= 1 && capacity <= maxCapacity)
    return success();
  return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
               "queue: the capacity is %lld elements; it must be 1 to %lld",
               static_cast<long long>(capacity), static_cast<long long>(maxCapacity));
}

/// Takes over the reference.
Status give(DataHost &host, Invocation &call, Result<Queue *> made, int rank) {
  if (made.failed())
    return made.takeStatus();
  Queue *queue = made.take();
  auto *held = newObject<Held>(host.allocator(), host.allocator(), queue, rank, Box<QueueState>());
  if (!held) {
    queue->release();
    return outOfMemory(host.allocator());
  }
  host::ForeignObject *object = host::makeForeign(call.vm.heap(), &queueType, held);
  if (!object) {
    deleteHeld(held);
    return call.vm.heap().exhausted();
  }
  call.result = Value(Kind::Handle, object);
  return success();
}

/// make(capacity, part...)
Status make(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Vec<PartType> parts(host.allocator());
  QueueForm form;
  form.capacity = call.args[0].i;
  MXRT_CHECK(checkCapacity(host.allocator(), form.capacity));
  MXRT_CHECK(partsOf(host.allocator(), call, 1, parts));
  form.parts = {parts.data(), parts.size()};
  return give(host, call, Queue::make(host.allocator(), form), 0);
}

/// shuffled(capacity, among, seed, counter, part...)
Status makeShuffled(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Vec<PartType> parts(host.allocator());
  QueueForm form;
  form.capacity = call.args[0].i;
  form.among = call.args[1].i == 0 ? form.capacity : call.args[1].i;
  MXRT_CHECK(checkCapacity(host.allocator(), form.capacity));
  if (form.among < 1 || form.among > form.capacity)
    return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                 "shuffled_queue: `among` is %lld elements; it must be 1 to the capacity, which is "
                 "%lld",
                 static_cast<long long>(form.among), static_cast<long long>(form.capacity));
  MXRT_CHECK(partsOf(host.allocator(), call, 4, parts));
  form.parts = {parts.data(), parts.size()};
  mxrt_rng rng = {static_cast<uint64_t>(call.args[2].i), static_cast<uint64_t>(call.args[3].i)};
  mxrt_rng_fork(&rng, "queue", 5, &form.stream);
  return give(host, call, Queue::make(host.allocator(), form), 0);
}

/// shared(workers, capacity, part...)
Status makeShared(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  dist::Instance *instance = host.options.instance;
  Vec<PartType> parts(host.allocator());
  QueueForm form;
  form.capacity = call.args[1].i;
  MXRT_CHECK(checkCapacity(host.allocator(), form.capacity));
  MXRT_CHECK(partsOf(host.allocator(), call, 2, parts));
  form.parts = {parts.data(), parts.size()};
  if (call.args[0].i == 1)
    return give(host, call, Queue::make(host.allocator(), form), 0);
  if (!instance || !instance->isOneOfSeveral())
    return error(host.allocator(), MXRT_KVSTORE_MODE, noLocation,
                 "queue: these workers are processes, a queue is in one process\nhelp: connect "
                 "them with `dist.local`");
  return give(host, call, instance->queues().meet(instance->rankHere(), form, call.location),
              instance->rankHere());
}

// -- elements -----------------------------------------------------------------

/// One for each part of an element.
Status takeParts(DataHost &host, const Invocation &call, const Queue &queue, Element &out) {
  const mxrt_allocator *alloc = host.allocator();
  const Value &value = call.args[1];
  std::span<const Value> values(&value, 1);
  if (value.kind == Kind::Tuple)
    values = value.aggregate()->view();
  std::span<const PartType> parts = queue.parts();
  if (values.size() != parts.size())
    return error(alloc, MXRT_HOST_TYPE, noLocation, "put: elements have %zu parts, this has %zu",
                 parts.size(), values.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    mxrt_tensor *tensor = tensorOf(values[i]);
    if (!tensor)
      return error(alloc, MXRT_HOST_TYPE, noLocation, "put: part %zu is not a tensor", i);
    const PartType &part = parts[i];
    ShapeText have = shapeText(tensor->shape()), want = shapeText(part.shape());
    if (tensor->type != part.type || tensor->rank != part.rank ||
        !std::equal(part.sizes, part.sizes + part.rank, tensor->sizes()))
      return error(alloc, tensor->type == part.type ? MXRT_SHAPE : MXRT_DTYPE, noLocation,
                   "put: part %zu is %s, the queue has %s", i, have.text, want.text);
    mxrt_device device = mxrt_tensor_device(tensor);
    if (device.kind != MXRT_CPU || device.index != 0)
      return error(alloc, MXRT_WRONG_DEVICE, noLocation,
                   "put: part %zu is on %s:%d, a queue is on cpu:0\nhelp: copy it, "
                   "`x.to(device(\"cpu:0\"))`",
                   i, device.kind == MXRT_CPU ? "cpu" : "gpu", int(device.index));
    TensorRef held(mxrt_tensor_retain(tensor));
    if (queue.isShared())
      MXRT_CHECK(denseOf(host, tensor, call.location, held));
    if (!out.tensors.push(std::move(held)))
      return outOfMemory(alloc);
  }
  return success();
}

int64_t bytesOf(const Queue &queue) {
  int64_t bytes = 0;
  for (const PartType &part : queue.parts()) {
    int64_t count = mxrt_dtype_size(part.type);
    for (int32_t axis = 0; axis < part.rank; ++axis)
      count *= part.sizes[axis];
    bytes += count;
  }
  return bytes;
}

/// The time that the program spends in a call of a queue, on the lane of communication.
class Shown {
public:
  Shown(DataHost &host, const Invocation &call, const Queue &queue, const char *name)
      : location(call.location), queue(queue), name(name) {
    if (mxrt_profile *found = nullptr;
        Status(mxrt_runtime_profile(host.options.runtime, &found)).ok() && found->enabled()) {
      profile = found;
      begin = os::monotonicNs();
    }
  }
  ~Shown() {
    if (profile)
      profile->record(profile::Category::Copy, name, location,
                      int32_t(engine::communicationLane), begin, os::monotonicNs(),
                      bytesOf(queue));
  }
  Shown(const Shown &) = delete;
  Shown &operator=(const Shown &) = delete;

private:
  mxrt_profile *profile = nullptr;
  int64_t begin = 0;
  const mxrt_location location;
  const Queue &queue;
  const char *const name;
};

Status put(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Held *held = nullptr;
  MXRT_CHECK(heldOf(context, call, held));
  Shown shown(host, call, *held->queue, "queue put");
  Element element(held->alloc);
  MXRT_CHECK(takeParts(host, call, *held->queue, element));
  MXRT_CHECK(pack(host, *held->queue, call.location, element));
  return held->queue->put(waiterOf(context, *held), std::move(element));
}

Status takeElement(void *context, Invocation &call, Vec<TensorRef> &out) {
  DataHost &host = hostOf(context);
  Held *held = nullptr;
  MXRT_CHECK(heldOf(context, call, held));
  Shown shown(host, call, *held->queue, "queue get");
  Element element = MXRT_TRY(held->queue->get(waiterOf(context, *held)));
  if (element.parcel)
    return element.parcel->receive(host.options.runtime, call.location, out);
  out = std::move(element.tensors);
  return success();
}

Status giveTensorValue(Invocation &call, TensorRef &tensor, Value &out) {
  out = eager::makeTensorValue(call.vm.heap(), tensor.get());
  if (!out.isSet())
    return call.vm.heap().exhausted();
  tensor.release();
  return success();
}

Status get(void *context, Invocation &call) {
  Vec<TensorRef> tensors(hostOf(context).allocator());
  MXRT_CHECK(takeElement(context, call, tensors));
  host::AggregateObject *tuple =
      host::makeAggregate(call.vm.heap(), uint32_t(tensors.size()), nullptr);
  if (!tuple)
    return call.vm.heap().exhausted();
  Value made(Kind::Tuple, tuple);
  for (TensorRef &tensor : tensors) {
    Value part;
    if (Status status = giveTensorValue(call, tensor, part); status.failed()) {
      host::release(call.vm.heap(), made);
      return status;
    }
    ::new (tuple->items() + tuple->count++) Value(part);
  }
  call.result = made;
  return success();
}

Status getOnly(void *context, Invocation &call) {
  Vec<TensorRef> tensors(hostOf(context).allocator());
  MXRT_CHECK(takeElement(context, call, tensors));
  return giveTensorValue(call, tensors[0], call.result);
}

Status more(void *context, Invocation &call) {
  Held *held = nullptr;
  MXRT_CHECK(heldOf(context, call, held));
  call.result = Value::boolean(MXRT_TRY(held->queue->more(waiterOf(context, *held))));
  return success();
}

Status length(void *context, Invocation &call) {
  Held *held = nullptr;
  MXRT_CHECK(heldOf(context, call, held));
  call.result = Value::integer(held->queue->length());
  return success();
}
Status capacity(void *context, Invocation &call) {
  Held *held = nullptr;
  MXRT_CHECK(heldOf(context, call, held));
  call.result = Value::integer(held->queue->capacity());
  return success();
}

Status closeQueue(void *context, Invocation &call) {
  Held *held = nullptr;
  MXRT_CHECK(heldOf(context, call, held));
  held->queue->close();
  return success();
}
Status cancelQueue(void *context, Invocation &call) {
  Held *held = nullptr;
  MXRT_CHECK(heldOf(context, call, held));
  held->queue->cancel();
  return success();
}

} // namespace

static constexpr ParamData whole[] = {{Kind::Int, false}};
static constexpr ParamData wholes2[] = {{Kind::Int, false}, {Kind::Int, false}};
static constexpr ParamData wholes4[] = {
    {Kind::Int, false}, {Kind::Int, false}, {Kind::Int, false}, {Kind::Int, false}};
static constexpr ParamData queue[] = {{Kind::Handle, false}};
static constexpr ParamData queueValue[] = {{Kind::Handle, false}, {Kind::Any, false}};
static const NativeRow natives[] = {
    {"mx.queue.make", whole, true, Kind::Handle, make},
    {"mx.queue.shuffled", wholes4, true, Kind::Handle, makeShuffled},
    {"mx.queue.shared", wholes2, true, Kind::Handle, makeShared},
    {"mx.queue.put", queueValue, false, Kind::Unit, put},
    {"mx.queue.get", queue, false, Kind::Tuple, get},
    {"mx.queue.get.only", queue, false, Kind::Tensor, getOnly},
    {"mx.queue.more", queue, false, Kind::Bool, more},
    {"mx.queue.length", queue, false, Kind::Int, length},
    {"mx.queue.capacity", queue, false, Kind::Int, capacity},
    {"mx.queue.close", queue, false, Kind::Unit, closeQueue},
    {"mx.queue.cancel", queue, false, Kind::Unit, cancelQueue}};
const NativeGroup mxrt_natives_queues = {"mxrt_natives_queues", natives, std::size(natives)};

} // namespace mxrt::data
