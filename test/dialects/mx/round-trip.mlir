// RUN: mxc-opt %s | mxc-opt | FileCheck %s
// Every form of type and the text of each kind of op come back as they were.

// CHECK-LABEL: mx.func @dense(%arg0: !mx.tensor<f32[N, 784]>, %arg1: !mx.aggregate<"Dense" ["w", "b"](
// CHECK-SAME: attributes {sizes = ["N", "H"]}
mx.func @dense(%x: !mx.tensor<f32[N, 784]>, %net: !mx.aggregate<"Dense" ["w", "b"] (!mx.tensor<f32[784, H]>, !mx.tensor<f32[H]>)>) -> !mx.tensor<f32[N, H]> attributes {sizes = ["N", "H"]} {
  %w = mx.get %net 0 : !mx.aggregate<"Dense" ["w", "b"] (!mx.tensor<f32[784, H]>, !mx.tensor<f32[H]>)> -> !mx.tensor<f32[784, H]>
  %b = mx.get %net 1 : !mx.aggregate<"Dense" ["w", "b"] (!mx.tensor<f32[784, H]>, !mx.tensor<f32[H]>)> -> !mx.tensor<f32[H]>
  // CHECK: mx.matmul %arg0, %0 : (!mx.tensor<f32[N, 784]>, !mx.tensor<f32[784, H]>) -> !mx.tensor<f32[N, H]>
  %p = mx.matmul %x, %w : (!mx.tensor<f32[N, 784]>, !mx.tensor<f32[784, H]>) -> !mx.tensor<f32[N, H]>
  // CHECK: mx.add %{{.*}}, %1
  %y = mx.add %p, %b : (!mx.tensor<f32[N, H]>, !mx.tensor<f32[H]>) -> !mx.tensor<f32[N, H]>
  mx.return %y : !mx.tensor<f32[N, H]>
}

// CHECK-LABEL: mx.graph @forms
mx.graph @forms(%x: !mx.tensor<f32[2*N + 1, N / / 2]>) -> (!mx.tensor<i32[2*N + 1]>, !mx.tensor<f32[3] on "cpu:1">) attributes {sizes = ["N"]} {
  // CHECK: mx.constant 2.000000e+00 : f32 -> <f32[] on host>
  %two = mx.constant 2.0 : f32 -> !mx.tensor<f32[] on host>
  %a = mx.mul %x, %two : (!mx.tensor<f32[2*N + 1, N / / 2]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[2*N + 1, N / / 2]>
  // CHECK: mx.argmax %{{.*}} over [1] : <f32[2*N + 1, N / / 2]> -> <i32[2*N + 1]>
  %m = mx.argmax %a over [1] : !mx.tensor<f32[2*N + 1, N / / 2]> -> !mx.tensor<i32[2*N + 1]>
  %s = mx.sum %a over [0, 1] keep : !mx.tensor<f32[2*N + 1, N / / 2]> -> !mx.tensor<f32[1, 1]>
  %i = mx.constant 0 : i64 -> !mx.tensor<i64[] on host>
  // CHECK: mx.slice %{{.*}} ["i", "n", ":"] at(
  %r = mx.slice %s ["i", "n", ":"] at (%i) : (!mx.tensor<f32[1, 1]>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[1, 1]>
  %c = mx.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> -> !mx.tensor<f32[3]>
  %d = mx.to %c : !mx.tensor<f32[3]> -> !mx.tensor<f32[3] on "cpu:1">
  %n = mx.size <N> -> !mx.tensor<i64[] on host>
  // CHECK: mx.for %{{.*}} to %{{.*}} carries(%{{.*}}) :
  %t = mx.for %i to %n carries (%r) : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>, !mx.tensor<f32[1, 1]>) -> !mx.tensor<f32[1, 1]> {
  ^bb0(%k: !mx.tensor<i64[] on host>, %v: !mx.tensor<f32[1, 1]>):
    %w = mx.add %v, %two : (!mx.tensor<f32[1, 1]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[1, 1]>
    mx.yield %w : !mx.tensor<f32[1, 1]>
  }
  %less = mx.lt %i, %n : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>) -> !mx.tensor<bool[] on host>
  // CHECK: mx.if %{{.*}} : (!mx.tensor<bool[] on host>) -> !mx.tensor<f32[1, 1]>
  %u = mx.if %less : (!mx.tensor<bool[] on host>) -> !mx.tensor<f32[1, 1]> {
    mx.yield %t : !mx.tensor<f32[1, 1]>
  } else {
    mx.yield %r : !mx.tensor<f32[1, 1]>
  }
  mx.return %m, %d : !mx.tensor<i32[2*N + 1]>, !mx.tensor<f32[3] on "cpu:1">
}
