// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed bf16 GEMM with VDPBF16PS or AMX tiles. TiledMatmul.h handles all other CPUs and types;
// Bf16Kernel.h has the microkernel, and defines how a sum is computed.
//
// The columns of a panel are packed for up to `kDepth` steps of k: pairs of steps become 32-bit
// words, and the words of 32 columns are contiguous. Rows are read unpacked if whole blocks of them
// are contiguous in the order of k; others are packed too. Packed memory is padded with zeros,
// which do not change a sum. Sums are in scratch memory; the epilogue ops read them there.
//
//   for each block of rows and panel of columns (in parallel):
//     for each K-block:
//       pack the panel
//       for each 32 rows:  pack them if needed; their sums for all columns of the panel
//     the epilogue ops, and the outputs
#pragma once
#include "Lowering/kernels/Evaluate.h"

namespace mx::lowering {

/// An operand: the rows of the left one, or the columns of the right one.
struct Bf16Operand {
  /// Element of a row or column at a step of k; bf16.
  llvm::function_ref<Value(Value vector, Value k)> element;
  /// The steps of a row or column are contiguous in memory.
  bool isAlongK = false;
  /// Address of the contiguous elements of a row or column from a step on, and the distance in
  /// elements to the next; null: not contiguous everywhere.
  llvm::function_ref<Value(Value vector, Value k)> address;
  Value apart;
};

class Bf16Matmul {
public:
  /// The memory of sums: rows of f32, `pitch` apart.
  struct Sums {
    Buffer memory;
    int64_t pitch = 0;
  };

  Bf16Matmul(KernelEmitter &e, Evaluator &evaluator, const Bf16Operand &left,
             const Bf16Operand &right)
      : e(e), evaluator(evaluator), left(left), right(right) {}

  Value rows, columns, deep; ///< sizes
  /// Called with the batch index before the operands are read.
  llvm::function_ref<void(Indices)> enter;
  /// Epilogue of `count` x `width` sums, from row `row` of memory; they are those from i, j on.
  llvm::function_ref<void(const Sums &sums, Value row, Value i, Value count, Value j, Value width)>
      finish;

  /// Computes all matrices; `others` are the sizes of the batch indices that `enter` gets.
  void run(ArrayRef<Value> others);

private:
  KernelEmitter &e;
  const GemmInfo &gemm = e.target.bf16Gemm;
  Evaluator &evaluator;
  Bf16Operand left, right;
  int64_t height = 0; ///< rows that the microkernel computes
  int64_t blockRows = gemm.blockRows, panelColumns = gemm.panelColumns;
  int64_t depth = e.target.bf16Steps; ///< max steps of k of a packed panel
  Sums sums;
  Buffer packedRows, packedColumns, staged;

  void chooseBlocks(ArrayRef<Value> others);
  Buffer room(mlir::Type type, int64_t count);
  bool isShallow();
  int64_t rowPitch() const;
  void block(Value i, Value count, Value j, Value width);
  Value groupsOf(Value width);
  void packColumns(Value j, Value width, Value k0, Value steps);
  /// The address of rows for the microkernel, and the bytes from one to the next.
  std::pair<Value, Value> rowsAt(Value i, Value count, Value k0, Value steps);
  void packRows(Value i, Value count, Value k0, Value steps);
  void packSquare(const Bf16Operand &side, bool toRows, Value size, Value vector, Value vectors,
                  Value k, Value steps, const Buffer &to, Value at, int64_t apart);
  void fill(const Bf16Operand &side, Value size, Value vector, Value vectors, Value k, Value steps,
            const Buffer &to, Value at, int64_t pitch);
  Value interleave(ArrayRef<Value> vectors);
  SmallVector<Value> transpose(SmallVector<Value> rows);
};

} // namespace mx::lowering
