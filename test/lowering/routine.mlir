// RUN: mxc-opt %s --mx-lower-kernels | FileCheck %s
// Work on whole tensors is one call of the runtime: type, sizes, inputs, result, workspace.

// CHECK-LABEL: llvm.func @cumsum
// CHECK: %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.call @mxrt_cumsum({{.*}}, %[[NONE]])
mx.func @cumsum(%x: !mx.tensor<f32[N, 3, M]>) -> !mx.tensor<f32[N, 3, M]> attributes {sizes = ["N", "M"]} {
  %k = mx.kernel(%x) attributes {sizes = ["N", "M"]} : (!mx.tensor<f32[N, 3, M]>) -> !mx.tensor<f32[N, 3, M]> {
  ^bb0(%a: !mx.tensor<f32[N, 3, M]>):
    %0 = mx.routine "cumsum"(%a) along 1 : (!mx.tensor<f32[N, 3, M]>) -> !mx.tensor<f32[N, 3, M]>
    mx.yield %0 : !mx.tensor<f32[N, 3, M]>
  }
  mx.return %k : !mx.tensor<f32[N, 3, M]>
}

// The workspace is the buffer behind the result; without one it is null, as above.
// CHECK-LABEL: llvm.func @argsort
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %arg1[2]
// CHECK: %[[WORK:.*]] = llvm.load %[[SLOT]]
// CHECK: llvm.call @mxrt_argsort({{.*}}, %[[WORK]])
mx.func @argsort(%x: !mx.tensor<f32[N]>) -> !mx.tensor<i32[N]> attributes {sizes = ["N"]} {
  %k = mx.kernel(%x) attributes {sizes = ["N"], workspace = 4096 : i64} : (!mx.tensor<f32[N]>) -> !mx.tensor<i32[N]> {
  ^bb0(%a: !mx.tensor<f32[N]>):
    %0 = mx.routine "argsort"(%a) along 0 : (!mx.tensor<f32[N]>) -> !mx.tensor<i32[N]>
    mx.yield %0 : !mx.tensor<i32[N]>
  }
  mx.return %k : !mx.tensor<i32[N]>
}
