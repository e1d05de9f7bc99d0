// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(fuse,verify-locations))" | FileCheck %s
// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(fuse{repeats=false},verify-locations))" | FileCheck %s --check-prefix=OFF
// Kernels recompute cheap values from values that are in memory anyway, instead of reading them; then twins where they must not.

!m = !mx.tensor<f32[64, 64]>
!c = !mx.tensor<f32[1, 64]>
!b = !mx.tensor<bool[64, 64]>
!s = !mx.tensor<f32[] on host>

// The centred columns are made by both kernels that use them; neither writes them.
// CHECK-LABEL: mx.graph @centred
// CHECK: %[[Y:.*]] = mx.kernel(%arg0)
// CHECK: %[[MEAN:.*]] = mx.kernel(%[[Y]])
// CHECK: %[[V:.*]] = mx.kernel(%[[Y]], %[[MEAN]]) {{.*}} -> !mx.tensor<f32[1, 64]> {
// CHECK: mx.sub
// CHECK: mx.kernel(%[[Y]], %[[MEAN]], %[[V]])
// CHECK: mx.sub
// CHECK: mx.return
// OFF-LABEL: mx.graph @centred
// OFF: -> (!mx.tensor<f32[64, 64]>, !mx.tensor<f32[1, 64]>) {
// OFF-COUNT-1: mx.sub
// OFF-NOT: mx.sub
// OFF: mx.return
mx.graph @centred(%a: !m) -> !m {
  %y = mx.matmul %a, %a : (!m, !m) -> !m
  %mean = mx.sum %y over [0] keep : !m -> !c
  %d = mx.sub %y, %mean : (!m, !c) -> !m
  %q = mx.mul %d, %d : (!m, !m) -> !m
  %v = mx.sum %q over [0] keep : !m -> !c
  %r = mx.mul %d, %v : (!m, !c) -> !m
  mx.return %r : !m
}

// A mask costs four ops, but its reader has the value in hand already.
// CHECK-LABEL: mx.graph @mask
// CHECK-NOT: !mx.tensor<bool[64, 64]>) {
// CHECK: mx.return
// OFF-LABEL: mx.graph @mask
// OFF: !mx.tensor<bool[64, 64]>) {
// OFF: mx.return
mx.graph @mask(%a: !m, %scale: !c) -> !m {
  %zero = mx.constant 0.0 : f32 -> !s
  %y = mx.matmul %a, %a : (!m, !m) -> !m
  %t = mx.mul %y, %scale : (!m, !c) -> !m
  %r = mx.maximum %t, %zero : (!m, !s) -> !m
  %on = mx.gt %r, %zero : (!m, !s) -> !b
  %z = mx.matmul %r, %a : (!m, !m) -> !m
  %g = mx.select %on, %z, %zero : (!b, !m, !s) -> !m
  %h = mx.mul %g, %y : (!m, !m) -> !m
  mx.return %h : !m
}

// Its twin: nobody else reads what the mask is made of by then, and that is four times as large.
// CHECK-LABEL: mx.graph @maskAlone
// CHECK: !mx.tensor<bool[64, 64]>) {
// CHECK: mx.return
mx.graph @maskAlone(%a: !m, %scale: !c) -> !m {
  %zero = mx.constant 0.0 : f32 -> !s
  %y = mx.matmul %a, %a : (!m, !m) -> !m
  %t = mx.mul %y, %scale : (!m, !c) -> !m
  %r = mx.maximum %t, %zero : (!m, !s) -> !m
  %on = mx.gt %r, %zero : (!m, !s) -> !b
  %z = mx.matmul %r, %a : (!m, !m) -> !m
  %g = mx.select %on, %z, %zero : (!b, !m, !s) -> !m
  mx.return %g : !m
}

// An exponential is not done again.
// CHECK-LABEL: mx.graph @slow
// CHECK-COUNT-1: mx.exp
// CHECK-NOT: mx.exp
// CHECK: mx.return
mx.graph @slow(%a: !m) -> !m {
  %d = mx.exp %a : (!m) -> !m
  %v = mx.sum %d over [0] keep : !m -> !c
  %r = mx.mul %d, %v : (!m, !c) -> !m
  mx.return %r : !m
}

// What is written for someone in any case is read by all.
// CHECK-LABEL: mx.graph @returned
// CHECK-COUNT-1: mx.sub
// CHECK-NOT: mx.sub
// CHECK: mx.return
mx.graph @returned(%a: !m, %mean: !c) -> (!m, !m) {
  %d = mx.sub %a, %mean : (!m, !c) -> !m
  %v = mx.sum %d over [0] keep : !m -> !c
  %r = mx.mul %d, %v : (!m, !c) -> !m
  mx.return %d, %r : !m, !m
}

// So is what a matmul reads.
// CHECK-LABEL: mx.graph @operand
// CHECK-COUNT-1: mx.sub
// CHECK-NOT: mx.sub
// CHECK: mx.return
mx.graph @operand(%a: !m, %mean: !c) -> !m {
  %d = mx.sub %a, %mean : (!m, !c) -> !m
  %v = mx.sum %d over [0] keep : !m -> !c
  %p = mx.matmul %d, %a : (!m, !m) -> !m
  %r = mx.mul %p, %v : (!m, !c) -> !m
  mx.return %r : !m
}

// Made of two, it takes more to read them than to read it.
// CHECK-LABEL: mx.graph @two
// CHECK-COUNT-1: mx.sub
// CHECK-NOT: mx.sub
// CHECK: mx.return
mx.graph @two(%a: !m, %b: !m) -> !m {
  %d = mx.sub %a, %b : (!m, !m) -> !m
  %v = mx.sum %d over [0] keep : !m -> !c
  %r = mx.mul %d, %v : (!m, !c) -> !m
  mx.return %r : !m
}
