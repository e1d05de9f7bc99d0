// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source and naming of the eager executor's kernels.
//
// A kernel is shape-generic. Its key is text:
//
//   op[(attribute=value,...)] operand,operand -> result
//
// An operand is `dtype:rank` and a layout: `c` dense in row-major order, `s` strided. Rank 0 is one
// element and has no letter. mxrt/eager.def has the operands of each op and the sizes that a call
// passes.

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
