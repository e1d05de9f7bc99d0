// RUN: mxc-opt %s --canonicalize | FileCheck %s
// Sizes as floats are constants once they are known.

// CHECK-LABEL: mx.func @casts
// CHECK-DAG: mx.constant 1.600000e+01 : f32
// CHECK-DAG: mx.constant 0x4B800000 : f32
// CHECK-DAG: mx.constant 2.550000e+02 : f64
// CHECK-DAG: mx.constant 0x7C00 : f16
// CHECK-DAG: mx.constant 1.000000e+00 : f32
// CHECK-NOT: mx.cast
mx.func @casts() -> (!mx.tensor<f32[] on host>, !mx.tensor<f32[] on host>, !mx.tensor<f64[] on host>, !mx.tensor<f16[] on host>, !mx.tensor<f32[] on host>) {
  %a = mx.constant 16 : i64 -> !mx.tensor<i64[] on host>
  %b = mx.constant 16777217 : i64 -> !mx.tensor<i64[] on host>
  %c = mx.constant 255 : ui8 -> !mx.tensor<u8[] on host>
  %d = mx.constant 100000 : i64 -> !mx.tensor<i64[] on host>
  %e = mx.constant true -> !mx.tensor<bool[] on host>
  %0 = mx.cast %a : (!mx.tensor<i64[] on host>) -> !mx.tensor<f32[] on host>
  %1 = mx.cast %b : (!mx.tensor<i64[] on host>) -> !mx.tensor<f32[] on host>
  %2 = mx.cast %c : (!mx.tensor<u8[] on host>) -> !mx.tensor<f64[] on host>
  %3 = mx.cast %d : (!mx.tensor<i64[] on host>) -> !mx.tensor<f16[] on host>
  %4 = mx.cast %e : (!mx.tensor<bool[] on host>) -> !mx.tensor<f32[] on host>
  mx.return %0, %1, %2, %3, %4 : !mx.tensor<f32[] on host>, !mx.tensor<f32[] on host>, !mx.tensor<f64[] on host>, !mx.tensor<f16[] on host>, !mx.tensor<f32[] on host>
}
