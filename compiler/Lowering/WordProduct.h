// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 on CPUs that have instructions for them. TileProduct.h is the way for all other
// CPUs and types; WordKernel.h has the innermost part, and says how a sum is computed.
//
// The columns of a panel are copied for up to `kDepth` steps of k: pairs of steps become words, and
// the words of 32 columns lie together. Rows are read where they are if whole blocks of them lie in
// memory in the order of k; others are copied too. Copies are filled up with zeros, which add
// nothing. Sums are in memory of our own; the ops on them read them there.
//
//   for each block of rows and panel of columns (shared among threads):
//     for each stretch of k:
//       copy the panel
//       for each 32 rows:  copy them, if need be; their sums for all columns of the panel
//     the ops on the result, and the outputs
#pragma once
#include "Lowering/Evaluate.h"

namespace mx::lowering {

/// The rows on the left, or the columns on the right.
struct WordSide {
  /// Of a line (row or column) at a step of k; bf16.
  llvm::function_ref<Value(Value line, Value k)> element;
  /// What lies together in memory are steps of a line, not lines at a step.
  bool isAlongK = false;
  /// Where the elements of a line lie from a step on, one behind the other, and how many elements
  /// further the next line begins; null: not everywhere.
  llvm::function_ref<Value(Value line, Value k)> address;
  Value apart;
};

class WordProduct {
public:
  /// Where sums are: rows of f32, `pitch` apart.
  struct Sums {
    Buffer memory;
    int64_t pitch = 0;
  };

  WordProduct(KernelEmitter &e, Evaluator &evaluator, const WordSide &left, const WordSide &right)
      : e(e), evaluator(evaluator), left(left), right(right) {}

  Value rows, columns, deep; ///< sizes
  /// Called before the sides are read, with the place among all products.
  llvm::function_ref<void(Indices)> enter;
  /// The ops on `count` x `width` sums, from row `row` of memory; they are those from i, j on.
  llvm::function_ref<void(const Sums &sums, Value row, Value i, Value count, Value j, Value width)>
      finish;

  /// All products; `others` are the sizes of the places that `enter` gets.
  void run(ArrayRef<Value> others);

private:
  static constexpr int64_t kDepth = 512, kBlockRows = 256, kPanel = 256;
  KernelEmitter &e;
  Evaluator &evaluator;
  WordSide left, right;
  int64_t height = 0; ///< rows that the innermost part computes
  int64_t blockRows = kBlockRows, panelColumns = kPanel;
  int64_t depth = kDepth; ///< steps of k that a copy has room for
  Sums sums;
  Buffer copiedRows, copiedColumns, staged;

  void chooseBlocks(ArrayRef<Value> others);
  Buffer room(mlir::Type type, int64_t count);
  bool isShallow();
  int64_t rowPitch() const;
  void block(Value i, Value count, Value j, Value width);
  Value groupsOf(Value width);
  void copyColumns(Value j, Value width, Value k0, Value steps);
  /// The address of rows for the innermost part, and the bytes from one to the next.
  std::pair<Value, Value> rowsAt(Value i, Value count, Value k0, Value steps);
  void copyRows(Value i, Value count, Value k0, Value steps);
  void copySquare(const WordSide &side, bool toRows, Value size, Value line, Value lines, Value k,
                  Value steps, const Buffer &to, Value at, int64_t apart);
  void fill(const WordSide &side, Value size, Value line, Value lines, Value k, Value steps,
            const Buffer &to, Value at, int64_t pitch);
  Value interleave(ArrayRef<Value> lines);
  SmallVector<Value> transpose(SmallVector<Value> rows);
};

} // namespace mx::lowering
