// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signatures of kernels, from mxrt/eager.def: the sizes of each as a structure, whose fields are in
// the order in which the kernel gets them, and what its key says of operands and result.
//
//   kernel.sizes(MatmulSizes{.G = …, .M = …, .N = …, .K = …});
//   key.write(signatures::Matmul, {{type, layout}, {type, layout}}, type);

#ifndef MXRT_EAGER_SIGNATURES_H
#define MXRT_EAGER_SIGNATURES_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxrt::eager {

inline constexpr int32_t maxInputs = 3;
/// Spatial axes of kernels for any sizes; missing ones are the first, of size 1.
inline constexpr int32_t kernelSpatial = 3;

#define MXRT_EAGER_KERNEL(form, op, operands, result, ...)                                         \
  struct form##Sizes {                                                                             \
    int64_t __VA_ARGS__;                                                                           \
  };
#define MXRT_EAGER_FIELDS(...) __VA_ARGS__
#define MXRT_EAGER_SPATIAL(form, op, operands, result, own, spatial)                               \
  struct form##Sizes {                                                                             \
    int64_t MXRT_EAGER_FIELDS own;                                                                 \
    struct Axis {                                                                                  \
      int64_t MXRT_EAGER_FIELDS spatial;                                                           \
    } axes[kernelSpatial];                                                                         \
  };
#define MXRT_EAGER_ELEMENTWISE(...)
#include "mxrt/eager.def"

struct Signature {
  const char *op = ""; ///< "": that of the operation
  int32_t operands = 0;
  int32_t ranks[maxInputs + 1] = {}; ///< of operands, then of the result
  int32_t spatial[maxInputs + 1] = {}; ///< of these axes, how many there are for each spatial axis
};

namespace detail {

/// Counts the axes `A I*G H#` of an operand or result.
constexpr void countAxes(std::string_view axes, int32_t &rank, int32_t &spatial) {
  bool inside = false;
  for (char c : axes) {
    rank += c != ' ' && !inside;
    inside = c != ' ';
    if (c == '#') {
      rank += kernelSpatial - 1;
      ++spatial;
    }
  }
}

constexpr Signature readSignature(const char *op, std::string_view operands,
                                  std::string_view result) {
  Signature out;
  out.op = op;
  for (size_t open; (open = operands.find('[')) != operands.npos; ++out.operands) {
    size_t close = operands.find(']');
    countAxes(operands.substr(open + 1, close - open - 1), out.ranks[out.operands],
              out.spatial[out.operands]);
    operands.remove_prefix(close + 1);
  }
  countAxes(result, out.ranks[out.operands], out.spatial[out.operands]);
  return out;
}

constexpr int32_t countNames(std::string_view names) {
  int32_t count = 1;
  for (char c : names)
    count += c == ',';
  return count;
}

/// Whether every size of an operand or result is among those that are passed.
constexpr bool passesAll(std::string_view axes, std::string_view passed) {
  size_t depth = axes.find('[') == axes.npos ? 1 : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    char c = axes[i];
    depth = c == '[' ? 1 : c == ']' ? 0 : depth;
    if (depth == 1 && c >= 'A' && c <= 'Z' && passed.find(c) == passed.npos)
      return false;
  }
  return true;
}

} // namespace detail

namespace signatures {
#define MXRT_EAGER_KERNEL(form, op, operands, result, ...)                                         \
  static_assert(detail::passesAll(operands, #__VA_ARGS__) &&                                       \
                detail::passesAll(result, #__VA_ARGS__));                                          \
  inline constexpr Signature form = detail::readSignature(op, operands, result);
#define MXRT_EAGER_SPATIAL(form, op, operands, result, own, spatial)                               \
  static_assert(detail::passesAll(operands, #own #spatial) &&                                      \
                detail::passesAll(result, #own #spatial));                                         \
  inline constexpr Signature form = detail::readSignature(op, operands, result);
#define MXRT_EAGER_ELEMENTWISE(...)
#include "mxrt/eager.def"
} // namespace signatures

#define MXRT_EAGER_KERNEL(...)
#define MXRT_EAGER_SPATIAL(...)
#define MXRT_EAGER_ELEMENTWISE(...)                                                                \
  inline constexpr int32_t maxKernelRank = detail::countNames(#__VA_ARGS__);
#include "mxrt/eager.def"

} // namespace mxrt::eager

#endif // MXRT_EAGER_SIGNATURES_H
