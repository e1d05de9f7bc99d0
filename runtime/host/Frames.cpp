// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call frames: storage of registers, and passing of arguments.

#include "host/Machine.h"

#include <algorithm>
#include <cstring>

namespace mxrt::host {

static constexpr size_t segmentBytes = 64 * 1024;

/// Makes `segment` one with room for `bytes`. The segments behind it are free.
static bool nextSegment(Machine &m, size_t bytes) {
  Segment *next = m.segment ? m.segment->next : m.firstSegment;
  if (next && size_t(next->end() - next->begin()) < bytes) {
    // Too small for a function with very many registers: free it, and all segments behind it.
    (m.segment ? m.segment->next : m.firstSegment) = nullptr;
    while (next) {
      Segment *gone = next;
      next = next->next;
      m.heap.release(gone, gone->size);
    }
  }
  if (!next) {
    size_t size = std::max(segmentBytes, bytes + sizeof(Segment));
    next = static_cast<Segment *>(m.heap.allocate(size));
    if (!next)
      return false;
    next->previous = m.segment;
    next->next = nullptr;
    next->size = size;
    (m.segment ? m.segment->next : m.firstSegment) = next;
  }
  m.segment = next;
  m.top = next->begin();
  return true;
}

Frame *Machine::pushFrame(const Function &fn, ClosureObject *owner) {
  if (depth >= options.maxDepth) [[unlikely]] {
    raise(error(heap.baseAllocator(), MXRT_HOST_STACK, noLocation,
                "calls are nested deeper than %u", options.maxDepth));
    return nullptr;
  }
  size_t bytes = sizeof(Frame) + fn.registerCount * sizeof(Value);
  char *resumeTop = top;
  Segment *resumeSegment = segment;
  if (!segment || size_t(segment->end() - top) < bytes) [[unlikely]] {
    if (!nextSegment(*this, bytes)) {
      raiseMemory();
      return nullptr;
    }
  }
  Frame *fresh = reinterpret_cast<Frame *>(top);
  top += bytes;
  fresh->caller = frame;
  fresh->fn = &fn;
  fresh->pc = fn.code;
  fresh->owner = owner;
  fresh->hostArgs = nullptr;
  fresh->resumeTop = resumeTop;
  fresh->resumeSegment = resumeSegment;
  fresh->isEntry = false;
  std::memcpy(static_cast<void *>(fresh->registers()), fn.blank,
              fn.registerCount * sizeof(Value));
  if (owner)
    retain(owner);
  ++depth;
  return fresh;
}

void Machine::popFrame() {
  Frame *gone = frame;
  const Function &fn = *gone->fn;
  Value *registers = gone->registers();
  frame = gone->caller;
  if (fn.hasMut) {
    uint32_t captured = gone->owner ? gone->owner->count : 0;
    std::span<const ParamData> params = fn.data->params;
    const uint16_t *list = nullptr;
    if (!gone->isEntry)
      list = frame->fn->data->lists[frame->pc[-1].c].data();
    for (size_t i = captured; i < params.size(); ++i) {
      if (!params[i].isMut)
        continue;
      Value &slot = gone->isEntry
                        ? gone->hostArgs[i - captured]
                        : frame->registers()[list[i - captured] & ~mutBit];
      // The slot is unset, or inline of the same kind: nothing to release.
      slot = registers[i];
      registers[i] = Value();
    }
  }
  for (uint32_t i = 0; i < fn.countedSize; ++i)
    release(heap, registers[fn.counted[i]]);
  top = gone->resumeTop;
  segment = gone->resumeSegment;
  --depth;
  // Last: the function, and with it `fn`, may be destroyed here.
  if (ClosureObject *owner = gone->owner)
    release(heap, owner);
}

bool Machine::argumentsSet(const Value *registers,
                           std::span<const uint16_t> list) {
  for (uint16_t entry : list)
    if (!registers[entry & ~mutBit].isSet()) [[unlikely]]
      return raiseUnset();
  return true;
}

/// Moves a value out of a slot, which is unset afterwards unless inline.
static inline Value moveOut(Value &slot) {
  Value value = slot;
  if (!isInline(value.kind))
    slot = Value();
  return value;
}

void Machine::passArguments(Frame *callee, Value *from,
                            std::span<const uint16_t> list) {
  Value *to = callee->registers();
  if (callee->owner) {
    for (uint32_t i = 0; i < callee->owner->count; ++i) {
      *to = callee->owner->captured()[i];
      retain(*to++);
    }
  }
  for (uint16_t entry : list) {
    Value &source = from[entry & ~mutBit];
    if (entry & mutBit) {
      *to = moveOut(source);
    } else {
      *to = source;
      retain(*to);
    }
    ++to;
  }
}

Status Machine::enter(const Function &fn, ClosureObject *owner,
                      std::span<Value> args, Value &result) {
  result = Value();
  // Natives may fail with the pending error; a fresh call has none.
  clearPending();
  uint32_t captured = owner ? owner->count : 0;
  std::span<const ParamData> params = fn.data->params.subspan(captured);
  if (args.size() != params.size()) {
    raise(error(heap.baseAllocator(), MXRT_HOST_TYPE, noLocation,
                "%s takes %zu arguments, %zu were given", fn.name->text(),
                params.size(), args.size()));
    return pending.status.share();
  }
  for (size_t i = 0; i < args.size(); ++i)
    if (!args[i].isSet() || !fits(args[i].kind, params[i].kind)) {
      raise(error(heap.baseAllocator(), MXRT_HOST_TYPE, noLocation,
                  "argument %zu of %s is %s, not %s", i + 1, fn.name->text(),
                  kindName(params[i].kind), kindName(args[i].kind)));
      return pending.status.share();
    }
  if (nativeDepth >= options.maxNativeDepth) {
    raise(error(heap.baseAllocator(), MXRT_HOST_STACK, noLocation,
                "native functions call back deeper than %u",
                options.maxNativeDepth));
    return pending.status.share();
  }
  Frame *fresh = pushFrame(fn, owner);
  if (!fresh)
    return pending.status.share();
  fresh->isEntry = true;
  fresh->hostArgs = args.data();
  passArguments(fresh, nullptr, {});
  for (size_t i = 0; i < args.size(); ++i) {
    Value &to = fresh->registers()[captured + i];
    to = params[i].isMut ? moveOut(args[i]) : args[i];
    if (!params[i].isMut)
      retain(to);
  }
  frame = fresh;
  ++nativeDepth;
  bool finished = interpret(result);
  --nativeDepth;
  return finished ? success() : pending.status.share();
}

} // namespace mxrt::host
