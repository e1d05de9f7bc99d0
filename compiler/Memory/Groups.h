// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices that have to be one piece of memory, since a kernel writes one over another.
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

/// Every slice is in one group; most are alone.
class Groups {
public:
  Groups(rt::ProgramOp program, const Liveness &liveness);
  size_t size() const { return groups.size(); }
  const Group &operator[](size_t index) const { return groups[index]; }

private:
  std::vector<Group> groups;
};

/// The input and the output that a call's kernel makes one memory: positions in its reads and
/// writes.
llvm::SmallVector<std::pair<unsigned, unsigned>> takenOver(rt::CallOp call);

/// The points of both, sorted.
llvm::SmallVector<Segment, 1> joined(llvm::ArrayRef<Segment> a, llvm::ArrayRef<Segment> b);

} // namespace mx::memory
