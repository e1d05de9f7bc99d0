// RUN: mxc-opt %s --mx-lower-kernels | FileCheck %s
// Work on whole tensors is one call of the runtime: type, sizes, inputs, result.

// CHECK-LABEL: llvm.func @cumsum
// CHECK: llvm.call @mxrt_cumsum(
mx.func @cumsum(%x: !mx.tensor<f32[N, 3, M]>) -> !mx.tensor<f32[N, 3, M]> attributes {sizes = ["N", "M"]} {
  %k = mx.kernel(%x) attributes {sizes = ["N", "M"]} : (!mx.tensor<f32[N, 3, M]>) -> !mx.tensor<f32[N, 3, M]> {
  ^bb0(%a: !mx.tensor<f32[N, 3, M]>):
    %0 = mx.routine "cumsum"(%a) along 1 : (!mx.tensor<f32[N, 3, M]>) -> !mx.tensor<f32[N, 3, M]>
    mx.yield %0 : !mx.tensor<f32[N, 3, M]>
  }
  mx.return %k : !mx.tensor<f32[N, 3, M]>
}
