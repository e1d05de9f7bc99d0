// RUN: mxc-opt %s --pass-pipeline='builtin.module(mx.graph(fuse),mx-to-mxrt)' | FileCheck %s
// What Fuse leaves outside of kernels is what programs are made of.

!v = !mx.tensor<f32[N, 16]>
!w = !mx.tensor<f32[16, 16]>
!i = !mx.tensor<i64[] on host>

// CHECK-COUNT-2: mxrt.kernel
// CHECK-NOT: mxrt.kernel
// CHECK-LABEL: mxrt.program @net(
// CHECK: scf.for
// CHECK: mxrt.call
// CHECK: mxrt.call
// CHECK-NOT: mxrt.call
// CHECK: mxrt.return
mx.graph @net(%x: !v, %w: !w, %turns: !i) -> !v attributes {sizes = ["N"], mx.dyn = {N = 64 : i64}} {
  %zero = mx.constant 0 : i64 -> !i
  %r = mx.for %zero to %turns carries (%x) : (!i, !i, !v) -> !v {
  ^bb0(%k: !i, %h: !v):
    %p = mx.matmul %h, %w : (!v, !w) -> !v
    %t = mx.tanh %p : (!v) -> !v
    %q = mx.matmul %t, %w : (!v, !w) -> !v
    mx.yield %q : !v
  }
  mx.return %r : !v
}
