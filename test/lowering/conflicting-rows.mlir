// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=256" | FileCheck %s
// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=512" | FileCheck %s --check-prefix=LONG
// Rows of the left operand that are 4 KB apart conflict in the same L1 sets: they are packed,
// while those of the next tile are prefetched. With 512-bit vectors not even the columns would stay in L1.

!x = !mx.tensor<f32[400, 1024]>
!w = !mx.tensor<f32[1024, 160]>
!out = !mx.tensor<f32[400, 160]>

// CHECK-LABEL: llvm.func @colliding(
// CHECK: llvm.intr.prefetch{{.*}}rw = 0
// CHECK: llvm.return
// LONG-LABEL: llvm.func @colliding(
// LONG-NOT: llvm.intr.prefetch
mx.func @colliding(%x: !x, %w: !w) -> !out {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!x, !w) -> !out {
  ^bb0(%a: !x, %b: !w):
    %p = mx.matmul %a, %b : (!x, !w) -> !out
    mx.yield %p : !out
  }
  mx.return %k : !out
}

// Rows that are 3 KB apart share few sets, and few rows do not make up for a copy.
!y = !mx.tensor<f32[400, 768]>
!v = !mx.tensor<f32[768, 160]>
// CHECK-LABEL: llvm.func @apart(
// CHECK-NOT: llvm.intr.prefetch{{.*}}rw = 0
// CHECK: llvm.return
mx.func @apart(%x: !y, %w: !v) -> !out {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!y, !v) -> !out {
  ^bb0(%a: !y, %b: !v):
    %p = mx.matmul %a, %b : (!y, !v) -> !out
    mx.yield %p : !out
  }
  mx.return %k : !out
}

!z = !mx.tensor<f32[100, 1024]>
!few = !mx.tensor<f32[100, 160]>
// CHECK-LABEL: llvm.func @few(
// CHECK-NOT: llvm.intr.prefetch{{.*}}rw = 0
// CHECK: llvm.return
mx.func @few(%x: !z, %w: !w) -> !few {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!z, !w) -> !few {
  ^bb0(%a: !z, %b: !w):
    %p = mx.matmul %a, %b : (!z, !w) -> !few
    mx.yield %p : !few
  }
  mx.return %k : !few
}
