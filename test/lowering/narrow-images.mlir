// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=256" | FileCheck %s
// Convolutions with many outputs on narrow images have an image for each position of the window along a line: steps of
// a window are as far apart as images, and none of its columns is thrown away. Sums are kept in the result.
// Twins: with few outputs more copies do not pay, and wide images have little to throw away; then the steps along a line are neighbours. With
// an op on the sums these are not kept in the result.

// CHECK: mx.constant{{.*}}dense<[0, 160, 320, 14, 174, 334,
// CHECK: llvm.func @narrow(
// CHECK-NOT: llvm.alloca %c768_i64 x f32
// CHECK: llvm.func @mxrt_parallel_for(
mx.func @narrow(%x: !mx.tensor<f32[2, 4, 14, 14]>, %w: !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]> {
  ^bb0(%a: !mx.tensor<f32[2, 4, 14, 14]>, %b: !mx.tensor<f32[48, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, holes = [#mx.size<1>, #mx.size<1>], low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]>
    mx.yield %c : !mx.tensor<f32[2, 48, 14, 14]>
  }
  mx.return %k : !mx.tensor<f32[2, 48, 14, 14]>
}
// CHECK: mx.constant{{.*}}dense<[0, 1, 2, 16, 17, 18,
// CHECK: llvm.func @few(
mx.func @few(%x: !mx.tensor<f32[2, 4, 14, 14]>, %w: !mx.tensor<f32[47, 4, 3, 3]>) -> !mx.tensor<f32[2, 47, 14, 14]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[47, 4, 3, 3]>) -> !mx.tensor<f32[2, 47, 14, 14]> {
  ^bb0(%a: !mx.tensor<f32[2, 4, 14, 14]>, %b: !mx.tensor<f32[47, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, holes = [#mx.size<1>, #mx.size<1>], low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[47, 4, 3, 3]>) -> !mx.tensor<f32[2, 47, 14, 14]>
    mx.yield %c : !mx.tensor<f32[2, 47, 14, 14]>
  }
  mx.return %k : !mx.tensor<f32[2, 47, 14, 14]>
}
// CHECK: mx.constant{{.*}}dense<[0, 1, 2, 32, 33, 34,
// CHECK: llvm.func @wide(
mx.func @wide(%x: !mx.tensor<f32[2, 4, 30, 30]>, %w: !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 30, 30]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[2, 4, 30, 30]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 30, 30]> {
  ^bb0(%a: !mx.tensor<f32[2, 4, 30, 30]>, %b: !mx.tensor<f32[48, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, holes = [#mx.size<1>, #mx.size<1>], low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 30, 30]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 30, 30]>
    mx.yield %c : !mx.tensor<f32[2, 48, 30, 30]>
  }
  mx.return %k : !mx.tensor<f32[2, 48, 30, 30]>
}
// CHECK: mx.constant{{.*}}dense<[0, 160, 320, 14, 174, 334,
// CHECK: llvm.func @followed(
// CHECK: llvm.alloca %c768_i64 x f32
// CHECK: llvm.func @mxrt_parallel_for(
mx.func @followed(%x: !mx.tensor<f32[2, 4, 14, 14]>, %w: !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]> {
  ^bb0(%a: !mx.tensor<f32[2, 4, 14, 14]>, %b: !mx.tensor<f32[48, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, holes = [#mx.size<1>, #mx.size<1>], low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]>
    %d = mx.neg %c : (!mx.tensor<f32[2, 48, 14, 14]>) -> !mx.tensor<f32[2, 48, 14, 14]>
    mx.yield %d : !mx.tensor<f32[2, 48, 14, 14]>
  }
  mx.return %k : !mx.tensor<f32[2, 48, 14, 14]>
}
