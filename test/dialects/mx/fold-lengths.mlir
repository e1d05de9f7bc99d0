// RUN: mxc-opt %s --canonicalize | FileCheck %s
// The length of an array is part of its type.

// CHECK-LABEL: mx.func @known
// CHECK: %[[N:.*]] = mx.constant 3 : i64 -> <i64[] on host>
// CHECK: mx.return %[[N]]
mx.func @known(%a: !mx.array<!mx.tensor<f32[]>, <3>>) -> !mx.tensor<i64[] on host> {
  %n = mx.length %a : !mx.array<!mx.tensor<f32[]>, <3>> -> !mx.tensor<i64[] on host>
  mx.return %n : !mx.tensor<i64[] on host>
}

// CHECK-LABEL: mx.func @open
// CHECK: mx.length
mx.func @open(%a: !mx.array<!mx.tensor<f32[]>, <N>>) -> !mx.tensor<i64[] on host> attributes {sizes = ["N"]} {
  %n = mx.length %a : !mx.array<!mx.tensor<f32[]>, <N>> -> !mx.tensor<i64[] on host>
  mx.return %n : !mx.tensor<i64[] on host>
}
