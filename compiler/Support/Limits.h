// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every limit the front end puts on its input, in one place. A program past a limit gets a
// diagnostic that names the limit; it never exhausts memory, time or the stack.
#pragma once
#include <cstdint>

namespace mx::limits {

inline constexpr uint64_t kMaxSourceBytes = 64ull << 20;
inline constexpr uint64_t kMaxTokens = 16ull << 20;
/// Brackets, blocks and prefix operators open at one place.
inline constexpr int kMaxNesting = 256;
/// Height of a syntax tree. Chains (`a + b + …`, `x.f().g()`) nest to the left without opening
/// anything, so they are counted here and not by kMaxNesting.
inline constexpr int kMaxTreeHeight = 640;
inline constexpr int kMaxRank = 16;
inline constexpr int kMaxParams = 255;
inline constexpr int kMaxTupleElements = 1024;
/// Terms and degree of one size expression in normal form.
inline constexpr int kMaxDimTerms = 64;
inline constexpr int kMaxDimDegree = 16;
inline constexpr int kMaxDimAtomDepth = 16;
/// Symbols of one size expression when it is written out. Floor divisions share their parts, so
/// without it a short program could build a size whose text is exponentially long.
inline constexpr int kMaxDimLeaves = 1024;
/// Types print at most this many characters; nested tuples can grow without bound.
inline constexpr int kMaxPrintedType = 400;
/// Errors reported in one run before the checker stops.
inline constexpr int kMaxErrors = 100;
/// Generic types may nest (`M[M[M[…]]]`) this deep when they are instantiated.
inline constexpr int kMaxTypeDepth = 64;
/// Stack the checker may use before it follows one definition into another (`f` calls `g`, which
/// calls `h`, …). Far below what a thread has: one deep expression must still fit above it.
inline constexpr int64_t kMaxCheckStackBytes = 1 << 20;
/// Tensor elements of one list literal.
inline constexpr int64_t kMaxLiteralElements = 1 << 20;

} // namespace mx::limits
