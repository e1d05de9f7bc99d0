// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All limits of the front end on its input. A program past a limit gets a diagnostic that names the
// limit. It never exhausts memory, time or the stack.
#pragma once
#include <cstdint>

namespace mx::limits {

inline constexpr uint64_t kMaxSourceBytes = 64ull << 20;
inline constexpr uint64_t kMaxTokens = 16ull << 20;
/// Nesting depth of brackets, blocks and prefix operators.
inline constexpr int kMaxNesting = 256;
/// Height of a syntax tree. Chains (`a + b + …`, `x.f().g()`) nest to the left without brackets, so
/// they are counted here and not by kMaxNesting.
inline constexpr int kMaxTreeHeight = 640;
inline constexpr int kMaxRank = 16;
inline constexpr int kMaxParams = 255;
inline constexpr int kMaxTupleElements = 1024;
/// Terms and degree of one size expression in normal form.
inline constexpr int kMaxDimTerms = 64;
inline constexpr int kMaxDimDegree = 16;
inline constexpr int kMaxDimAtomDepth = 16;
/// Symbols in the printed form of one size expression. Floor divisions share subexpressions, so
/// without this limit a short program could build a size whose text is exponentially long.
inline constexpr int kMaxDimLeaves = 1024;
/// Types print at most this many characters; nested tuples can grow without bound.
inline constexpr int kMaxPrintedType = 400;
/// Errors reported in one run before the checker stops.
inline constexpr int kMaxErrors = 100;
/// Nesting depth of instantiated generic types (`M[M[M[…]]]`).
inline constexpr int kMaxTypeDepth = 64;
/// Parts of a value, nested parts included. Code is generated for each.
inline constexpr uint32_t kMaxParts = 1 << 16;
/// Stack that the checker may use before it follows one definition into another (`f` calls `g`,
/// which calls `h`, …). Far below the stack of a thread: one deep expression must still fit above
/// it.
inline constexpr int64_t kMaxCheckStackBytes = 1 << 20;
/// Tensor elements of one list literal.
inline constexpr int64_t kMaxLiteralElements = 1 << 20;

} // namespace mx::limits
