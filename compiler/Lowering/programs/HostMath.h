// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on host numbers: lowers mx ops of rank 0 to `arith` on i1, i64, f32, …
#pragma once
#include "dialects/mxrt/Mxrt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mx::lowering {

class HostMath {
public:
  /// Ops are inserted at the insertion point of `builder`.
  HostMath(mlir::OpBuilder &builder, mlir::Location loc) : b(loc, builder) {}

  /// The result of `op` from the numbers of its operands; null if the op is not supported here. Ops
  /// that can fail emit an mxrt.fail.
  mlir::Value lower(mlir::Operation *op, mlir::ValueRange x);
  mlir::Value constant(mlir::Type element, mlir::Attribute value);
  /// An integer of any kind as i64, and back.
  mlir::Value widen(mlir::Value x, mlir::Type element);
  mlir::Value narrow(mlir::Value x, mlir::Type element);

private:
  mlir::ImplicitLocOpBuilder b;

  mlir::Value number(mlir::Type type, double value);
  mlir::Value compareInts(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value compare(mlir::Operation *op, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  void failIfZero(mlir::Value divisor);
  mlir::Value divideInts(mlir::Value x, mlir::Value y, bool rest);
  mlir::Value powerOfInts(mlir::Value x, mlir::Value y);
  mlir::Value divideFloats(mlir::Value x, mlir::Value y, bool rest);
  mlir::Value lowerInts(mlir::Operation *op, mlir::ValueRange x);
  mlir::Value signOf(mlir::Value x);
  mlir::Value callC(mlir::Operation *op, mlir::ValueRange x);
  mlir::Value lowerFunction(mlir::Operation *op, mlir::ValueRange given);
  mlir::Value lowerFloats(mlir::Operation *op, mlir::ValueRange x);
  mlir::Value cast(mlir::Value x, mlir::Type from, mlir::Type to);
};

} // namespace mx::lowering
