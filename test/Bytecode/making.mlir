// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Tensors out of nothing: constants, fills, ranges, random numbers.

!i64 = !mx.tensor<i64[] on host>
!f32 = !mx.tensor<f32[] on host>

// CHECK: tensor "full:f32"(f32) -> tensor
// CHECK-NEXT: tensor "literal:i32(shape=2/2)"(i64, i64, i64, i64) -> tensor
// CHECK-NEXT: tensor "full:f16"(f32, i64, i64) -> tensor
// CHECK-NEXT: tensor "literal:bool(shape=2)"(bool, bool) -> tensor
// CHECK-NEXT: tensor "literal:f64(shape=2)@cpu:1"(f64, f64) -> tensor
// CHECK-NEXT: tensor "full:f32"(f32, i64, i64) -> tensor
// CHECK-NEXT: tensor "full:f32"(tensor, i64, i64) -> tensor
// CHECK-NEXT: tensor "iota:i32"(i64) -> tensor
// CHECK-NEXT: tensor "uniform:f32"(i64, i64, f32, f32, i64) -> tensor
// CHECK-NEXT: tensor "normal:f64"(i64, i64, f32, f32, i64) -> tensor
// CHECK-NEXT: tensor bernoulli(i64, i64, f32, i64) -> tensor
// CHECK-NEXT: tensor "randint:i64"(i64, i64, i64, i64, i64) -> tensor
// CHECK-NEXT: tensor "permutation:i32"(i64, i64, i64) -> tensor
// CHECK-NEXT: tensor "categorical:f32"(i64, i64, tensor) -> tensor

// CHECK-LABEL: func constants() {
// CHECK-NEXT: reg f32, tensor, i64, i64, i64, tensor, f32, tensor
// CHECK-NEXT: reg bool, bool, tensor, f64, f64, tensor
// CHECK-NEXT: const r0, 2f
// CHECK-NEXT: tensor r1, @0, [r0]
// CHECK-NEXT: int r2, 1
// CHECK-NEXT: int r3, 2
// CHECK-NEXT: int r4, -1
// CHECK-NEXT: tensor r5, "literal:i32(shape=2/2)", [r2, r3, r3, r4]
// CHECK-NEXT: const r6, 1f
// CHECK-NEXT: int r4, 2
// CHECK-NEXT: int r3, 3
// CHECK-NEXT: tensor r7, "full:f16", [r6, r4, r3]
// CHECK-NEXT: bool r8, true
// CHECK-NEXT: bool r9, false
// CHECK-NEXT: tensor r10, "literal:bool(shape=2)", [r8, r9]
// CHECK-NEXT: const r11, 0.5d
// CHECK-NEXT: const r12, 1.5d
// CHECK-NEXT: tensor r13, "literal:f64(shape=2)@cpu:1", [r11, r12]
// CHECK-NEXT: print [r1, r5, r7, r10, r13]
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @constants() {
  %a = mx.constant 2.0 : f32 -> !mx.tensor<f32[]>
  %b = mx.constant dense<[[1, 2], [2, -1]]> : tensor<2x2xi32> -> !mx.tensor<i32[2, 2]>
  %c = mx.constant dense<1.0> : tensor<2x3xf16> -> !mx.tensor<f16[2, 3]>
  %d = mx.constant dense<[true, false]> : tensor<2xi1> -> !mx.tensor<bool[2]>
  %e = mx.constant dense<[0.5, 1.5]> : tensor<2xf64> -> !mx.tensor<f64[2] on "cpu:1">
  mx.print %a, %b, %c, %d, %e : !mx.tensor<f32[]>, !mx.tensor<i32[2, 2]>, !mx.tensor<f16[2, 3]>, !mx.tensor<bool[2]>, !mx.tensor<f64[2] on "cpu:1">
  mx.return
}

// CHECK-LABEL: func fills(i64, f32, tensor) -> tuple {
// CHECK-NEXT: reg i64, tensor, tensor, tuple
// CHECK-NEXT: int r3, 3
// CHECK-NEXT: tensor r4, @5, [r1, r0, r3]
// CHECK-NEXT: tensor r2, @6, [r2, r0, r3]
// CHECK-NEXT: tensor r5, "iota:i32", [r0]
// CHECK-NEXT: tuple r6, [r4, r2, r5]
// CHECK-NEXT: ret r6
// CHECK-NEXT: }
mx.func @fills(%v: !f32, %t: !mx.tensor<f32[]>) -> (!mx.tensor<f32[N, 3]>, !mx.tensor<f32[N, 3]>, !mx.tensor<i32[N]>) attributes {sizes = ["N"]} {
  %a = mx.full %v : !f32 -> !mx.tensor<f32[N, 3]>
  %b = mx.full %t : !mx.tensor<f32[]> -> !mx.tensor<f32[N, 3]>
  %c = mx.iota : !mx.tensor<i32[N]>
  mx.return %a, %b, %c : !mx.tensor<f32[N, 3]>, !mx.tensor<f32[N, 3]>, !mx.tensor<i32[N]>
}

// CHECK-LABEL: func draws(i64, i64, f32, f32, tensor) {
// CHECK-NEXT: reg i64, tensor, tensor, tensor, tensor, i64, tensor
// CHECK-NEXT: int r5, 4
// CHECK-NEXT: tensor r6, "uniform:f32", [r0, r1, r2, r3, r5]
// CHECK-NEXT: tensor r7, "normal:f64", [r0, r1, r2, r3, r5]
// CHECK-NEXT: tensor r8, bernoulli, [r0, r1, r2, r5]
// CHECK-NEXT: tensor r9, "randint:i64", [r0, r1, r0, r1, r5]
// CHECK-NEXT: int r10, 9
// CHECK-NEXT: tensor r11, "permutation:i32", [r0, r1, r10]
// CHECK-NEXT: tensor r4, "categorical:f32", [r0, r1, r4]
// CHECK-NEXT: print [r6, r7, r8, r9, r11, r4]
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @draws(%seed: !i64, %at: !i64, %low: !f32, %high: !f32, %l: !mx.tensor<f32[2, 5]>) {
  %a = mx.random "uniform"(%seed, %at, %low, %high) : (!i64, !i64, !f32, !f32) -> !mx.tensor<f32[4]>
  %b = mx.random "normal"(%seed, %at, %low, %high) : (!i64, !i64, !f32, !f32) -> !mx.tensor<f64[4]>
  %c = mx.random "bernoulli"(%seed, %at, %low) : (!i64, !i64, !f32) -> !mx.tensor<bool[4]>
  %d = mx.random "randint"(%seed, %at, %seed, %at) : (!i64, !i64, !i64, !i64) -> !mx.tensor<i64[4]>
  %e = mx.random "permutation"(%seed, %at) : (!i64, !i64) -> !mx.tensor<i32[9]>
  %f = mx.random "categorical"(%seed, %at, %l) : (!i64, !i64, !mx.tensor<f32[2, 5]>) -> !mx.tensor<i32[2]>
  mx.print %a, %b, %c, %d, %e, %f : !mx.tensor<f32[4]>, !mx.tensor<f64[4]>, !mx.tensor<bool[4]>, !mx.tensor<i64[4]>, !mx.tensor<i32[9]>, !mx.tensor<i32[2]>
  mx.return
}
