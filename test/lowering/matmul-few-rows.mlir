// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=256" | FileCheck %s
// A matmul of few rows reads the columns of its right operand where they are, the last ones with a mask:
// a copy would cost more than it saves. Sums are kept in the result, so there is no memory besides.

!row = !mx.tensor<f32[1, 64]>
!w = !mx.tensor<f32[64, 20]>
!out = !mx.tensor<f32[1, 20]>

// CHECK-LABEL: llvm.func @few(
// CHECK-NOT: llvm.alloca
// CHECK: llvm.intr.masked.load
// CHECK: llvm.return
mx.func @few(%x: !row, %w: !w) -> !out {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!row, !w) -> !out {
  ^bb0(%a: !row, %b: !w):
    %p = mx.matmul %a, %b : (!row, !w) -> !out
    mx.yield %p : !out
  }
  mx.return %k : !out
}

// With more rows a panel pays, unless the first cache holds all of the matrix.
!rows = !mx.tensor<f32[64, 64]>
!outs = !mx.tensor<f32[64, 20]>
// CHECK-LABEL: llvm.func @near(
// CHECK-NOT: llvm.alloca {{.*}} x f32
// CHECK: llvm.return
mx.func @near(%x: !rows, %w: !w) -> !outs {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!rows, !w) -> !outs {
  ^bb0(%a: !rows, %b: !w):
    %p = mx.matmul %a, %b : (!rows, !w) -> !outs
    mx.yield %p : !outs
  }
  mx.return %k : !outs
}

!long = !mx.tensor<f32[64, 640]>
!high = !mx.tensor<f32[640, 20]>
// CHECK-LABEL: llvm.func @more(
// CHECK: llvm.alloca {{.*}} x f32
// CHECK: llvm.return
mx.func @more(%x: !long, %w: !high) -> !outs {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!long, !high) -> !outs {
  ^bb0(%a: !long, %b: !high):
    %p = mx.matmul %a, %b : (!long, !high) -> !outs
    mx.yield %p : !outs
  }
  mx.return %k : !outs
}
