// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Liveness analysis: live ranges of each buffer, from a write to the last read before the next
// write, on every path through branches and loops.
#pragma once
#include "dialects/mxrt/Mxrt.h"
#include "llvm/ADT/BitVector.h"

namespace mx::memory {

/// A range of program points, both ends included. The op with number n reads at point 2n and writes
/// at point 2n + 1. An op with regions comes before the ops in them.
struct Segment {
  int64_t begin, end;
};

/// Returns whether two sorted lists have a point in common.
bool intersect(llvm::ArrayRef<Segment> a, llvm::ArrayRef<Segment> b);

/// A range of op numbers, both ends included; empty if `last < first`.
struct Span {
  int64_t first = 0, last = -1;
};

class Liveness {
public:
  explicit Liveness(rt::ProgramOp program);

  /// Slices in program order, then the buffers of the program's outputs, which are read at its end.
  llvm::ArrayRef<mlir::Value> buffers() const { return tracked; }
  std::optional<unsigned> indexOf(mlir::Value buffer) const;
  /// Sorted; adjacent segments are merged. A write that is never read is a single point.
  llvm::ArrayRef<Segment> segments(unsigned buffer) const { return lives[buffer]; }
  /// The ops during which the buffer needs its own memory: from the first segment to the last.
  Span span(unsigned buffer) const;

  /// All ops of the program by number.
  llvm::ArrayRef<mlir::Operation *> ops() const { return order; }
  int64_t number(mlir::Operation *op) const { return numbers.lookup(op); }

private:
  using Bits = llvm::BitVector;
  /// Of code that runs from start to end: upward-exposed reads, and definite writes.
  struct Summary {
    Bits read, written;
  };

  llvm::SmallVector<mlir::Value> tracked;
  llvm::DenseMap<mlir::Value, unsigned> indices;
  llvm::SmallVector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;
  llvm::DenseMap<mlir::Block *, Summary> summaries;
  std::vector<llvm::SmallVector<Segment, 1>> lives;
  std::vector<int64_t> ends; ///< of segments whose begin is still unknown

  void visit(mlir::Operation *op, llvm::function_ref<void(unsigned)> read,
             llvm::function_ref<void(unsigned)> write) const;
  int64_t lastInside(mlir::Operation *op) const;
  Summary summarise(mlir::Block &block);
  Summary summarise(mlir::Operation *op);
  Bits mark(mlir::Block &block, Bits live);
  Bits markRegions(mlir::Operation *op, const Bits &after);
  void cutBegins(rt::ProgramOp program);
};

} // namespace mx::memory
