// RUN: mxc-opt %s --pass-pipeline="builtin.module(cse,mx.graph(drop-remat-barriers))" | FileCheck %s
// Equal ops are not joined across the loop that runs again; then it uses its inputs themselves.

!f = !mx.tensor<f32[4]>
!n = !mx.tensor<i64[] on host>

// CHECK-LABEL: mx.graph @again
// CHECK: mx.exp %arg0
// CHECK: mx.for {{.*}} carries(%[[U:.*]]) {mx.recomputed}
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: mx.exp %arg0
// CHECK: mx.for {{.*}} carries(%arg0)
mx.graph @again(%x: !f) -> (!f, !f, !f) {
  %zero = mx.constant 0 : i64 -> !n
  %one = mx.constant 1 : i64 -> !n
  %before = mx.exp %x : (!f) -> !f
  %u = mx.undef : !f
  %0:2 = mx.for %zero to %one carries (%x, %u) {mx.recomputed} : (!n, !n, !f, !f) -> (!f, !f) {
  ^bb0(%i: !n, %a: !f, %g: !f):
    %1 = mx.exp %a : (!f) -> !f
    mx.yield %a, %1 : !f, !f
  }
  // Others are the business of simplify.
  %2 = mx.for %zero to %one carries (%x) : (!n, !n, !f) -> !f {
  ^bb0(%i: !n, %a: !f):
    mx.yield %a : !f
  }
  mx.return %before, %0#1, %2 : !f, !f, !f
}
