// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reader of idx files (MNIST), and of the elements after any header.

#include "base/CheckedMath.h"
#include "io/Arrays.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mxrt::io {

Status measure(const Stream &stream, int64_t at, ArrayHead &head) {
  head.elements = 1;
  bool fits = true;
  // A size of 0 must not hide an overflow of the other sizes.
  int64_t product = 1;
  for (int32_t i = 0; i < head.rank; ++i) {
    fits = fits && checkedMul(product, std::max<int64_t>(head.sizes[i], 1), product);
    head.elements = head.sizes[i] == 0 ? 0 : head.elements;
  }
  int64_t bytes = 0;
  fits = fits && checkedMul(product, mxrt_dtype_size(head.type), bytes);
  if (!fits)
    return stream.malformed(at, "size", "the sizes of the array multiply to more than 63 bits");
  head.elements = head.elements == 0 ? 0 : product;
  head.bytes = head.elements * mxrt_dtype_size(head.type);
  return success();
}

Status readIdxHead(Stream &stream, ArrayHead &head) {
  unsigned char magic[4];
  MXRT_CHECK(stream.read(magic, 4, "the header of an idx file"));
  if (magic[0] != 0 || magic[1] != 0)
    return stream.malformed(0, "magic", "an idx file begins with two zeros, this with %02x %02x",
                            magic[0], magic[1]);
  switch (magic[2]) {
  case 0x08:
    head.type = MXRT_U8;
    break;
  case 0x09:
    head.type = MXRT_I8;
    break;
  case 0x0C:
    head.type = MXRT_I32;
    break;
  case 0x0D:
    head.type = MXRT_F32;
    break;
  case 0x0E:
    head.type = MXRT_F64;
    break;
  default:
    return stream.malformed(2, "type", "element type %02x is not one of 08 09 0c 0d 0e", magic[2]);
  }
  if (magic[3] > MXRT_MAX_RANK)
    return stream.malformed(3, "rank", "%d dimensions, at most %d can be read", magic[3],
                            MXRT_MAX_RANK);
  head.rank = magic[3];
  for (int32_t i = 0; i < head.rank; ++i) {
    unsigned char word[4];
    MXRT_CHECK(stream.read(word, 4, "a size of an idx file"));
    head.sizes[i] = int64_t(word[0]) << 24 | word[1] << 16 | word[2] << 8 | word[3];
  }
  head.swapped = mxrt_dtype_size(head.type) > 1 && std::endian::native == std::endian::little;
  MXRT_CHECK(measure(stream, 4, head));
  if (head.bytes > stream.atMost())
    return stream.malformed(
        stream.offset(), "size", "the header announces %lld bytes, at most %lld can follow",
        static_cast<long long>(head.bytes), static_cast<long long>(stream.atMost()));
  return success();
}

namespace {

void swapBytes(char *data, int64_t bytes, int64_t width) {
  for (int64_t at = 0; at < bytes; at += width)
    std::reverse(data + at, data + at + width);
}

} // namespace

Status readElements(Stream &stream, const ArrayHead &head, void *into) {
  int64_t at = stream.offset();
  MXRT_CHECK(stream.read(into, static_cast<size_t>(head.bytes), "the elements"));
  MXRT_CHECK(stream.expectEnd());
  if (head.swapped)
    swapBytes(static_cast<char *>(into), head.bytes, mxrt_dtype_size(head.type));
  if (head.type == MXRT_BOOL)
    for (int64_t i = 0; i < head.bytes; ++i)
      if (static_cast<unsigned char *>(into)[i] > 1)
        return stream.malformed(at + i, "bool", "a bool is 0 or 1, this is %d",
                                static_cast<unsigned char *>(into)[i]);
  return success();
}

} // namespace mxrt::io
