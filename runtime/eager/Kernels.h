// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source and naming of the eager executor's kernels.
//
// A kernel is shape-generic. Its key is text:
//
//   op[(attribute=value,...)] operand,operand -> result
//
// An operand is `dtype:rank` and a layout: `c` dense in row-major order, `s` strided (strides in
// elements, may be 0 or negative). Rank 0 is one element and has no letter. `sizes` holds int64
// numbers, in this order:
//
//   add f32:2c,f32:2s -> f32:2c      any elementwise op: the sizes of the iteration
//                                    space (1 to 4), the same for all operands of
//                                    rank > 0 and the result; then the strides
//                                    of each `s` operand
//   sum f32:3s -> f32:2c             [A, R, B] -> [A, B], R is reduced: A, R, B;
//                                    then the strides of `s`
//   matmul f32:3s,f32:3c -> f32:3c   [G, M, K] @ [G, K, N]: G, M, N, K; then the
//                                    strides of each `s` operand
//   take f32:3s,i32:1c -> f32:3c     x[A, N, B] at index[I] -> [A, I, B]:
//                                    A, N, B, I; then the strides of `s`
//   conv f32:5s,f32:5c -> f32:5c     x[B, C, H1, H2, H3], w[O, C / G, W1, W2, W3]
//                                    -> [B, O, P1, P2, P3]: B, C / G, G, O / G,
//                                    then for each spatial axis its H, W, P,
//                                    stride, dilation, padding_low and lhs_dilation
//                                    as in mx.conv; then the strides of `s`. With
//                                    `conv(outputs=1)` O / G is 1 and not passed.
//                                    `conv(sizes=8/64/...)` is specialised for these
//                                    sizes, which are not passed, and has as many
//                                    spatial axes as its operands
//   fold f32:7c -> f32:4c            x[A, W1, W2, W3, P1, P2, P3] -> [A, H1, H2,
//                                    H3]: A, then for each spatial axis its W, P,
//                                    H, stride and dilation as mx.fold has them
//   iota -> i32:1c                   N
//
// Any size may be 0. The result is always dense.

#ifndef MXRT_EAGER_KERNELS_H
#define MXRT_EAGER_KERNELS_H

#include "base/Allocator.h"
#include "mxrt/kernel.h"

#include <string_view>

namespace mxrt::eager {

class KernelSource {
public:
  /// Finds or compiles the kernel of `key`; called on the VM's thread, once per key (the executor
  /// caches). The code must stay valid until the executor is destroyed. `key` is valid for the call
  /// only. A refused key is requested again at its next use.
  virtual Status find(std::string_view key, mxrt_compiled_kernel &out) = 0;
  /// Kernels are not compiled on demand: only those that carriedKeys() names exist.
  virtual bool isCarried() const { return false; }

protected:
  ~KernelSource() = default;
};

/// Cache of all kernels found so far, by key.
class KernelTable {
public:
  explicit KernelTable(const mxrt_allocator *alloc) : rows(alloc) {}
  KernelTable(const KernelTable &) = delete;
  KernelTable &operator=(const KernelTable &) = delete;
  ~KernelTable();

  Result<mxrt_compiled_kernel> find(KernelSource *source, std::string_view key);

private:
  struct Row {
    char *key; // owned, not terminated
    size_t size;
    uint64_t hash;
    mxrt_compiled_kernel kernel;
  };
  Vec<Row> rows; // linear search: once per operation and layout
};

} // namespace mxrt::eager

#endif // MXRT_EAGER_KERNELS_H
