// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the elements of an exchange are encoded, and what the encodings left out.
//
// Each rank encodes each element once: its share of the elements that another rank sums, and the
// sum of those that it sums itself for all. A sum that passes on its way (ring, tree) counts as a
// share. What an encoding left out is added by the same rank to the same element in the next
// exchange, so nothing is lost: over all ranks, results and residuals add up to the gradients.

#ifndef MXRT_KVSTORE_ENCODING_H
#define MXRT_KVSTORE_ENCODING_H

#include "kvstore/Codec.h"

namespace mxrt::kvstore {

/// What a message has.
enum class Coding : uint8_t { Plain, Share, Result };

struct Encoding {
  Codec codec;                   // none: everything is plain
  std::span<const size_t> parts; // elements of the keys of a bucket

  bool isPlain() const { return codec.kind == Codec::Kind::None; }
  Section section(size_t begin, size_t count) const { return {parts, begin, count}; }
  /// With 2 bits a worker sends its share of a mean as 0 or ± threshold / members, so that all
  /// together reach the threshold, which is in units of the mean.
  Codec of(Coding coding, int members) const {
    Codec out = codec;
    if (coding == Coding::Share)
      out.threshold /= float(members);
    return out;
  }
};

/// The residuals of the elements of one bucket, at one rank: those of the last exchange that
/// succeeded, and those of the one that runs. An exchange that fails changes nothing.
class Residual {
public:
  explicit Residual(const mxrt_allocator *alloc) : held(alloc), written(alloc) {}
  /// Zeros at first.
  [[nodiscard]] bool resize(size_t count) {
    return (held.size() == count || held.resize(count)) &&
           (written.size() == count || written.resize(count));
  }
  void commit() { std::swap(held, written); }

  Vec<float> held, written;
};

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_ENCODING_H
