// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// safetensors files: the length of a header (u64, little endian), a header in
// JSON, then the elements of all tensors without gaps. What is accepted is what
// the reference implementation accepts.
//
// Files that we write also carry a checksum of all their bytes in
// `__metadata__`, begin their elements at a multiple of 64 bytes, and put
// tensors of a multiple of 64 bytes first, so that those are aligned too.

#ifndef MXRT_IO_SAFETENSORS_H
#define MXRT_IO_SAFETENSORS_H

#include "io/Input.h"
#include "mxrt/types.h"

namespace mxrt::io {

struct SafeTensor {
  std::string_view name; // in the index that holds it
  /// MXRT_DTYPE_COUNT for an element type of safetensors that mx has not.
  mxrt_dtype type = MXRT_DTYPE_COUNT;
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK] = {};
  int64_t begin = 0; // in the file
  int64_t bytes = 0;
};

/// What a file holds, sorted by name.
class SafetensorsIndex {
public:
  explicit SafetensorsIndex(Input &input);
  /// Reads and checks the header; the elements are not touched.
  Status read();
  /// That the checksum is right, if the file has one. Reads all of it.
  Status verify();
  const SafeTensor *find(std::string_view name) const;
  Status readTensor(const SafeTensor &tensor, void *into);

  Input &input;
  Vec<SafeTensor> tensors;

private:
  Vec<char> header;        // as in the file
  Vec<char> names;         // with their escapes undone
  int64_t checksumAt = -1; // of the eight digits, in the header
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

/// Replaces the file `path`: after a crash at any moment there is the old file
/// or the new one. Sorts `entries`. R0601 says what failed; the old file is
/// still there then.
Status writeSafetensors(const mxrt_allocator *alloc, const char *path, Vec<SafeEntry> &entries);

} // namespace mxrt::io

#endif // MXRT_IO_SAFETENSORS_H
