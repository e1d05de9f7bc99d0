// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation, copying and destruction of reference-counted objects.

#include "host/Program.h"
#include "host/Value.h"

#include <algorithm>
#include <cstring>

namespace mxrt::host {

template <typename T> static T *make(Heap &heap, ObjectTag tag, size_t extra) {
  void *memory = heap.allocate(sizeof(T) + extra);
  if (!memory)
    return nullptr;
  T *object = ::new (memory) T();
  object->refs = 1;
  object->tag = tag;
  return object;
}

StrObject *makeStrRoom(Heap &heap, size_t size) {
  if (size > maxStrBytes)
    return nullptr;
  auto *str = make<StrObject>(heap, ObjectTag::Str, size + 1);
  if (!str)
    return nullptr;
  str->size = size;
  str->text()[size] = 0;
  return str;
}

StrObject *makeStr(Heap &heap, std::string_view text) {
  StrObject *str = makeStrRoom(heap, text.size());
  if (str && !text.empty())
    std::memcpy(str->text(), text.data(), text.size());
  return str;
}

StructTypeObject *makeStructType(Heap &heap, StrObject *name,
                                 std::span<StrObject *const> fields) {
  auto *type = make<StructTypeObject>(heap, ObjectTag::StructType,
                                      fields.size() * sizeof(StrObject *));
  if (!type)
    return nullptr;
  retain(name);
  type->name = name;
  type->fieldCount = uint32_t(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    retain(fields[i]);
    type->fields()[i] = fields[i];
  }
  return type;
}

AggregateObject *makeAggregate(Heap &heap, uint32_t capacity,
                               StructTypeObject *type) {
  if (capacity > maxItems)
    return nullptr;
  auto *aggregate = make<AggregateObject>(heap, ObjectTag::Aggregate,
                                          size_t(capacity) * sizeof(Value));
  if (!aggregate)
    return nullptr;
  aggregate->count = 0;
  aggregate->capacity = capacity;
  aggregate->type = type;
  if (type)
    retain(type);
  return aggregate;
}

ClosureObject *makeClosure(Heap &heap, Program *program, uint32_t function,
                           uint32_t count) {
  auto *closure = make<ClosureObject>(heap, ObjectTag::Closure,
                                      size_t(count) * sizeof(Value));
  if (!closure)
    return nullptr;
  retain(program);
  closure->program = program;
  closure->function = function;
  closure->count = count;
  for (uint32_t i = 0; i < count; ++i)
    closure->captured()[i] = Value();
  return closure;
}

ForeignObject *makeForeign(Heap &heap, const ForeignType *type,
                           void *payload) {
  auto *foreign = make<ForeignObject>(heap, ObjectTag::Foreign, 0);
  if (!foreign)
    return nullptr;
  foreign->type = type;
  foreign->payload = payload;
  return foreign;
}

ErrorObject *makeError(Heap &heap, Status status,
                       std::span<const Location> locations, uint32_t elided) {
  auto *error = make<ErrorObject>(heap, ObjectTag::Error,
                                  locations.size() * sizeof(Location));
  if (!error)
    return nullptr;
  error->status = status.release();
  error->count = uint32_t(locations.size());
  error->elided = elided;
  for (size_t i = 0; i < locations.size(); ++i) {
    error->locations()[i] = locations[i];
    if (locations[i].function)
      retain(locations[i].function);
    if (locations[i].file)
      retain(locations[i].file);
  }
  return error;
}

bool makeUnique(Heap &heap, Value &slot, uint32_t extra) {
  AggregateObject *old = slot.aggregate();
  if (extra > maxItems - old->count)
    return false;
  uint32_t needed = old->count + extra;
  if (old->refs == 1 && needed <= old->capacity)
    return true;
  // Growth by half keeps appending linear; a plain copy has no spare capacity.
  uint32_t room = needed;
  if (extra && needed > old->capacity)
    room = uint32_t(std::min<uint64_t>(maxItems, needed + needed / 2 + 4));
  AggregateObject *fresh = makeAggregate(heap, room, old->type);
  if (!fresh)
    return false;
  fresh->count = old->count;
  std::memcpy(static_cast<void *>(fresh->items()), old->items(),
              old->count * sizeof(Value));
  if (old->refs == 1) {
    old->count = 0; // its items were moved
  } else {
    for (const Value &item : fresh->view())
      retain(item);
  }
  slot.object = fresh;
  release(heap, old);
  return true;
}

/// Frees one object. Its parts go through release(), which only chains further dying objects while
/// destroy() drains.
static void finish(Heap &heap, Object *object) {
  auto free = [&](auto *typed, size_t extra) {
    heap.release(typed, sizeof(*typed) + extra);
  };
  switch (object->tag) {
  case ObjectTag::Str: {
    auto *str = static_cast<StrObject *>(object);
    return free(str, str->size + 1);
  }
  case ObjectTag::Aggregate: {
    auto *aggregate = static_cast<AggregateObject *>(object);
    for (Value &item : aggregate->view())
      release(heap, item);
    if (aggregate->type)
      release(heap, aggregate->type);
    return free(aggregate, size_t(aggregate->capacity) * sizeof(Value));
  }
  case ObjectTag::Closure: {
    auto *closure = static_cast<ClosureObject *>(object);
    for (uint32_t i = 0; i < closure->count; ++i)
      release(heap, closure->captured()[i]);
    release(heap, static_cast<Object *>(closure->program));
    return free(closure, size_t(closure->count) * sizeof(Value));
  }
  case ObjectTag::Foreign: {
    auto *foreign = static_cast<ForeignObject *>(object);
    if (foreign->type->destroy)
      foreign->type->destroy(foreign->payload);
    return free(foreign, 0);
  }
  case ObjectTag::Error: {
    auto *error = static_cast<ErrorObject *>(object);
    mxrt_status_release(error->status);
    for (uint32_t i = 0; i < error->count; ++i) {
      if (error->locations()[i].function)
        release(heap, error->locations()[i].function);
      if (error->locations()[i].file)
        release(heap, error->locations()[i].file);
    }
    return free(error, size_t(error->count) * sizeof(Location));
  }
  case ObjectTag::StructType: {
    auto *type = static_cast<StructTypeObject *>(object);
    release(heap, type->name);
    for (uint32_t i = 0; i < type->fieldCount; ++i)
      release(heap, type->fields()[i]);
    return free(type, type->fieldCount * sizeof(StrObject *));
  }
  case ObjectTag::Program:
    return destroyProgram(static_cast<Program *>(object));
  }
}

void Heap::destroy(Object *object) {
  object->next = dying;
  dying = object;
  if (draining)
    return;
  draining = true;
  while (dying) {
    Object *next = dying;
    dying = next->next;
    finish(*this, next);
  }
  draining = false;
}

Arena::~Arena() {
  while (blocks) {
    Block *block = blocks;
    blocks = block->next;
    heap.release(block, block->size);
  }
}

void *Arena::bytes(size_t count, size_t align) {
  size_t padding = (align - reinterpret_cast<uintptr_t>(cursor) % align) % align;
  if (!cursor || size_t(end - cursor) < padding ||
      size_t(end - cursor) - padding < count) {
    constexpr size_t header = (sizeof(Block) + 15) / 16 * 16;
    if (count > SIZE_MAX / 4)
      return nullptr;
    size_t size = header + std::max<size_t>(count, 4096 - header);
    auto *block = static_cast<Block *>(heap.allocate(size));
    if (!block)
      return nullptr;
    block->next = blocks;
    block->size = size;
    blocks = block;
    cursor = reinterpret_cast<char *>(block) + header;
    end = reinterpret_cast<char *>(block) + size;
    padding = 0;
  }
  void *result = cursor + padding;
  cursor += padding + count;
  return result;
}

} // namespace mxrt::host
