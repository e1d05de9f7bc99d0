// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host values and the reference-counted objects behind them.
//
// A value is 16 bytes: a number, or a pointer to a reference-counted object, with its kind. Objects
// are immutable while shared; a writer copies first (copy on write), so values never alias visibly
// and never form cycles: reference counting finds all garbage. Counts are not atomic. A VM and its
// values belong to one thread at a time; objects shared between threads (tensors) are behind a
// ForeignObject whose payload has a count of its own.

#ifndef MXRT_HOST_VALUE_H
#define MXRT_HOST_VALUE_H

#include "host/Bytecode.h"
#include "host/Heap.h"

#include <span>
#include <string_view>

namespace mxrt::host {

struct Program;

enum class ObjectTag : uint8_t {
  Str, Aggregate, Closure, Foreign, Error, StructType, Program
};

struct Object {
  union {
    uint64_t refs;
    Object *next; // once refs has reached 0 and destruction is pending
  };
  ObjectTag tag;
};

struct StrObject;
struct AggregateObject;
struct ClosureObject;
struct ForeignObject;
struct ErrorObject;

/// Copying a Value copies the pointer, not the reference: owners call retain() and release(). The
/// comments of each function state ownership.
struct Value {
  union {
    int64_t i;     // Int; Bool as 0 or 1; DType as mxrt_dtype
    double d;      // F64
    float f;       // F32
    Object *object; // reference-counted kinds
  };
  Kind kind;

  Value() : i(0), kind(Kind::Unset) {}
  Value(Kind kind, int64_t bits) : i(bits), kind(kind) {}
  Value(Kind kind, Object *object) : object(object), kind(kind) {}

  static Value unit() { return {Kind::Unit, int64_t(0)}; }
  static Value boolean(bool b) { return {Kind::Bool, int64_t(b)}; }
  static Value integer(int64_t i) { return {Kind::Int, i}; }
  static Value dtype(mxrt_dtype t) { return {Kind::DType, int64_t(t)}; }
  static Value f32(float f) {
    Value v(Kind::F32, int64_t(0));
    v.f = f;
    return v;
  }
  static Value f64(double d) {
    Value v(Kind::F64, int64_t(0));
    v.d = d;
    return v;
  }

  bool isSet() const { return kind != Kind::Unset; }
  StrObject *str() const { return reinterpret_cast<StrObject *>(object); }
  AggregateObject *aggregate() const {
    return reinterpret_cast<AggregateObject *>(object);
  }
  ClosureObject *closure() const {
    return reinterpret_cast<ClosureObject *>(object);
  }
  ForeignObject *foreign() const {
    return reinterpret_cast<ForeignObject *>(object);
  }
  ErrorObject *error() const { return reinterpret_cast<ErrorObject *>(object); }
};
static_assert(sizeof(Value) == 16);

inline void retain(Object *object) { ++object->refs; }
inline void release(Heap &heap, Object *object) {
  if (--object->refs == 0)
    heap.destroy(object);
}
inline void retain(const Value &value) {
  if (isCounted(value.kind))
    ++value.object->refs;
}
/// Releases `value` and leaves it unset.
inline void release(Heap &heap, Value &value) {
  if (isCounted(value.kind)) {
    Object *object = value.object;
    value = Value();
    release(heap, object);
  } else {
    value = Value();
  }
}
/// Takes over the reference of `with`.
inline void replace(Heap &heap, Value &slot, Value with) {
  Value old = slot;
  slot = with;
  release(heap, old);
}

struct StrObject : Object {
  size_t size; // bytes of UTF-8, without the terminator that follows
  char *text() { return reinterpret_cast<char *>(this + 1); }
  const char *text() const { return reinterpret_cast<const char *>(this + 1); }
  std::string_view view() const { return {text(), size}; }
};

/// Name and fields of a struct or model. Reference-counted, because values may outlive the program
/// that declared the type.
struct StructTypeObject : Object {
  StrObject *name;
  uint32_t fieldCount;
  StrObject **fields() { return reinterpret_cast<StrObject **>(this + 1); }
};

struct AggregateObject : Object {
  uint32_t count;
  uint32_t capacity;
  StructTypeObject *type; // only of Kind::Struct, else null
  Value *items() { return reinterpret_cast<Value *>(this + 1); }
  std::span<Value> view() { return {items(), count}; }
};
static_assert(sizeof(AggregateObject) % alignof(Value) == 0);

struct ClosureObject : Object {
  Program *program; // retained: a function outlives the input that defined it
  uint32_t function;
  uint32_t count;
  Value *captured() { return reinterpret_cast<Value *>(this + 1); }
};

/// The VM's interface to tensors and handles. Static, provided by the host.
struct ForeignType {
  const char *name;
  /// Releases the object's reference to the payload. May be null.
  void (*destroy)(void *payload);
};
struct ForeignObject : Object {
  const ForeignType *type;
  void *payload;
};

/// One entry of a traceback. Both strings are reference-counted; may be null.
struct Location {
  StrObject *function;
  StrObject *file;
  uint32_t line;   // from 1, 0 unknown
  uint32_t column;
};
struct ErrorObject : Object {
  mxrt_status status; // owned
  uint32_t count;     // number of locations, innermost first
  uint32_t elided;    // number of locations beyond those kept
  Location *locations() { return reinterpret_cast<Location *>(this + 1); }
};

// Constructors: nullptr if out of memory, else an object with one reference that the caller owns.

/// The text is copied.
StrObject *makeStr(Heap &heap, std::string_view text);
/// The caller fills text(), with UTF-8.
StrObject *makeStrRoom(Heap &heap, size_t size);
StructTypeObject *makeStructType(Heap &heap, StrObject *name,
                                 std::span<StrObject *const> fields);
/// An empty aggregate with room for `capacity` items. Retains `type`.
AggregateObject *makeAggregate(Heap &heap, uint32_t capacity,
                               StructTypeObject *type);
/// Captured values start unset. Retains `program`.
ClosureObject *makeClosure(Heap &heap, Program *program, uint32_t function,
                           uint32_t count);
/// Takes over the payload's reference; on failure the caller keeps it.
ForeignObject *makeForeign(Heap &heap, const ForeignType *type, void *payload);
/// Takes over `status`, also on failure. Retains the strings of `locations`.
ErrorObject *makeError(Heap &heap, Status status, std::span<const Location> locations,
                       uint32_t elided);

/// Makes `slot` (an aggregate) the only owner of its object (copy on write), with room for `extra`
/// more items. false if out of memory; then nothing is changed.
bool makeUnique(Heap &heap, Value &slot, uint32_t extra = 0);

/// Maximum bytes of a string and maximum items of an aggregate.
inline constexpr size_t maxStrBytes = size_t(1) << 31;
inline constexpr uint32_t maxItems = uint32_t(1) << 28;

} // namespace mxrt::host

#endif // MXRT_HOST_VALUE_H
