// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte pair encoding (BPE). Tokens 0 to 255 are bytes. Token 256 + i is the i-th merge: the
// concatenation of two earlier tokens. Merges stay within pieces of the text: a run of letters (and
// bytes of other scripts), of digits or of other signs, each with the blank before it, and runs of
// blanks and newlines.

#ifndef MXRT_IO_BPE_H
#define MXRT_IO_BPE_H

#include "base/Allocator.h"

#include <span>
#include <string_view>

namespace mxrt::io {

inline constexpr int64_t byteTokens = 256;
/// A larger vocabulary would not fit into 31 bits, and is not useful.
inline constexpr int64_t maxTokens = int64_t(1) << 24;

struct Merge {
  int32_t left, right;
};

/// The piece that starts at `at`, which is advanced past it.
std::string_view nextPiece(std::string_view text, size_t &at);

/// Trains a vocabulary of `tokens` tokens, or fewer if no pair occurs twice any more. Each step
/// merges the most frequent pair. Ties go to the smaller left, then right token.
Status trainBpe(std::string_view text, int64_t tokens, Vec<Merge> &merges);

/// Encodes and decodes with validated merges.
class Bpe {
public:
  explicit Bpe(const mxrt_allocator *alloc) : alloc(alloc), table(alloc), merges(alloc) {}
  /// R0002 names a merge of tokens that are defined later, or a duplicate.
  Status set(std::span<const Merge> given);
  /// Appends tokens. In each piece, the applicable merge of the lowest rank comes first.
  Status encode(std::string_view text, Vec<int32_t> &tokens) const;
  /// Appends the bytes of tokens. R0002 for an unknown token, and for more than 2^31 bytes.
  Status decode(std::span<const int32_t> tokens, Vec<char> &text) const;

private:
  struct Slot {
    uint64_t pair = 0;
    int32_t rank = -1;
  };
  int32_t rankOf(int32_t left, int32_t right) const;
  Status encodePiece(std::string_view piece, Vec<int32_t> &tokens) const;
  const mxrt_allocator *alloc;
  Vec<Slot> table; // open addressing
  Vec<Merge> merges;
};

} // namespace mxrt::io

#endif // MXRT_IO_BPE_H
