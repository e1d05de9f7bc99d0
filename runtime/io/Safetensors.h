// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// safetensors files: the length of a header (u64, little-endian), a JSON header, then the elements
// of all tensors without gaps. The reader accepts what the reference implementation accepts.
//
// The writer also stores a checksum of all bytes in `__metadata__`, aligns the start of the
// elements to 64 bytes, and puts tensors whose size is a multiple of 64 bytes first, so that those
// are aligned too.

#ifndef MXRT_IO_SAFETENSORS_H
#define MXRT_IO_SAFETENSORS_H

#include "io/Input.h"
#include "mxrt/types.h"

namespace mxrt::io {

struct SafeTensor {
  std::string_view name; // owned by the index
  /// MXRT_DTYPE_COUNT for an element type of safetensors that mx does not support.
  mxrt_dtype type = MXRT_DTYPE_COUNT;
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK] = {};
  int64_t begin = 0; // offset in the file
  int64_t bytes = 0;
};

/// The tensors of a file, sorted by name.
class SafetensorsIndex {
public:
  explicit SafetensorsIndex(Input &input);
  /// Reads and validates the header. The elements are not read.
  Status read();
  /// Verifies the checksum, if the file has one. Reads the whole file.
  Status verify();
  const SafeTensor *find(std::string_view name) const;
  Status readTensor(const SafeTensor &tensor, void *into);

  Input &input;
  Vec<SafeTensor> tensors;

private:
  Vec<char> header;        // as in the file
  Vec<char> names;         // with decoded escapes
  int64_t checksumAt = -1; // offset of the eight digits in the header
};

/// A tensor to write: dense, in row-major order.
struct SafeEntry {
  std::string_view name; // UTF-8
  mxrt_dtype type;
  int32_t rank;
  const int64_t *sizes;
  const void *data;
  int64_t bytes;
};

/// Replaces the file `path` atomically: after a crash at any time there is the old file or the new
/// one. Sorts `entries`. R0601 reports a failure; the old file still exists then.
Status writeSafetensors(const mxrt_allocator *alloc, const char *path, Vec<SafeEntry> &entries);

} // namespace mxrt::io

#endif // MXRT_IO_SAFETENSORS_H
