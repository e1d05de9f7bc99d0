// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Validation and formatting of shapes. No allocation.

#ifndef MXRT_MEMORY_SHAPE_H
#define MXRT_MEMORY_SHAPE_H

#include "memory/Pool.h"

namespace mxrt {

struct ShapeRef {
  mxrt_dtype type;
  int32_t rank;
  const int64_t *sizes;
};

/// "f32[3, 4]", truncated with "..." if it does not fit. Returns the full length.
size_t formatShape(const ShapeRef &shape, char *buffer, size_t capacity);

struct ShapeText {
  char text[192];
};
inline ShapeText shapeText(const ShapeRef &shape) {
  ShapeText result;
  formatShape(shape, result.text, sizeof(result.text));
  return result;
}

/// Number of elements and bytes of a shape: R0002 for a type out of range, R0202 rank, R0201 a
/// negative size, R0103 when bytes do not fit in 63 bits. A size of 0 makes 0 elements only if
/// the others multiply without overflow: 0 times 2^63 is an error too.
Status measureShape(const mxrt_allocator *alloc, const ShapeRef &shape,
                    mxrt_location location, int64_t &elements, int64_t &bytes);

/// Row-major strides for a shape that measureShape has accepted.
void denseStrides(int32_t rank, const int64_t *sizes, int64_t *strides);

class ShapePurpose final : public Purpose {
public:
  explicit ShapePurpose(const ShapeRef &shape) : shape(shape) {}
  void describe(char *buffer, size_t capacity) const override {
    formatShape(shape, buffer, capacity);
  }

private:
  ShapeRef shape;
};

} // namespace mxrt

#endif // MXRT_MEMORY_SHAPE_H
