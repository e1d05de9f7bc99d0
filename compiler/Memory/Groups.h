// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of slices that must share one memory region, since a kernel writes one over another
// (in-place reuse).
#pragma once
#include "Memory/Liveness.h"

namespace mx::memory {

struct Group {
  llvm::SmallVector<rt::SliceOp, 1> slices;
  llvm::SmallVector<Segment, 1> segments; ///< of all of them
  mlir::StringAttr device() const;
  int64_t bytes() const;
  Span span() const;
};

/// Every slice is in exactly one group; most groups have one slice.
class Groups {
public:
  Groups(rt::ProgramOp program, const Liveness &liveness);
  size_t size() const { return groups.size(); }
  const Group &operator[](size_t index) const { return groups[index]; }

private:
  std::vector<Group> groups;
};

/// Pairs of an input and an output that alias in a call's kernel, as indices into its reads and
/// writes.
llvm::SmallVector<std::pair<unsigned, unsigned>> takenOver(rt::CallOp call);

/// The union of both, sorted and merged.
llvm::SmallVector<Segment, 1> joined(llvm::ArrayRef<Segment> a, llvm::ArrayRef<Segment> b);

} // namespace mx::memory
