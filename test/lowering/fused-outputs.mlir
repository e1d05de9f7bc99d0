// RUN: mxc-opt %s --mx-lower-kernels=loops=1 | FileCheck %s
// Outputs of one shape share their loops, also those that do not come from the matmul: what overwrites
// an input is then written after every read of the element.

!m = !mx.tensor<f32[4, 4]>

// CHECK-LABEL: llvm.func @product(
// CHECK: llvm.store {{.*}} : vector
// The elements of both are computed, then both are stored.
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.addf {{.*}} : f32
// CHECK-NOT: scf.for
// CHECK: llvm.store {{.*}}alias_scopes
// CHECK-NOT: llvm.load {{.*}}alias_scopes
// CHECK: llvm.store {{.*}}alias_scopes
// CHECK: llvm.return
mx.func @product(%x: !m, %y: !m, %z: !m) -> (!m, !m) {
  %k:2 = mx.kernel(%x, %y, %z) attributes {sizes = [], mx.over = array<i64: 2, -1>} : (!m, !m, !m) -> (!m, !m) {
  ^bb0(%a: !m, %b: !m, %c: !m):
    %p = mx.matmul %a, %b : (!m, !m) -> !m
    %1 = mx.mul %c, %c : (!m, !m) -> !m
    %2 = mx.add %p, %c : (!m, !m) -> !m
    mx.yield %1, %2 : !m, !m
  }
  mx.return %k#0, %k#1 : !m, !m
}
