// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding of images in RecordIO files.

#ifndef MXRT_DATA_PICTURES_H
#define MXRT_DATA_PICTURES_H

#include "data/Dataset.h"
#include "io/Records.h"
#include "io/Resample.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// Decodes images of a RecordIO file. One thread at a time.
class PictureReader {
public:
  /// `file` is u8[n]. Without one, read() must not be called. `name` is for messages.
  PictureReader(const mxrt_allocator *alloc, const mxrt_tensor *file, std::string_view name)
      : alloc(alloc), input(alloc, name, file ? file->data() : nullptr,
                            file ? static_cast<size_t>(file->elements) : 0),
        payload(alloc), rgb(alloc), resampler(alloc) {}
  /// The centre crop of the image of the record at `offset`, as [3, height, width] in [0, 1], and
  /// its first label. Weak symbol: an executable without `data.images` has no such data set and
  /// needs no codecs.
  [[gnu::weak]] Status read(int64_t offset, int64_t height, int64_t width, float *picture, float &label);

private:
  const mxrt_allocator *alloc;
  io::MemoryInput input;
  Vec<char> payload;
  Vec<unsigned char> rgb;
  io::ByteResampler resampler;
};

} // namespace mxrt::data

#endif // MXRT_DATA_PICTURES_H
