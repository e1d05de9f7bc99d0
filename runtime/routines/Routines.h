// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the routines share: memory for the time of a call, errors, and parallel
// loops with a lambda.

#ifndef MXRT_ROUTINES_ROUTINES_H
#define MXRT_ROUTINES_ROUTINES_H

#include "base/Allocator.h"
#include "base/CheckedMath.h"
#include "base/Halfs.h"
#include "mxrt/routine.h"

namespace mxrt {

/// Elements without constructors, for the time of a call.
template <typename T> class Scratch {
public:
  Scratch(const mxrt_context *context, int64_t count)
      : alloc(context->allocator), bytes(size_t(count) * sizeof(T)),
        items(static_cast<T *>(allocateBytes(alloc, bytes, MXRT_ALIGNMENT))) {}
  ~Scratch() { releaseBytes(alloc, items, bytes, MXRT_ALIGNMENT); }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  explicit operator bool() const { return items != nullptr; }
  T *data() const { return items; }
  T &operator[](int64_t i) const { return items[i]; }

private:
  const mxrt_allocator *alloc;
  size_t bytes;
  T *items;
};

inline mxrt_status noMemory(const mxrt_context *context) {
  return outOfMemory(context->allocator, context->place).release();
}
inline mxrt_status wrongType(const mxrt_context *context, const char *name, mxrt_dtype type) {
  return error(context->allocator, MXRT_DTYPE, context->place, "%s has no code for %s", name,
               mxrt_dtype_name(type))
      .release();
}

/// body(begin, end, context) for chunks of [0, count).
template <typename Body>
mxrt_status inChunks(const mxrt_context *context, int64_t count, int64_t grain, const Body &body) {
  return mxrt_parallel_for(
      context, count, grain,
      [](void *user, int64_t begin, int64_t end, int64_t, const mxrt_context *inner) {
        return (*static_cast<const Body *>(user))(begin, end, inner);
      },
      const_cast<Body *>(&body));
}

/// So many units that a chunk is worth a thread, at `work` elements a unit.
inline int64_t grainFor(int64_t work) {
  constexpr int64_t chunk = 1 << 15;
  return work >= chunk ? 1 : chunk / (work > 0 ? work : 1);
}

} // namespace mxrt

#endif // MXRT_ROUTINES_ROUTINES_H
