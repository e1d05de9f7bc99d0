// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=512" | FileCheck %s
// Rows of a transposed left operand are packed for each panel of columns. So two threads split the 784 rows, not the 128 columns: one
// panel has all columns, 128 by 64 steps, and the parallel loop has two blocks of rows.
// Twin: with rows that are read unpacked, the parallel loop is over panels of 64 columns.
!x = !mx.tensor<f32[64, 784]>
!t = !mx.tensor<f32[784, 64]>
!y = !mx.tensor<f32[64, 128]>
!z = !mx.tensor<f32[784, 128]>
// CHECK-LABEL: llvm.func @transposed(
// CHECK: llvm.alloca %c8192_i64 x f32
// CHECK: call @mxrt_parallel_for(%arg0, %c2_i64
mx.func @transposed(%x: !x, %y: !y) -> !z {
  %k = mx.kernel(%x, %y) attributes {sizes = []} : (!x, !y) -> !z {
  ^bb0(%a: !x, %b: !y):
    %l = mx.transpose %a by [1, 0] : !x -> !t
    %p = mx.matmul %l, %b : (!t, !y) -> !z
    mx.yield %p : !z
  }
  mx.return %k : !z
}
// CHECK-LABEL: llvm.func @plain(
// CHECK: llvm.alloca %c4096_i64 x f32
mx.func @plain(%x: !t, %y: !y) -> !z {
  %k = mx.kernel(%x, %y) attributes {sizes = []} : (!t, !y) -> !z {
  ^bb0(%a: !t, %b: !y):
    %p = mx.matmul %a, %b : (!t, !y) -> !z
    mx.yield %p : !z
  }
  mx.return %k : !z
}
