// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Block: which ops are computed block by block.
//
// A chain is what lies between products that make large matrices and products that take them in, as
// in attention: q @ k.T, then ops on its rows, then @ v. All its values have the axes of one space:
// batch axes, rows, columns; each as it is or of size 1. Where an axis of a value belongs is told
// by its position, counted from the end. Nobody else reads the matrices.
//
// Products that end a chain belong to one round if none of them needs what another gives: those of
// the forward pass, then those of the backward pass. A round computes again what it needs of the
// chain; results of a row that an earlier round has are kept.
#pragma once
#include "dialects/mx/Mx.h"
#include "llvm/ADT/SetVector.h"

namespace mx::graph {

/// What the places along an axis of a matrix are.
enum class Along : uint8_t { Rows, Columns, Other };

/// A product that ends a chain.
struct ChainEnd {
  mutable ir::MatmulOp op;                          ///< a handle, whose getters are not const
  Along x[2], y[2];                                 ///< the last two axes of the operands
  Along result[2];                                  ///< and of the result
  bool sums() const { return x[1] == Along::Rows; } ///< over rows
};

struct ChainRound {
  llvm::SmallVector<ChainEnd> ends;
  llvm::SetVector<mlir::Operation *> ops;  ///< that it computes, in program order
  llvm::SmallVector<mlir::Value> rows;     ///< results of rows that others read
  llvm::DenseSet<mlir::Operation *> after; ///< what needs something of it
};

struct Chain {
  llvm::SmallVector<int64_t> space; ///< batch axes, rows, columns
  llvm::SetVector<mlir::Operation *> members;
  /// Simple ops on small tensors, which others may use too.
  llvm::DenseSet<mlir::Operation *> borrowed;
  llvm::SmallVector<ChainRound> rounds; ///< in program order

  bool has(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op && (members.contains(op) || borrowed.contains(op));
  }
  /// Whether all axes that the value has are those of the space or of size 1.
  bool fits(mlir::Type type) const;
  /// It has no columns.
  bool isOfRows(mlir::Value value) const;
  int64_t rows() const { return space[space.size() - 2]; }
  int64_t columns() const { return space.back(); }
};

/// The matrix that a product reads transposed; null if `value` is none.
mlir::Value turnedFrom(mlir::Value value);

/// The chain that begins with this product, if there is one.
std::optional<Chain> chainFrom(ir::MatmulOp first);

} // namespace mx::graph
