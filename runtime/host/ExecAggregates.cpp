// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuples, arrays, structs: value semantics by copy on write.

#include "host/Machine.h"

namespace mxrt::host {

static std::span<const uint16_t> listOf(const Machine &m, uint16_t index) {
  return m.frame->fn->data->lists[index];
}

static bool makeFromList(Machine &m, Value *r, uint16_t to, Kind kind,
                         StructTypeObject *type, uint16_t listIndex) {
  std::span<const uint16_t> list = listOf(m, listIndex);
  if (!m.argumentsSet(r, list))
    return false;
  AggregateObject *aggregate =
      makeAggregate(m.heap, uint32_t(list.size()), type);
  if (!aggregate)
    return m.raiseMemory();
  for (uint16_t reg : list) {
    retain(r[reg]);
    aggregate->items()[aggregate->count++] = r[reg];
  }
  replace(m.heap, r[to], Value(kind, aggregate));
  return true;
}

bool execMakeTuple(Machine &m, Value *r, Instr instr) {
  return makeFromList(m, r, instr.a, Kind::Tuple, nullptr, instr.b);
}
bool execMakeArray(Machine &m, Value *r, Instr instr) {
  return makeFromList(m, r, instr.a, Kind::Array, nullptr, instr.b);
}
bool execMakeStruct(Machine &m, Value *r, Instr instr) {
  StructTypeObject *type = m.frame->fn->program->types[instr.b];
  return makeFromList(m, r, instr.a, Kind::Struct, type, instr.c);
}

/// Resolves an index into the aggregate; negative ones count from the end.
static bool position(Machine &m, const Value &aggregate, int64_t index,
                     uint32_t &out) {
  if (!aggregate.isSet())
    return m.raiseUnset();
  uint32_t count = aggregate.aggregate()->count;
  int64_t at = index < 0 ? index + int64_t(count) : index;
  if (at < 0 || at >= int64_t(count))
    return m.raise(error(m.heap.baseAllocator(), MXRT_INDEX, noLocation,
                         "index %lld is outside of %u parts",
                         static_cast<long long>(index), count));
  out = uint32_t(at);
  return true;
}

static bool getPart(Machine &m, Value *r, uint16_t to, uint16_t from,
                    int64_t index) {
  uint32_t at = 0;
  if (!position(m, r[from], index, at))
    return false;
  Value part = r[from].aggregate()->items()[at];
  if (!part.isSet())
    return m.raiseUnset();
  retain(part);
  return storeChecked(m, r[to], m.frame->fn->data->registers[to], part);
}

/// Moves the part out, so that it has one owner and can be changed in place; its slot in the
/// aggregate stays, unset, until it is put back.
static bool takePart(Machine &m, Value *r, uint16_t to, uint16_t from,
                     int64_t index) {
  uint32_t at = 0;
  if (!position(m, r[from], index, at))
    return false;
  Kind wanted = m.frame->fn->data->registers[to];
  Value part = r[from].aggregate()->items()[at];
  if (!part.isSet())
    return m.raiseUnset();
  if (!fits(part.kind, wanted))
    return m.raiseKind(wanted, part.kind);
  if (!makeUnique(m.heap, r[from]))
    return m.raiseMemory();
  // If a is b this releases the aggregate, after the part has left it.
  r[from].aggregate()->items()[at] = Value();
  replace(m.heap, r[to], part);
  return true;
}

static bool setPart(Machine &m, Value *r, uint16_t aggregate, int64_t index,
                    uint16_t from) {
  uint32_t at = 0;
  if (!position(m, r[aggregate], index, at))
    return false;
  if (!r[from].isSet())
    return m.raiseUnset();
  // Retained before the copy: a[i] = a must see a as shared.
  Value part = r[from];
  retain(part);
  if (!makeUnique(m.heap, r[aggregate])) {
    release(m.heap, part);
    return m.raiseMemory();
  }
  replace(m.heap, r[aggregate].aggregate()->items()[at], part);
  return true;
}

bool execGet(Machine &m, Value *r, Instr instr) {
  return getPart(m, r, instr.a, instr.b, instr.c);
}
bool execAt(Machine &m, Value *r, Instr instr) {
  return getPart(m, r, instr.a, instr.b, r[instr.c].i);
}
bool execTake(Machine &m, Value *r, Instr instr) {
  return takePart(m, r, instr.a, instr.b, instr.c);
}
bool execTakeAt(Machine &m, Value *r, Instr instr) {
  return takePart(m, r, instr.a, instr.b, r[instr.c].i);
}
bool execSet(Machine &m, Value *r, Instr instr) {
  return setPart(m, r, instr.a, instr.b, instr.c);
}
bool execSetAt(Machine &m, Value *r, Instr instr) {
  return setPart(m, r, instr.a, r[instr.b].i, instr.c);
}

bool execPush(Machine &m, Value *r, Instr instr) {
  if (!r[instr.a].isSet() || !r[instr.b].isSet())
    return m.raiseUnset();
  Value item = r[instr.b];
  retain(item);
  if (!makeUnique(m.heap, r[instr.a], 1)) {
    release(m.heap, item);
    return m.raiseMemory();
  }
  AggregateObject *array = r[instr.a].aggregate();
  array->items()[array->count++] = item;
  return true;
}

bool execLen(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  r[instr.a].i = r[instr.b].aggregate()->count;
  return true;
}

} // namespace mxrt::host
