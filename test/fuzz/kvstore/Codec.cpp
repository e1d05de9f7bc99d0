// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes are an encoding of the expected elements or are refused, and a
// refused one writes nothing. The first four bytes of an input choose codec,
// setting and count, and two keys divide the elements; in half of the inputs the checksum is made
// right, so that what is behind it is reached. What is accepted is encoded again: decoders and
// encoders agree on what an encoding is.

#include "kvstore/Codec.h"

#include "base/Crc32.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace mxrt;
using namespace mxrt::kvstore;

namespace {

/// Decoders allocate nothing but errors.
void *allocate(void *, size_t bytes, size_t align) {
  const mxrt_allocator *system = mxrt_system_allocator();
  if (bytes > 4096)
    std::abort();
  return system->allocate(system->user, bytes, align);
}
void release(void *, void *memory, size_t bytes, size_t align) {
  const mxrt_allocator *system = mxrt_system_allocator();
  system->release(system->user, memory, bytes, align);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4)
    return 0;
  mxrt_allocator alloc = {nullptr, allocate, release, nullptr};
  Codec codec;
  codec.kind = Codec::Kind(data[0] % 6);
  codec.block = 8 * (1 + data[1] % 16);
  codec.threshold = 0.125f * float(1 + data[1] % 16);
  codec.ratio = double(1 + data[1] % 16) / 16;
  size_t count = data[2] + 256 * (data[3] & 1);
  bool seal = data[3] & 2;
  std::vector<char> bytes(data + 4, data + size);
  if (seal && bytes.size() >= 20) {
    uint32_t sum = crc32(crc32(0, bytes.data(), 16), bytes.data() + 20, bytes.size() - 20);
    std::memcpy(bytes.data() + 16, &sum, 4);
  }
  size_t parts[] = {count / 3, count - count / 3};
  Section section = {parts, 0, count};
  if (data[3] & 4) { // cut off at both ends
    section.begin = count / 5;
    count = section.count = count / 2;
  }
  std::vector<float> out(count, 12345);
  Status status = decode(&alloc, codec, section, bytes, out);
  if (status.failed()) {
    if (status.code() != MXRT_KVSTORE)
      std::abort();
    for (float value : out)
      if (value != 12345)
        std::abort();
    return 0;
  }
  std::vector<float> residual(count);
  std::vector<char> again(bytes.size());
  Status encoding = encode(&alloc, codec, section, {out, residual, residual}, again);
  if (encoding.failed())
    std::abort();
  std::vector<float> second(count);
  if (decode(&alloc, codec, section, again, second).failed())
    std::abort();
  // Bit1 sends other means of what are means already only by their rounding, and
  // top-k may have sent zeros; the others send the same values again.
  bool same = codec.kind != Codec::Kind::Bit1;
  for (size_t i = 0; i < count && same; ++i)
    if (second[i] != out[i] && !(std::isnan(out[i]) && std::isnan(second[i])))
      std::abort();
  return 0;
}
