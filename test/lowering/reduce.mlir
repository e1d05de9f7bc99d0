// RUN: mxc-opt %s --mx-lower-kernels=loops=1 | FileCheck %s
// What is reduced is computed on the fly: the input is read at one point of the code only, and the op on the
// result needs no loop of its own.

// CHECK-LABEL: llvm.func internal @norm.part0
// CHECK: scf.for
// CHECK: %[[X:.*]] = llvm.load {{.*}}alias_scopes{{.*}} -> f32
// CHECK-NEXT: arith.mulf %[[X]], %[[X]]
// CHECK-NOT: llvm.load {{.*}}alias_scopes
// CHECK: math.sqrt
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: llvm.store {{.*}}alias_scopes
// CHECK-NOT: llvm.load {{.*}}alias_scopes
// CHECK: llvm.return
mx.func @norm(%x: !mx.tensor<f32[N, 100]>) -> !mx.tensor<f32[N]> attributes {sizes = ["N"]} {
  %k = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<f32[N, 100]>) -> !mx.tensor<f32[N]> {
  ^bb0(%a: !mx.tensor<f32[N, 100]>):
    %0 = mx.mul %a, %a : (!mx.tensor<f32[N, 100]>, !mx.tensor<f32[N, 100]>) -> !mx.tensor<f32[N, 100]>
    %1 = mx.sum %0 over [1] : !mx.tensor<f32[N, 100]> -> !mx.tensor<f32[N]>
    %2 = mx.sqrt %1 : (!mx.tensor<f32[N]>) -> !mx.tensor<f32[N]>
    mx.yield %2 : !mx.tensor<f32[N]>
  }
  mx.return %k : !mx.tensor<f32[N]>
}
