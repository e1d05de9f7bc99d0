// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient compression with error feedback: encode() adds the residual of
// earlier steps to the gradient, writes an approximation of the sum, and keeps
// the approximation error as the new residual.
//
//   v        = gradient + residual              (f32, rounded once)
//   residual = v - decode(encode(v))            (f32)
//
// sent + residual == v exactly for none, fp16 (up to its largest number), bf16 and
// top-k. For bit1, bit2 and what is beyond fp16 the residual is v - sent rounded
// once to f32. `none` has no residual, and the first step of all has v = gradient.
//
// Finite values beyond fp16 or bf16 are sent as the largest finite number; the
// residual has the rest. Infinities and NaN are sent as they are by none, fp16,
// bf16 and top-k, with a residual of 0; bit1 and bit2 cannot, and refuse (R0304).
//
// An encoding is a header with a checksum, and a payload for each part of the elements. Parts
// are keys: values that share a block, or of which the largest are sent, are of one key.
// Decoders take any bytes: they compare count, codec and length with what the caller expects
// before anything is written, and allocate nothing.
//
// Retransmissions resend the encoded bytes; encoding again would change the
// residual.

#ifndef MXRT_KVSTORE_CODEC_H
#define MXRT_KVSTORE_CODEC_H

#include "base/Allocator.h"

#include <span>

namespace mxrt::kvstore {

struct Codec {
  enum class Kind : uint8_t {
    None, // f32
    Fp16, // to the nearest, ties to even
    Bf16,
    Bit1, // a sign and two values a block: the means of what is >= 0 and of what is < 0
    Bit2, // -threshold, 0 or threshold
    TopK, // the largest magnitudes, as index and value
  };
  Kind kind = Kind::None;
  float threshold = 0.5f; // of Bit2; finite and above 0
  uint32_t block = 8192;  // of Bit1: elements that share two values; a multiple of 8
  double ratio = 0.01;    // of TopK: 0 < ratio <= 1, at least one element is kept

  /// R0002 for settings out of range.
  Status check(const mxrt_allocator *alloc) const;
  /// Elements that TopK keeps of so many.
  size_t kept(size_t count) const;
};
const char *codecName(Codec::Kind kind);

/// Elements `begin` to `begin + count` of parts that follow one another.
struct Section {
  std::span<const size_t> parts; // their lengths
  size_t begin = 0, count = 0;
};

inline constexpr size_t encodingHeaderBytes = 20;
/// Bytes of an encoding without its header. The codec is known to be right.
size_t payloadBytes(const Codec &codec, const Section &section);
/// Bytes of an encoding: they depend on codec and lengths alone.
/// R0103 for more than 2^32 - 1 elements.
Result<size_t> encodedBytes(const mxrt_allocator *alloc, const Codec &codec,
                            const Section &section);

/// Elements of a gradient that are encoded together, and of their residuals before and after,
/// which are zeros at first and may share memory. `none` needs no residuals.
struct Feedback {
  std::span<const float> gradient, residual;
  std::span<float> next;
};
/// `out` has encodedBytes(). After an error nothing has changed.
Status encode(const mxrt_allocator *alloc, const Codec &codec, const Section &section,
              const Feedback &values, std::span<char> out);

/// Writes all of `out`, or nothing: R0701 says what is wrong with the bytes.
Status decode(const mxrt_allocator *alloc, const Codec &codec, const Section &section,
              std::span<const char> bytes, std::span<float> out);

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_CODEC_H
