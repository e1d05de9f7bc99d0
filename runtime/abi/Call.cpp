// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel calls through the engine. A call in flight is one block of memory: the header, a copy of
// each tensor's description, the engine's variables, the arguments and the names. The copies
// refer to the buffers but own nothing, so reading a tensor does not make it shared.

#include "abi/DeviceWork.h"
#include "abi/Variables.h"
#include "mxrt/call.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace mxrt;

namespace {

/// The results that a kernel has reported complete. Helper threads of the kernel may announce
/// too.
struct Announcements {
  static constexpr uint32_t said = 1u << 31;
  size_t outputs;
  /// For each output: the number of its variable, and whether it was announced.
  std::atomic<uint32_t> *slots;
  /// For each variable: the number of outputs on its buffer that are not complete.
  std::atomic<uint32_t> *pending;
};

struct Flight {
  mxrt_runtime *runtime;
  mxrt_kernel run;
  size_t bytes; // of the whole block
  size_t tensorCount;
  const mxrt_tensor **tensors;
  mxrt_var *variables; // capacity for one per tensor
  const void *arguments;
  const char *name;
  mxrt_device device;
  mxrt_location location;
  uint32_t holdsThread; // the lane's workers count in the thread budget
  Access *accesses; // one per tensor; null: the kernel does not enqueue work
  mxrt_engine *engine; // of a call that enqueues
  Announcements *announcements; // null: the kernel announces nothing
};

constexpr size_t blockAlign = 16;

size_t aligned(size_t bytes) {
  return (bytes + blockAlign - 1) & ~(blockAlign - 1);
}

size_t describedBytes(const mxrt_tensor *tensor) {
  return aligned(sizeof(mxrt_tensor) +
                 2 * sizeof(int64_t) * static_cast<size_t>(tensor->rank));
}

/// Bump allocator over a block.
class Cutter {
public:
  explicit Cutter(void *start) : next(static_cast<char *>(start)) {}
  void *cut(size_t bytes) {
    void *piece = next;
    next += aligned(bytes);
    return piece;
  }
  const char *text(const char *source) {
    if (!source)
      return nullptr;
    size_t length = strlen(source) + 1;
    return static_cast<const char *>(memcpy(cut(length), source, length));
  }

private:
  char *next;
};

size_t textBytes(const char *text) {
  return text ? aligned(strlen(text) + 1) : 0;
}

const mxrt_tensor *describe(Cutter &cutter, const mxrt_tensor *tensor) {
  auto *copy = ::new (cutter.cut(describedBytes(tensor))) mxrt_tensor;
  copy->buffer = tensor->buffer;
  copy->buffer->retain();
  copy->offset = tensor->offset;
  copy->elements = tensor->elements;
  copy->type = tensor->type;
  copy->rank = tensor->rank;
  copy->owner = false;
  if (tensor->rank > 0)
    memcpy(copy->sizes(), tensor->sizes(),
           2 * sizeof(int64_t) * static_cast<size_t>(tensor->rank));
  return copy;
}

using Counter = std::atomic<uint32_t>;

Announcements *makeAnnouncements(Cutter &cutter, size_t outputs) {
  auto *made = ::new (cutter.cut(sizeof(Announcements))) Announcements{outputs, nullptr, nullptr};
  auto counters = [&] {
    auto *list = static_cast<Counter *>(cutter.cut(outputs * sizeof(Counter)));
    for (size_t i = 0; i < outputs; ++i)
      ::new (list + i) Counter(0);
    return list;
  };
  made->slots = counters();
  made->pending = counters();
  return made;
}

size_t announcementBytes(size_t outputs) {
  return aligned(sizeof(Announcements)) + 2 * aligned(outputs * sizeof(Counter));
}

Result<Flight *> makeFlight(mxrt_runtime *runtime, const mxrt_call &call,
                            const mxrt_call_options &options) {
  size_t count = call.read_count + call.write_count;
  size_t bytes = aligned(sizeof(Flight)) + aligned(count * sizeof(void *)) +
                 aligned(count * sizeof(mxrt_var)) +
                 aligned(call.argument_bytes) + textBytes(call.name) +
                 textBytes(call.location.file);
  if (options.announces)
    bytes += announcementBytes(call.write_count);
  if (options.enqueues)
    bytes += aligned(count * sizeof(Access));
  auto tensorAt = [&](size_t i) {
    return i < call.read_count ? call.reads[i] : call.writes[i - call.read_count];
  };
  for (size_t i = 0; i < count; ++i)
    bytes += describedBytes(tensorAt(i));
  void *block = allocateBytes(&runtime->alloc, bytes, blockAlign);
  if (!block)
    return outOfMemory(&runtime->alloc, call.location);
  Cutter cutter(block);
  auto *flight = ::new (cutter.cut(sizeof(Flight))) Flight{};
  flight->runtime = runtime;
  flight->run = call.run;
  flight->bytes = bytes;
  flight->tensorCount = count;
  flight->device = call.device;
  flight->location = call.location;
  flight->tensors =
      static_cast<const mxrt_tensor **>(cutter.cut(count * sizeof(void *)));
  for (size_t i = 0; i < count; ++i)
    flight->tensors[i] = describe(cutter, tensorAt(i));
  flight->variables =
      static_cast<mxrt_var *>(cutter.cut(count * sizeof(mxrt_var)));
  flight->arguments = cutter.cut(call.argument_bytes);
  if (call.argument_bytes > 0)
    memcpy(const_cast<void *>(flight->arguments), call.arguments,
           call.argument_bytes);
  flight->name = cutter.text(call.name);
  flight->location.file = cutter.text(call.location.file);
  flight->holdsThread = options.lane == MXRT_LANE_COMPUTE ? MXRT_CONTEXT_HOLDS_THREAD : 0;
  if (options.announces)
    flight->announcements = makeAnnouncements(cutter, call.write_count);
  if (options.enqueues) {
    flight->accesses = static_cast<Access *>(cutter.cut(count * sizeof(Access)));
    for (size_t i = 0; i < count; ++i)
      flight->accesses[i] = {flight->tensors[i]->buffer->data, i >= call.read_count};
  }
  return flight;
}

void dropFlight(void *payload) {
  auto *flight = static_cast<Flight *>(payload);
  mxrt_runtime *runtime = flight->runtime;
  for (size_t i = 0; i < flight->tensorCount; ++i)
    flight->tensors[i]->buffer->release();
  releaseBytes(&runtime->alloc, flight, flight->bytes, blockAlign);
}

mxrt_status runFlight(mxrt_op_context *, void *payload) {
  auto *flight = static_cast<Flight *>(payload);
  mxrt_context context =
      flight->runtime->context(flight->device, flight->location);
  context.holds_thread = flight->holdsThread;
  return flight->run(&context, flight->tensors, flight->arguments);
}

mxrt_status runEnqueuing(mxrt_op_context *, void *payload) {
  auto *flight = static_cast<Flight *>(payload);
  auto device = flight->runtime->device(flight->device, flight->location);
  if (device.failed())
    return device.takeStatus().release();
  auto body = [&] {
    mxrt_context context = flight->runtime->context(flight->device, flight->location);
    context.holds_thread = flight->holdsThread;
    return Status(flight->run(&context, flight->tensors, flight->arguments));
  };
  return runOnDevice(flight->engine, **device, {flight->accesses, flight->tensorCount},
                     flight->location, body)
      .release();
}

/// State of the `ready` callback of a running call.
struct Announcer {
  mxrt_op_context *op;
  Flight *flight;

  Status announce(int64_t output) const {
    Announcements &all = *flight->announcements;
    const mxrt_allocator *alloc = &flight->runtime->alloc;
    const char *name = flight->name ? flight->name : "?";
    if (output < 0 || static_cast<uint64_t>(output) >= all.outputs)
      return error(alloc, MXRT_ENGINE_USAGE, flight->location,
                   "call '%s' says that result %lld is complete, but has %zu", name,
                   static_cast<long long>(output), all.outputs);
    uint32_t slot =
        all.slots[output].fetch_or(Announcements::said, std::memory_order_relaxed);
    if (slot & Announcements::said)
      return error(alloc, MXRT_ENGINE_USAGE, flight->location,
                   "call '%s' says twice that result %lld is complete", name,
                   static_cast<long long>(output));
    // acq_rel: the releasing thread has seen what the others wrote to the buffer.
    if (all.pending[slot].fetch_sub(1, std::memory_order_acq_rel) > 1)
      return success();
    return Status(mxrt_op_release(op, flight->variables[slot]));
  }
};

mxrt_status runAnnouncing(mxrt_op_context *op, void *payload) {
  auto *flight = static_cast<Flight *>(payload);
  Announcer announcer = {op, flight};
  mxrt_context context =
      flight->runtime->context(flight->device, flight->location);
  context.holds_thread = flight->holdsThread | MXRT_CONTEXT_READY;
  context.ready = [](void *user, int64_t output) {
    return static_cast<const Announcer *>(user)->announce(output).release();
  };
  context.ready_user = &announcer;
  return flight->run(&context, flight->tensors, flight->arguments);
}

/// Variables, without duplicates and in order.
struct VariableList {
  mxrt_var *items;
  size_t count = 0;

  /// The variables of some tensors, without `others`.
  Status fill(EngineLink *link, mxrt_tensor *const *tensors, size_t given,
              const VariableList *others) {
    for (size_t i = 0; i < given; ++i)
      items[i] = MXRT_TRY(variableOf(link, tensors[i]->buffer));
    std::sort(items, items + given);
    mxrt_var *end = std::unique(items, items + given);
    if (others)
      end = std::remove_if(items, end, [&](mxrt_var each) {
        return std::binary_search(others->items, others->items + others->count,
                                  each);
      });
    count = static_cast<size_t>(end - items);
    return success();
  }
};

/// Finds the variable of every result. `writes` are those of the call.
Status bindAnnouncements(EngineLink *link, const mxrt_call &call,
                         const VariableList &writes, Announcements &all) {
  for (size_t i = 0; i < call.write_count; ++i) {
    mxrt_var variable = MXRT_TRY(variableOf(link, call.writes[i]->buffer));
    const mxrt_var *end = writes.items + writes.count;
    auto slot = static_cast<uint32_t>(
        std::lower_bound(static_cast<const mxrt_var *>(writes.items), end, variable) -
        writes.items);
    all.slots[i].store(slot, std::memory_order_relaxed);
    all.pending[slot].fetch_add(1, std::memory_order_relaxed);
  }
  return success();
}

/// Bytes of the results that this call is the first to write: a buffer that has a variable
/// exists already, so writing it in place takes no more memory.
uint64_t newBytes(const mxrt_call &call) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < call.write_count; ++i)
    if (!mxrt_buffer_variable(call.writes[i]->buffer))
      bytes += static_cast<uint64_t>(mxrt_tensor_bytes(call.writes[i]));
  return bytes;
}

Status checkCall(mxrt_runtime *runtime, const mxrt_call &call, const mxrt_call_options &options) {
  Device *device = MXRT_TRY(runtime->device(call.device, call.location));
  if (!device->hostVisible() && !options.enqueues)
    return error(&runtime->alloc, MXRT_UNSUPPORTED, call.location,
                 "`%s` computes on the host, which cannot access the memory of %s",
                 call.name ? call.name : "?", deviceText(call.device).text);
  if (options.enqueues && options.announces)
    return error(&runtime->alloc, MXRT_ENGINE_USAGE, call.location,
                 "call '%s' enqueues work and so cannot announce results",
                 call.name ? call.name : "?");
  if (!call.run)
    return error(&runtime->alloc, MXRT_INVALID_ARGUMENT, call.location,
                 "a call without a kernel");
  for (size_t i = 0; i < call.read_count + call.write_count; ++i) {
    const mxrt_tensor *tensor = i < call.read_count
                                    ? call.reads[i]
                                    : call.writes[i - call.read_count];
    mxrt_device where = tensor->buffer->device;
    if (where.kind != call.device.kind || where.index != call.device.index)
      return error(&runtime->alloc, MXRT_WRONG_DEVICE, call.location,
                   "%s is on %s, but the call is on %s",
                   shapeText(tensor->shape()).text, deviceText(where).text,
                   deviceText(call.device).text);
  }
  return success();
}

constexpr mxrt_call_options defaultOptions = {sizeof(mxrt_call_options), MXRT_LANE_COMPUTE, 0, 0};
constexpr mxrt_call_options enqueuing = {sizeof(mxrt_call_options), MXRT_LANE_COMPUTE, 0, 1};

Status pushCall(mxrt_runtime *runtime, const mxrt_call &call,
                const mxrt_call_options &options = defaultOptions) {
  MXRT_CHECK(checkCall(runtime, call, options));
  EngineLink *link = MXRT_TRY(engineLink(runtime));
  Flight *flight = MXRT_TRY(makeFlight(runtime, call, options));
  flight->engine = link->target();
  uint64_t bytes = newBytes(call);
  VariableList writes{flight->variables};
  VariableList reads{flight->variables + call.write_count};
  Status listed = writes.fill(link, call.writes, call.write_count, nullptr);
  if (listed.ok())
    listed = reads.fill(link, call.reads, call.read_count, &writes);
  if (listed.ok() && flight->announcements)
    listed = bindAnnouncements(link, call, writes, *flight->announcements);
  if (listed.failed()) {
    dropFlight(flight);
    return listed;
  }

  mxrt_op op = {};
  op.run = flight->announcements ? runAnnouncing : flight->accesses ? runEnqueuing : runFlight;
  op.payload = flight;
  op.drop = dropFlight;
  op.reads = reads.items;
  op.read_count = reads.count;
  op.writes = writes.items;
  op.write_count = writes.count;
  op.device = call.device;
  op.priority = call.priority;
  op.flags = call.flags | (flight->announcements ? uint32_t{MXRT_OP_RELEASES} : 0);
  op.lane = options.lane;
  op.name = flight->name;
  op.location = flight->location;
  op.bytes = bytes;
  Status pushed(mxrt_engine_push(link->target(), &op));
  if (pushed.failed())
    dropFlight(flight);
  return pushed;
}

mxrt_status copyKernel(const mxrt_context *context,
                       const mxrt_tensor *const *tensors, const void *) {
  if (tensors[1]->buffer->hostVisible)
    return mxrt_tensor_copy(context, tensors[0], tensors[1]);
  auto device = context->runtime->device(context->device, context->location);
  if (device.failed())
    return device.takeStatus().release();
  return copyOnDevice(**device, tensors[0], tensors[1], context->location).release();
}

} // namespace

extern "C" {

mxrt_status mxrt_call_push(mxrt_runtime *runtime, const mxrt_call *call) {
  return pushCall(runtime, *call).issuedAt(call->location).release();
}

mxrt_status mxrt_call_push_with(mxrt_runtime *runtime, const mxrt_call *call,
                                const mxrt_call_options *given) {
  mxrt_call_options options = defaultOptions;
  if (given) // an older caller has a shorter struct; other fields keep defaults
    memcpy(&options, given, std::min<size_t>(given->struct_size, sizeof(options)));
  return pushCall(runtime, *call, options).issuedAt(call->location).release();
}

mxrt_status mxrt_call_copy(mxrt_runtime *runtime, mxrt_tensor *from,
                           mxrt_tensor *to, const mxrt_location *location) {
  mxrt_call call = {};
  call.run = copyKernel;
  call.name = "copy";
  call.reads = &from;
  call.read_count = 1;
  call.writes = &to;
  call.write_count = 1;
  call.device = to->buffer->device;
  call.location = locationOf(location);
  return pushCall(runtime, call, to->buffer->hostVisible ? defaultOptions : enqueuing)
      .issuedAt(call.location)
      .release();
}

mxrt_status mxrt_call_prepare_write(mxrt_runtime *runtime, mxrt_tensor **tensor,
                                    const mxrt_location *location) {
  mxrt_tensor *old = nullptr;
  if (mxrt_status failure =
          mxrt_tensor_prepare_write(runtime, tensor, location, &old))
    return failure;
  if (!old)
    return nullptr;
  if (mxrt_status failure = mxrt_call_copy(runtime, old, *tensor, location)) {
    mxrt_tensor_release(*tensor);
    *tensor = old;
    return failure;
  }
  mxrt_tensor_release(old);
  return nullptr;
}

} // extern "C"
