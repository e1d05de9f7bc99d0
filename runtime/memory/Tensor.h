// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor object: a strided view of a reference-counted buffer.

#ifndef MXRT_MEMORY_TENSOR_H
#define MXRT_MEMORY_TENSOR_H

#include "memory/Buffer.h"
#include "memory/Shape.h"

/// Immutable after creation. 2 * rank numbers follow the object: the sizes, then the strides.
struct mxrt_tensor {
  std::atomic<int64_t> refs{1};
  mxrt_buffer *buffer = nullptr;
  int64_t offset = 0; // of element 0, in elements from buffer->data
  int64_t elements = 0;
  mxrt_dtype type = MXRT_F32;
  int32_t rank = 0;
  /// Counts in buffer->owners; false for destinations of a write.
  bool owner = true;

  int64_t *sizes() { return reinterpret_cast<int64_t *>(this + 1); }
  const int64_t *sizes() const {
    return reinterpret_cast<const int64_t *>(this + 1);
  }
  int64_t *strides() { return sizes() + rank; }
  const int64_t *strides() const { return sizes() + rank; }
  mxrt::ShapeRef shape() const { return {type, rank, sizes()}; }
  char *data() const {
    return static_cast<char *>(buffer->data) + offset * mxrt_dtype_size(type);
  }
};

namespace mxrt {

/// A tensor object of `rank` with uninitialised sizes and strides; takes ownership of the
/// caller's reference to `buffer` (also on failure).
Result<mxrt_tensor *> makeTensor(mxrt_buffer *buffer, mxrt_dtype type,
                                 int32_t rank, bool owner, mxrt_location location);

/// Owns one reference.
class TensorRef {
public:
  TensorRef() = default;
  explicit TensorRef(mxrt_tensor *adopted) : raw(adopted) {}
  TensorRef(TensorRef &&other) noexcept : raw(other.release()) {}
  TensorRef &operator=(TensorRef &&other) noexcept {
    if (this != &other) {
      mxrt_tensor_release(raw);
      raw = other.release();
    }
    return *this;
  }
  TensorRef(const TensorRef &) = delete;
  TensorRef &operator=(const TensorRef &) = delete;
  ~TensorRef() { mxrt_tensor_release(raw); }
  mxrt_tensor *get() const { return raw; }
  mxrt_tensor *operator->() const { return raw; }
  mxrt_tensor *release() { return std::exchange(raw, nullptr); }
  explicit operator bool() const { return raw != nullptr; }

private:
  mxrt_tensor *raw = nullptr;
};

/// Whether two indices of the view can refer to the same element (stride 0 and the like): such a
/// view cannot be written in place.
bool overlapsItself(int32_t rank, const int64_t *sizes, const int64_t *strides);

inline mxrt_location locationOf(const mxrt_location *location) {
  return location ? *location : noLocation;
}

} // namespace mxrt

#endif // MXRT_MEMORY_TENSOR_H
