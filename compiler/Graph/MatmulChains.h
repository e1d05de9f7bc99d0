// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of TileChains: finds the op chains to tile (matmul, row-wise ops, matmul).
//
// A chain lies between matmuls that produce large matrices and matmuls that consume them, as in
// attention: q @ k.T, then ops on its rows, then @ v. All its values have the axes of one space:
// batch axes, rows, columns; each of full size or of size 1. Axes of a value are aligned from the
// last one, as in broadcasting. The matrices have no other readers.
//
// The matmuls that end a chain belong to one round if they do not depend on each other: those of
// the forward pass, then those of the backward pass. A round recomputes what it needs of the chain,
// like FlashAttention's backward pass; per-row results of an earlier round are kept.
#pragma once
#include "dialects/mx/Mx.h"
#include "llvm/ADT/SetVector.h"

namespace mx::graph {

/// The role of an axis of a matrix.
enum class Along : uint8_t { Rows, Columns, Other };

/// A matmul that ends a chain.
struct ChainEnd {
  mutable ir::MatmulOp op;                          ///< a handle; its getters are not const
  Along x[2], y[2];                                 ///< the last two axes of the operands
  Along result[2];                                  ///< and of the result
  bool sums() const { return x[1] == Along::Rows; } ///< reduces over rows
};

struct ChainRound {
  llvm::SmallVector<ChainEnd> ends;
  llvm::SetVector<mlir::Operation *> ops;  ///< computed by this round, in program order
  llvm::SmallVector<mlir::Value> rows;     ///< per-row results with other readers
  llvm::DenseSet<mlir::Operation *> after; ///< ops that depend on this round
};

struct Chain {
  llvm::SmallVector<int64_t> space; ///< batch axes, rows, columns
  llvm::SetVector<mlir::Operation *> members;
  /// Simple ops on small tensors, which may have other users.
  llvm::DenseSet<mlir::Operation *> borrowed;
  llvm::SmallVector<ChainRound> rounds; ///< in program order

  bool has(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op && (members.contains(op) || borrowed.contains(op));
  }
  /// Whether all axes of the value are those of the space or of size 1.
  bool fits(mlir::Type type) const;
  /// Whether the value has no columns.
  bool isOfRows(mlir::Value value) const;
  int64_t rows() const { return space[space.size() - 2]; }
  int64_t columns() const { return space.back(); }
};

/// The matrix that a matmul reads transposed; null if `value` is not a transpose.
mlir::Value transposedFrom(mlir::Value value);

/// The chain that begins with this matmul, if there is one.
std::optional<Chain> chainFrom(ir::MatmulOp first);

} // namespace mx::graph
