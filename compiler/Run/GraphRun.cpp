// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs bound graph code, asynchronously through the engine or synchronously. Independent of the VM;
// does not modify state that calls share.
#include "Run/GraphCalls.h"
#include "Support/CheckedMath.h"
#include "mxrt/call.h"
#include "mxrt/guard.h"
#include "mxrt/memory.h"
#include <cstring>
#include <memory_resource>

namespace mx::run {

int64_t valueOf(const Size &size, std::span<const int64_t> sizes) {
  if (size.count == 0)
    return size.value;
  std::vector<int64_t> stack;
  for (int64_t i = 0; i < size.count; ++i) {
    int64_t step = size.steps[2 * i], number = size.steps[2 * i + 1];
    if (step == Size::Constant || step == Size::OfCall) {
      stack.push_back(step == Size::Constant ? number : sizes[static_cast<size_t>(number)]);
      continue;
    }
    int64_t right = stack.back();
    stack.pop_back();
    int64_t &left = stack.back();
    // Sizes of existing tensors do not overflow: they were allocated.
    if (step == Size::Add)
      left = static_cast<int64_t>(static_cast<uint64_t>(left) + static_cast<uint64_t>(right));
    else if (step == Size::Multiply)
      left = static_cast<int64_t>(static_cast<uint64_t>(left) * static_cast<uint64_t>(right));
    else
      left = floorDivide(left, right);
  }
  return stack.back();
}

void bindCode(const Code &code, std::span<const int64_t> sizes, BoundCode &out) {
  out.code = &code;
  for (int64_t i = 0; i < code.openCount; ++i)
    out.open.push_back(valueOf(code.open[i], sizes));
  out.outputOf.assign(static_cast<size_t>(code.inputCount), -1);
  for (int64_t i = 0; i < code.outputCount; ++i) {
    const Output &output = code.outputs[i];
    std::vector<int64_t> &shape = out.shapes.emplace_back();
    for (int32_t axis = 0; axis < output.rank; ++axis)
      shape.push_back(valueOf(output.sizes[axis], sizes));
    if (output.over >= 0) {
      out.outputOf[static_cast<size_t>(output.over)] = i;
      out.isOver = true;
    }
  }
}

namespace {

/// Adds the memory needs of the graph, if known, to an out-of-memory error. Takes ownership of
/// `status`.
mxrt_status explain(mxrt_runtime *runtime, const char *needs, mxrt_status status) {
  mxrt_code code = mxrt_status_code(status);
  if (!needs || (code != MXRT_OUT_OF_MEMORY && code != MXRT_MEMORY_LIMIT))
    return status;
  // The first line says what happened; the graph's notes say which memory it was.
  std::string message = mxrt_status_message(status);
  std::string what = message.substr(0, message.find(": "));
  std::string rest = message.substr(std::min(message.size(), what.size() + 2));
  mxrt_status out =
      mxrt_status_make(mxrt_runtime_allocator(runtime), code, mxrt_status_location(status),
                       "%s\n%s\n%s", what.c_str(), rest.c_str(), needs);
  mxrt_status_release(status);
  return out;
}

/// Temporary lists of a call, on the stack unless they are long.
template <size_t Bytes> struct Room {
  std::byte bytes[Bytes];
  std::pmr::monotonic_buffer_resource memory{bytes, Bytes};
  template <typename T> std::pmr::vector<T> list(size_t capacity) {
    std::pmr::vector<T> made(&memory);
    made.reserve(capacity);
    return made;
  }
};

/// Arenas up to this size are kept for the next call: little memory is withheld from the pool.
constexpr int64_t kSpareBytes = 64 << 10;

/// Leases the arenas of one call and runs it. `spare`, if given, may supply the arena of an earlier
/// call and keeps it afterwards.
mxrt_status runBuffers(const mxrt_context *context, const Code &code, CallBytes *taken,
                       SpareArena *spare, void *const *buffers, const int64_t *sizes) {
  if (code.guarded || code.arenaCount != 1 || code.arenas[0] > kSpareBytes)
    spare = nullptr;
  Room<256> room;
  auto arenas = room.list<mxrt_arena>(static_cast<size_t>(code.arenaCount));
  auto bases = room.list<void *>(static_cast<size_t>(code.arenaCount));
  mxrt_status status = nullptr;
  for (int64_t bytes : std::span(code.arenas, static_cast<size_t>(code.arenaCount))) {
    mxrt_arena arena = {};
    int64_t guards = code.guarded ? 2 * MXRT_GUARD_BYTES : 0;
    if (bytes > 0 && !(spare && spare->take(arena)))
      status = mxrt_arena_lease(context->runtime, &context->device, bytes + guards, code.name,
                                &context->location, &arena);
    if (status) {
      status = explain(context->runtime, code.needs, status);
      break;
    }
    arenas.push_back(arena);
    bases.push_back(arena.base);
    if (code.guarded && arena.base) {
      bases.back() = static_cast<char *>(arena.base) + MXRT_GUARD_BYTES;
      mxrt_guard_begin(bases.back(), bytes);
    }
  }
  if (!status) {
    if (taken) {
      CountedContext counted(*context);
      status = code.entry(counted.get(), buffers, sizes, bases.data());
      int64_t leased = 0;
      for (const mxrt_arena &arena : arenas)
        leased += arena.bytes - (code.guarded && arena.base ? 2 * MXRT_GUARD_BYTES : 0);
      // The error message of a failed call is not part of the plan.
      taken->add(leased, status ? 0 : counted.peak());
    } else {
      status = code.entry(context, buffers, sizes, bases.data());
    }
  }
  for (mxrt_arena &arena : arenas)
    if (!(spare && arena.base && spare->keep(arena)))
      mxrt_arena_return(&arena);
  return status;
}

/// Payload of the engine op: a header, then the sizes, then two words per leaf: the index of its
/// tensor, or -1 and its number.
struct Flight {
  const Code *code;
  CallBytes *taken;
  uint32_t leaves, sizes;
};

mxrt_status runFlight(const mxrt_context *context, const mxrt_tensor *const *tensors,
                      const void *arguments) {
  auto *flight = static_cast<const Flight *>(arguments);
  auto *sizes = reinterpret_cast<const int64_t *>(flight + 1);
  auto *slots = sizes + flight->sizes;
  Room<512> room;
  auto buffers = room.list<void *>(flight->leaves);
  for (size_t i = 0; i < flight->leaves; ++i) {
    int64_t tensor = slots[2 * i];
    buffers.push_back(tensor < 0 ? const_cast<int64_t *>(&slots[2 * i + 1])
                                 : mxrt_tensor_data(tensors[tensor]));
  }
  return runBuffers(context, *flight->code, flight->taken, /*spare=*/nullptr, buffers.data(), sizes);
}

} // namespace

mxrt::Status issueGraph(mxrt_runtime *runtime, const BoundCode &bound,
                        std::span<const GraphInput> inputs, std::span<mxrt_tensor *const> outputs,
                        const mxrt_location &location) {
  constexpr size_t kHead = sizeof(Flight) / sizeof(int64_t);
  static_assert(sizeof(Flight) % sizeof(int64_t) == 0);
  Room<1024> room;
  auto words = room.list<int64_t>(kHead + bound.open.size() + 2 * (inputs.size() + outputs.size()));
  words.resize(kHead);
  Flight flight{bound.code, bound.taken, static_cast<uint32_t>(inputs.size() + outputs.size()),
                static_cast<uint32_t>(bound.open.size())};
  std::memcpy(words.data(), &flight, sizeof flight);
  words.insert(words.end(), bound.open.begin(), bound.open.end());
  // An input that an output overwrites counts as a write.
  auto reads = room.list<mxrt_tensor *>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].tensor && bound.outputOf[i] < 0)
      reads.push_back(inputs[i].tensor);
  int64_t nextRead = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].tensor)
      words.push_back(-1);
    else
      words.push_back(bound.outputOf[i] < 0
                          ? nextRead++
                          : static_cast<int64_t>(reads.size()) + bound.outputOf[i]);
    words.push_back(static_cast<int64_t>(inputs[i].number));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    words.push_back(static_cast<int64_t>(reads.size() + i));
    words.push_back(0);
  }
  mxrt_call push = {};
  push.run = runFlight;
  push.name = bound.code->name;
  push.reads = reads.data();
  push.read_count = reads.size();
  push.writes = outputs.data();
  push.write_count = outputs.size();
  push.arguments = words.data();
  push.argument_bytes = words.size() * sizeof(int64_t);
  push.flags = bound.isOver ? 0 : MXRT_OP_OVERWRITES;
  push.device = bound.code->device;
  push.location = location;
  if (!bound.code->announces)
    return mxrt::Status(mxrt_call_push(runtime, &push));
  mxrt_call_options options;
  mxrt_call_options_init(&options);
  options.announces = 1;
  return mxrt::Status(mxrt_call_push_with(runtime, &push, &options));
}

mxrt_status runGraphNow(mxrt_runtime *runtime, const BoundCode &bound, void *const *buffers,
                        const mxrt_location &location) {
  mxrt_context context;
  mxrt_status status = mxrt_runtime_context(runtime, &bound.code->device, &location, &context);
  if (!status)
    status = mxrt_poll(&context);
  if (!status)
    status =
        runBuffers(&context, *bound.code, bound.taken, bound.spare, buffers, bound.open.data());
  return mxrt_status_issued(status, location);
}

mxrt::Status makeGraphOutput(mxrt_runtime *runtime, const BoundCode &bound, size_t index,
                             const mxrt_location &location, mxrt_tensor *&out) {
  const std::vector<int64_t> &shape = bound.shapes[index];
  auto element = static_cast<mxrt_dtype>(bound.code->outputs[index].dtype);
  mxrt_status status =
      mxrt_tensor_create(runtime, &bound.code->device, element, static_cast<int32_t>(shape.size()),
                         shape.data(), &location, &out);
  return mxrt::Status(status ? explain(runtime, bound.code->needs, status) : nullptr);
}

} // namespace mx::run
