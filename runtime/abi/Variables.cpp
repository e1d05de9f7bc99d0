// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding of engine variables to buffers, created on first use.

#include "abi/Variables.h"
#include "device/Device.h"
#include "mxrt/call.h"

namespace mxrt {

void EngineLink::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_allocator source = alloc;
  deleteObject(&source, this);
  releaseReserve(source.reserve);
}

void EngineLink::sever() {
  Lock lock(mutex);
  engine = nullptr;
}

void EngineLink::drop(mxrt_var variable) {
  Lock lock(mutex);
  if (engine)
    // Fails only for a variable that does not exist.
    mxrt_status_release(
        mxrt_engine_delete_var(engine, variable, nullptr, nullptr));
}

Result<EngineLink *> engineLink(mxrt_runtime *runtime) {
  void *link = MXRT_TRY(runtime->part(
      Part::Extra,
      [](mxrt_runtime *owner, void **object) -> Status {
        mxrt_engine *engine = nullptr;
        MXRT_CHECK(Status(mxrt_runtime_engine(owner, nullptr, &engine)));
        *object = newObject<EngineLink>(&owner->alloc, owner->alloc, engine);
        return *object ? success() : outOfMemory(&owner->alloc);
      },
      [](mxrt_runtime *, void *object) {
        // Ops still in flight may hold the last reference to a buffer. The engine deletes all
        // variables itself when it is destroyed next.
        static_cast<EngineLink *>(object)->sever();
        static_cast<EngineLink *>(object)->release();
      }));
  return static_cast<EngineLink *>(link);
}

namespace {

/// The object that a buffer stores as its variable.
struct Binding {
  EngineLink *link;
  mxrt_var variable;
};

void dropBinding(void *raw) {
  auto *binding = static_cast<Binding *>(raw);
  EngineLink *link = binding->link;
  link->drop(binding->variable);
  deleteObject(link->allocator(), binding);
  link->release();
}

} // namespace

Result<mxrt_var> variableOf(EngineLink *link, mxrt_buffer *buffer) {
  if (void *present = mxrt_buffer_variable(buffer))
    return static_cast<Binding *>(present)->variable;
  mxrt_var variable = 0;
  MXRT_CHECK(Status(mxrt_engine_new_var(link->target(), &variable)));
  auto *binding = newObject<Binding>(link->allocator(), Binding{link, variable});
  if (!binding) {
    link->drop(variable);
    return outOfMemory(link->allocator());
  }
  link->retain();
  void *winner = mxrt_buffer_set_variable(buffer, binding, dropBinding);
  if (winner != binding)
    dropBinding(binding); // another thread was first
  return static_cast<Binding *>(winner)->variable;
}

} // namespace mxrt

using namespace mxrt;

extern "C" mxrt_status mxrt_tensor_variable(mxrt_runtime *runtime,
                                            const mxrt_tensor *tensor,
                                            mxrt_var *out) {
  *out = 0;
  auto link = engineLink(runtime);
  if (link.failed())
    return link.takeStatus().release();
  auto variable = variableOf(*link, tensor->buffer);
  if (variable.failed())
    return variable.takeStatus().release();
  *out = *variable;
  return nullptr;
}

extern "C" mxrt_status mxrt_tensor_wait(mxrt_runtime *runtime,
                                        const mxrt_tensor *tensor,
                                        const mxrt_location *location) {
  // Without a variable nothing was ever issued on it.
  if (!mxrt_buffer_variable(tensor->buffer))
    return nullptr;
  mxrt_var variable;
  if (mxrt_status failure = mxrt_tensor_variable(runtime, tensor, &variable))
    return failure;
  auto link = engineLink(runtime);
  if (link.failed())
    return link.takeStatus().release();
  if (mxrt_status failure =
          mxrt_engine_wait((*link)->target(), variable, locationOf(location)))
    return failure;
  if (tensor->buffer->hostVisible)
    return nullptr;
  // The ops have enqueued; now their work.
  auto device = runtime->device(tensor->buffer->device, locationOf(location));
  if (device.failed())
    return device.takeStatus().release();
  return (*device)->wait(tensor->buffer->data, noLocation).noticedAt(locationOf(location)).release();
}
