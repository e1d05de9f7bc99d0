// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The leaves of a value (all parts that are not aggregates) with their paths: `net.fc1.w`,
// `pair.0`. Checkpoints and keys of a KVStore use the same traversal, so their names agree.

#ifndef MXRT_DATA_LEAVES_H
#define MXRT_DATA_LEAVES_H

#include "host/Heap.h"
#include "host/Value.h"

#include <cstdio>

namespace mxrt::data {

class Leaves {
public:
  explicit Leaves(const mxrt_allocator *alloc) : alloc(alloc), text(alloc) {}

  /// The path of the next value.
  Status begin(std::string_view name) {
    text.clear();
    return append(name);
  }
  std::string_view path() const { return {text.data(), text.size()}; }
  /// The path of a part, up to leave().
  Status enter(std::string_view name) { return text.push('.') ? append(name) : outOfMemory(alloc); }
  /// Back to a path of this length.
  void leave(size_t length) {
    while (text.size() > length)
      text.pop();
  }

  /// Calls each(leaf), in order.
  template <typename Each>
  Status visit(const host::Value &value, const Each &each, unsigned nesting = 0) {
    if (!host::isAggregate(value.kind))
      return each(value);
    MXRT_CHECK(checkNesting(nesting));
    for (uint32_t i = 0; i < value.aggregate()->count; ++i) {
      size_t before = text.size();
      MXRT_CHECK(enterPart(value, i));
      MXRT_CHECK(visit(value.aggregate()->items()[i], each, nesting + 1));
      leave(before);
    }
    return success();
  }

  /// A value of the structure of `old`: make(leaf, out) makes each leaf. On an error `out` is
  /// unset.
  template <typename Make>
  Status rebuild(host::Heap &heap, const host::Value &old, const Make &make, host::Value &out,
                 unsigned nesting = 0) {
    Status status;
    if (!host::isAggregate(old.kind)) {
      status = make(old, out);
    } else {
      MXRT_CHECK(checkNesting(nesting));
      host::AggregateObject *from = old.aggregate();
      host::AggregateObject *made = host::makeAggregate(heap, from->count, from->type);
      if (!made)
        return heap.exhausted();
      out = host::Value(old.kind, made);
      for (uint32_t i = 0; i < from->count && status.ok(); ++i) {
        size_t before = text.size();
        host::Value part;
        status = enterPart(old, i);
        if (status.ok())
          status = rebuild(heap, from->items()[i], make, part, nesting + 1);
        if (status.ok())
          ::new (made->items() + made->count++) host::Value(part);
        leave(before);
      }
    }
    if (status.failed())
      host::release(heap, out);
    return status;
  }

private:
  /// Maximum nesting depth of values, the same as for printing.
  static constexpr unsigned maxNesting = 200;

  Status checkNesting(unsigned nesting) const {
    if (nesting < maxNesting)
      return success();
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "values are nested deeper than %u",
                 maxNesting);
  }
  Status append(std::string_view part) {
    for (char each : part)
      if (!text.push(each))
        return outOfMemory(alloc);
    return success();
  }
  /// `.name` of a field, `.3` of an unnamed part.
  Status enterPart(const host::Value &value, uint32_t i) {
    if (host::StructTypeObject *type = value.aggregate()->type)
      return enter(type->fields()[i]->view());
    char number[16];
    return enter({number, size_t(std::snprintf(number, sizeof number, "%u", i))});
  }

  const mxrt_allocator *alloc;
  Vec<char> text;
};

} // namespace mxrt::data

#endif // MXRT_DATA_LEAVES_H
