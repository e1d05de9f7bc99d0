// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a bound variant, through the engine or at once. Nothing here knows the VM or changes what
// calls share.
#include "Driver/GraphParts.h"
#include "mxrt/call.h"
#include "mxrt/guard.h"
#include "mxrt/memory.h"
#include <cstring>

namespace mx::driver {
namespace {

using Entry = mxrt_status (*)(const mxrt_context *, void *const *, const int64_t *, void *const *);

/// Leases the memory of one call and runs it.
mxrt_status runBuffers(const mxrt_context *context, const LoadedVariant &variant,
                       void *const *buffers, const int64_t *sizes) {
  const pipeline::Variant &code = variant.code;
  llvm::SmallVector<mxrt_arena, 2> arenas;
  llvm::SmallVector<void *, 2> bases;
  mxrt_status status = nullptr;
  for (auto &[device, bytes] : code.arenas) {
    mxrt_arena arena = {};
    int64_t guards = code.guarded ? 2 * MXRT_GUARD_BYTES : 0;
    if (bytes > 0)
      status = mxrt_arena_lease(context->runtime, &context->device, bytes + guards,
                                variant.name.c_str(), &context->place, &arena);
    if (status) {
      status = explain(context->runtime, variant.needs, status).release();
      break;
    }
    arenas.push_back(arena);
    bases.push_back(arena.base);
    if (code.guarded && arena.base) {
      bases.back() = static_cast<char *>(arena.base) + MXRT_GUARD_BYTES;
      mxrt_guard_begin(bases.back(), bytes);
    }
  }
  if (!status)
    status = reinterpret_cast<Entry>(variant.entry)(context, buffers, sizes, bases.data());
  for (mxrt_arena &arena : arenas)
    mxrt_arena_return(&arena);
  return status;
}

/// What the engine's op is given: a head, then the sizes, then two words a leaf: the index of its
/// tensor, or -1 and its number.
struct Flight {
  const LoadedVariant *variant;
  uint32_t leaves, sizes;
};

mxrt_status runFlight(const mxrt_context *context, const mxrt_tensor *const *tensors,
                      const void *arguments) {
  auto *flight = static_cast<const Flight *>(arguments);
  auto *sizes = reinterpret_cast<const int64_t *>(flight + 1);
  auto *slots = sizes + flight->sizes;
  llvm::SmallVector<void *, 32> buffers;
  for (size_t i = 0; i < flight->leaves; ++i) {
    int64_t tensor = slots[2 * i];
    buffers.push_back(tensor < 0 ? const_cast<int64_t *>(&slots[2 * i + 1])
                                 : mxrt_tensor_data(tensors[tensor]));
  }
  return runBuffers(context, *flight->variant, buffers.data(), sizes);
}

} // namespace

mxrt::Status issueGraph(mxrt_runtime *runtime, const BoundVariant &bound,
                        llvm::ArrayRef<GraphInput> inputs, llvm::ArrayRef<mxrt_tensor *> outputs,
                        const mxrt_place &place) {
  llvm::SmallVector<int64_t, 64> words(sizeof(Flight) / sizeof(int64_t));
  static_assert(sizeof(Flight) % sizeof(int64_t) == 0);
  Flight flight{bound.variant, static_cast<uint32_t>(inputs.size() + outputs.size()),
                static_cast<uint32_t>(bound.open.size())};
  std::memcpy(words.data(), &flight, sizeof flight);
  words.append(bound.open.begin(), bound.open.end());
  // An input that an output is written over is one of the writes.
  llvm::SmallVector<mxrt_tensor *, 16> reads;
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
  push.name = bound.variant->name.c_str();
  push.reads = reads.data();
  push.read_count = reads.size();
  push.writes = outputs.data();
  push.write_count = outputs.size();
  push.arguments = words.data();
  push.argument_bytes = words.size() * sizeof(int64_t);
  push.flags = bound.isOver ? 0 : MXRT_OP_OVERWRITES;
  push.device = bound.variant->device;
  push.place = place;
  return mxrt::Status(mxrt_call_push(runtime, &push));
}

mxrt_status runGraphNow(mxrt_runtime *runtime, const BoundVariant &bound, void *const *buffers,
                        const mxrt_place &place) {
  mxrt_context context;
  mxrt_status status = mxrt_runtime_context(runtime, &bound.variant->device, &place, &context);
  if (!status)
    status = mxrt_poll(&context);
  if (!status)
    status = runBuffers(&context, *bound.variant, buffers, bound.open.data());
  return mxrt_status_issued(status, place);
}

mxrt::Status makeGraphOutput(mxrt_runtime *runtime, const BoundVariant &bound, size_t index,
                             const mxrt_place &place, mxrt_tensor *&out) {
  const llvm::SmallVector<int64_t> &shape = bound.shapes[index];
  auto element = static_cast<mxrt_dtype>(bound.variant->code.outputs[index].element);
  mxrt_status status =
      mxrt_tensor_create(runtime, &bound.variant->device, element,
                         static_cast<int32_t>(shape.size()), shape.data(), &place, &out);
  return status ? explain(runtime, bound.variant->needs, status) : mxrt::Status();
}

} // namespace mx::driver
