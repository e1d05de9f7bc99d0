// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers shared by the routines: pieces of their workspace, errors, and parallel loops with a
// lambda.

#ifndef MXRT_ROUTINES_ROUTINES_H
#define MXRT_ROUTINES_ROUTINES_H

#include "base/CheckedMath.h"
#include "base/Halfs.h"
#include "base/Status.h"
#include "mxrt/routine.h"

namespace mxrt {

/// The piece of a workspace that belongs to one chunk of the work.
class Piece {
public:
  Piece(const mxrt_workspace &layout, void *work, int64_t number)
      : layout(layout),
        begin(static_cast<char *>(work) + number * mxrt_workspace_piece_bytes(&layout)) {}
  template <typename T> T *part(int index) const {
    return reinterpret_cast<T *>(begin + mxrt_workspace_offset(&layout, index));
  }
  /// Capacity of a part in elements.
  template <typename T> int64_t count(int index) const {
    return layout.parts[index] / int64_t(sizeof(T));
  }

private:
  const mxrt_workspace &layout;
  char *begin;
};

inline mxrt_status wrongType(const mxrt_context *context, const char *name, mxrt_dtype type) {
  return error(context->allocator, MXRT_DTYPE, context->location, "%s has no code for %s", name,
               mxrt_dtype_name(type))
      .release();
}

/// Calls body(begin, end, number, context) for chunks of [0, count) in parallel.
template <typename Body>
mxrt_status inChunks(const mxrt_context *context, int64_t count, int64_t grain, const Body &body) {
  return mxrt_parallel_for(
      context, count, grain,
      [](void *user, int64_t begin, int64_t end, int64_t number, const mxrt_context *inner) {
        return (*static_cast<const Body *>(user))(begin, end, number, inner);
      },
      const_cast<Body *>(&body));
}

/// Calls body(begin, end, piece, context) for [0, count) in as many chunks as the workspace has
/// pieces.
template <typename Body>
mxrt_status inPieces(const mxrt_context *context, const mxrt_workspace &layout, void *work,
                     int64_t count, const Body &body) {
  if (layout.pieces == 0)
    return nullptr;
  return inChunks(context, count, ceilDiv(count, layout.pieces),
                  [&](int64_t begin, int64_t end, int64_t number, const mxrt_context *here) {
                    return body(begin, end, Piece(layout, work, number), here);
                  });
}

} // namespace mxrt

#endif // MXRT_ROUTINES_ROUTINES_H
