// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Sizes are parameters; polynomials over them are computed once in a block.

!i64 = !mx.tensor<i64[] on host>

// CHECK: tensor "iota:i32"(i64) -> tensor

// CHECK-LABEL: func polynomial(i64, i64, tensor) -> i64 {
// CHECK-NEXT: reg i64, i64, i64, i64, i64, i64
// CHECK-NEXT: drop r2
// CHECK-NEXT: mul.i r3, r0, r1
// CHECK-NEXT: int r5, 2
// CHECK-NEXT: mul.i r3, r3, r5
// CHECK-NEXT: add.i r3, r3, r0
// CHECK-NEXT: addk.i r3, r3, -3
// CHECK-NEXT: floordiv.i r7, r0, r1
// CHECK-NEXT: addk.i r4, r7, 1
// CHECK-NEXT: add.i r6, r3, r3
// CHECK-NEXT: add.i r8, r4, r7
// CHECK-NEXT: add.i r8, r6, r8
// CHECK-NEXT: ret r8
// CHECK-NEXT: }
mx.func @polynomial(%x: !mx.tensor<f32[N*M]>) -> !i64 attributes {sizes = ["N", "M"]} {
  %a = mx.size <2*N*M + N - 3> -> !i64
  %b = mx.size <2*N*M + N - 3> -> !i64
  %c = mx.size <N / / M + 1> -> !i64
  %d = mx.size <N / / M> -> !i64
  %e = mx.add %a, %b : (!i64, !i64) -> !i64
  %f = mx.add %c, %d : (!i64, !i64) -> !i64
  %g = mx.add %e, %f : (!i64, !i64) -> !i64
  mx.return %g : !i64
}

// A name bound in a loop means another number in each iteration.
// CHECK-LABEL: func bound(i64, tensor, i64) {
// CHECK-NEXT: reg i64, i64, i64, i64, bool, i64, i64, i64
// CHECK-NEXT: reg i64, i64
// CHECK-NEXT: drop r1
// CHECK-NEXT: int r3, 0
// CHECK-NEXT: int r6, 2
// CHECK-NEXT: mul.i r4, r0, r6
// CHECK-NEXT: mov r5, r3
// CHECK-NEXT: lt.i r7, r5, r2
// CHECK-NEXT: jf r7, L18
// CHECK-NEXT: L7:
// CHECK-NEXT: mov r8, r5
// CHECK-NEXT: add.i r9, r8, r0
// CHECK-NEXT: tensor r1, "iota:i32", [r9]
// CHECK-NEXT: print [r1]
// CHECK-NEXT: drop r1
// CHECK-NEXT: mov r10, r5
// CHECK-NEXT: mul.i r11, r10, r6
// CHECK-NEXT: tensor r1, "iota:i32", [r11]
// CHECK-NEXT: print [r1]
// CHECK-NEXT: drop r1
// CHECK-NEXT: next.i r5, r2, L7
// CHECK-NEXT: L18:
// CHECK-NEXT: print [r4]
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @bound(%x: !mx.tensor<f32[N]>, %n: !i64) attributes {sizes = ["N"]} {
  %zero = mx.constant 0 : i64 -> !i64
  %outer = mx.size <2*N> -> !i64
  mx.for %zero to %n carries () : (!i64, !i64) -> () {
  ^bb0(%k: !i64):
    mx.bind_size "B" = %k : !i64
    %a = mx.iota : !mx.tensor<i32[B + N]>
    mx.print %a : !mx.tensor<i32[B + N]>
    mx.bind_size "N" = %k : !i64
    %b = mx.iota : !mx.tensor<i32[2*N]>
    mx.print %b : !mx.tensor<i32[2*N]>
    mx.yield
  }
  mx.print %outer : !i64
  mx.return
}
