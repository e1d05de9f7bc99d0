// RUN: mxc-opt %s --mx-lower-kernels=loops=1 | FileCheck %s
// Rows of large tensors: while one is summed up the next is fetched, 64 elements of 4 lines a step, and
// the room of the result of this one. The largest element needs no order, so its loop has no lanes.

!m = !mx.tensor<f32[1024, 1024]>
!r = !mx.tensor<f32[1024, 1]>

// CHECK-LABEL: llvm.func internal @large.part0
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.maximumf
// CHECK-NOT: prefetch
// CHECK: scf.for
// CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}}rw = 0
// CHECK-COUNT-4: "llvm.intr.prefetch"{{.*}}rw = 1
// CHECK: arith.addf
// CHECK-NOT: prefetch
// CHECK: llvm.return
mx.func @large(%x: !m) -> !m {
  %k = mx.kernel(%x) attributes {sizes = []} : (!m) -> !m {
  ^bb0(%a: !m):
    %0 = mx.max %a over [1] keep : !m -> !r
    %1 = mx.sub %a, %0 : (!m, !r) -> !m
    %2 = mx.sum %1 over [1] keep : !m -> !r
    %3 = mx.mul %1, %2 : (!m, !r) -> !m
    mx.yield %3 : !m
  }
  mx.return %k : !m
}

!s = !mx.tensor<f32[64, 1024]>
!t = !mx.tensor<f32[64, 1]>

// What stays in the second cache anyway is not fetched.
// CHECK-LABEL: llvm.func @small(
// CHECK-NOT: prefetch
// CHECK: llvm.return
mx.func @small(%x: !s) -> !s {
  %k = mx.kernel(%x) attributes {sizes = []} : (!s) -> !s {
  ^bb0(%a: !s):
    %0 = mx.max %a over [1] keep : !s -> !t
    %1 = mx.sub %a, %0 : (!s, !t) -> !s
    %2 = mx.sum %1 over [1] keep : !s -> !t
    %3 = mx.mul %1, %2 : (!s, !t) -> !s
    mx.yield %3 : !s
  }
  mx.return %k : !s
}
