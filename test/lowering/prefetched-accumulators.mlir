// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=256" | FileCheck %s
// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=512" | FileCheck %s --check-prefix=OTHER
// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=128" | FileCheck %s --check-prefix=OTHER
// OTHER-NOT: llvm.intr.prefetch{{.*}}rw = 1

!x = !mx.tensor<f32[40, 768]>
!w = !mx.tensor<f32[768, 64]>
!out = !mx.tensor<f32[40, 64]>

// A tile that goes on with sums of the result fetches those of the next one, a line of each of its rows.
// CHECK-LABEL: llvm.func @deep(
// CHECK-COUNT-6: llvm.intr.prefetch{{.*}}rw = 1
// CHECK: scf.for
// CHECK: llvm.return
mx.func @deep(%x: !x, %w: !w) -> !out {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!x, !w) -> !out {
  ^bb0(%a: !x, %b: !w):
    %p = mx.matmul %a, %b : (!x, !w) -> !out
    mx.yield %p : !out
  }
  mx.return %k : !out
}

// Sums in memory of our own are in a cache.
// CHECK-LABEL: llvm.func @followed(
// CHECK-NOT: llvm.intr.prefetch
// CHECK: llvm.return
mx.func @followed(%x: !x, %w: !w) -> !out {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!x, !w) -> !out {
  ^bb0(%a: !x, %b: !w):
    %p = mx.matmul %a, %b : (!x, !w) -> !out
    %n = mx.neg %p : (!out) -> !out
    mx.yield %n : !out
  }
  mx.return %k : !out
}

// The first K-block starts from zero.
!y = !mx.tensor<f32[40, 256]>
!v = !mx.tensor<f32[256, 64]>
// CHECK-LABEL: llvm.func @shallow(
// CHECK-NOT: llvm.intr.prefetch
// CHECK: llvm.return
mx.func @shallow(%x: !y, %w: !v) -> !out {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!y, !v) -> !out {
  ^bb0(%a: !y, %b: !v):
    %p = mx.matmul %a, %b : (!y, !v) -> !out
    mx.yield %p : !out
  }
  mx.return %k : !out
}
