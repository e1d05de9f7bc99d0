// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=256" | FileCheck %s
// A large transpose is cut into tiles of 16 indices of the last axis that moves: 19 of 300, each along the 257 indices of the
// other axis, which are contiguous in x. The last part is shorter.
// Twin: one that a cache holds is not cut.

!x = !mx.tensor<f32[300, 257]>
!y = !mx.tensor<f32[257, 300]>
// CHECK-LABEL: llvm.func @large(
// CHECK: scf.for {{.*}} to %c257_i64
// CHECK: %[[BEGIN:.*]] = arith.muli {{.*}}, %c16_i64
// CHECK: %[[END:.*]] = arith.minsi {{.*}}, %c300_i64
// CHECK: scf.for {{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: llvm.store
mx.func @large(%x: !x) -> !y {
  %k = mx.kernel(%x) attributes {sizes = []} : (!x) -> !y {
  ^bb0(%a: !x):
    %t = mx.transpose %a by [1, 0] : !x -> !y
    mx.yield %t : !y
  }
  mx.return %k : !y
}

!s = !mx.tensor<f32[30, 25]>
!t = !mx.tensor<f32[25, 30]>
// CHECK-LABEL: llvm.func @small(
// CHECK-NOT: arith.minsi
// CHECK: llvm.store
mx.func @small(%x: !s) -> !t {
  %k = mx.kernel(%x) attributes {sizes = []} : (!s) -> !t {
  ^bb0(%a: !s):
    %t = mx.transpose %a by [1, 0] : !s -> !t
    mx.yield %t : !t
  }
  mx.return %k : !t
}
