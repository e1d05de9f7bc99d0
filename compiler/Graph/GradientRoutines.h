// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient rules of library routines (scans, scatters, linear algebra).
#pragma once
#include "Graph/Adjoints.h"

namespace mx::graph {

/// Part of Differentiate: the rules of `mx.routine`, one function for each form.
class RoutineRules {
public:
  RoutineRules(Reverse &reverse, ir::RoutineOp op, mlir::Value g) : r(reverse), op(op), g(g) {}
  void run();
  /// Forward mode; false for matrix factorisations, which have no forward rule.
  bool forward();
  /// For `cumprod`: multiplies all other elements along its axis.
  mlir::Value others();

private:
  using Value = mlir::Value;
  Reverse &r;
  ir::RoutineOp op;
  Value g;

  Value input(unsigned i) { return op.getInputs()[i]; }
  Value call(llvm::StringRef kind, mlir::ArrayRef<Value> inputs, ir::TensorType type);
  Value flip(Value x);
  Value shifted(Value x, double first);
  Value take(Value x, Value index);
  Value counted(ir::SizeAttr count);
  Value times(Value x, Value y);
  Value transposed(Value x);
  Value part(Value packed, ir::SizeAttr from, ir::SizeAttr to, mlir::ArrayRef<ir::SizeAttr> sizes);
  Value half(Value x, llvm::StringRef relation);
  Value column(Value x, bool asRow);
  Value onDiagonal(Value x);
  Value inverseDifferences(Value values);
  Value ofLowerHalf(Value x);
  Value op2(llvm::StringRef name, Value x, Value y);

  void scan();
  void recurrence(Value a, Value y, Value &bySum, Value &byFactor);
  void scatter();
  void solve();
  void cholesky();
  void qr();
  void eigh();
  void svd();
};

} // namespace mx::graph
