// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=256" | FileCheck %s
// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=512" | FileCheck %s --check-prefix=LONG
// Convolutions with many outputs on narrow images pack one copy of the image for each filter tap along a row, so that no
// column is wasted. Sums are accumulated in the result. The zero that ends a row is also the one before the next row.
// Twins: with few outputs the copies do not pay off, and wide images waste few columns; then the taps along a row are neighbours in
// one copy. With an epilogue, sums are not accumulated in the result.

// CHECK: mx.constant{{.*}}dense<[0, 160, 320, 14, 174, 334,
// CHECK: llvm.func @narrow(
// CHECK-NOT: llvm.alloca %c768_i64 x f32
// CHECK: llvm.func @mxrt_parallel_for(
mx.func @narrow(%x: !mx.tensor<f32[2, 4, 14, 14]>, %w: !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]> {
  ^bb0(%a: !mx.tensor<f32[2, 4, 14, 14]>, %b: !mx.tensor<f32[48, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]>
    mx.yield %c : !mx.tensor<f32[2, 48, 14, 14]>
  }
  mx.return %k : !mx.tensor<f32[2, 48, 14, 14]>
}
// CHECK: mx.constant{{.*}}dense<[0, 1, 2, 15, 16, 17,
// CHECK: llvm.func @few(
mx.func @few(%x: !mx.tensor<f32[2, 4, 14, 14]>, %w: !mx.tensor<f32[47, 4, 3, 3]>) -> !mx.tensor<f32[2, 47, 14, 14]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[47, 4, 3, 3]>) -> !mx.tensor<f32[2, 47, 14, 14]> {
  ^bb0(%a: !mx.tensor<f32[2, 4, 14, 14]>, %b: !mx.tensor<f32[47, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[47, 4, 3, 3]>) -> !mx.tensor<f32[2, 47, 14, 14]>
    mx.yield %c : !mx.tensor<f32[2, 47, 14, 14]>
  }
  mx.return %k : !mx.tensor<f32[2, 47, 14, 14]>
}
// CHECK: mx.constant{{.*}}dense<[0, 1, 2, 31, 32, 33,
// CHECK: llvm.func @wide(
mx.func @wide(%x: !mx.tensor<f32[2, 4, 30, 30]>, %w: !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 30, 30]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[2, 4, 30, 30]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 30, 30]> {
  ^bb0(%a: !mx.tensor<f32[2, 4, 30, 30]>, %b: !mx.tensor<f32[48, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 30, 30]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 30, 30]>
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
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[2, 48, 14, 14]>
    %d = mx.neg %c : (!mx.tensor<f32[2, 48, 14, 14]>) -> !mx.tensor<f32[2, 48, 14, 14]>
    mx.yield %d : !mx.tensor<f32[2, 48, 14, 14]>
  }
  mx.return %k : !mx.tensor<f32[2, 48, 14, 14]>
}

// Vectors of 16 floats are shared by images of 49 positions, so that 25 do instead of 32: positions in the window are columns of a matrix,
// copied from images of some channels. rowStarts has room for the lines of a panel.
// Twin: with 48 outputs the copies do not pay.
// LONG: mx.constant{{.*}}dense<[0, 1, 2, 8, 9, 10, 16, 17, 18, 112,
// LONG: llvm.func @shared(
// LONG: llvm.alloca %c38_i64 x i64
mx.func @shared(%x: !mx.tensor<f32[8, 4, 7, 7]>, %w: !mx.tensor<f32[256, 4, 3, 3]>) -> !mx.tensor<f32[8, 256, 7, 7]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[8, 4, 7, 7]>, !mx.tensor<f32[256, 4, 3, 3]>) -> !mx.tensor<f32[8, 256, 7, 7]> {
  ^bb0(%a: !mx.tensor<f32[8, 4, 7, 7]>, %b: !mx.tensor<f32[256, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[8, 4, 7, 7]>, !mx.tensor<f32[256, 4, 3, 3]>) -> !mx.tensor<f32[8, 256, 7, 7]>
    mx.yield %c : !mx.tensor<f32[8, 256, 7, 7]>
  }
  mx.return %k : !mx.tensor<f32[8, 256, 7, 7]>
}
// LONG: llvm.func @alone(
// LONG-NOT: x i64 {alignment
// LONG: llvm.func @mxrt_parallel_for(
mx.func @alone(%x: !mx.tensor<f32[8, 4, 7, 7]>, %w: !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[8, 48, 7, 7]> {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!mx.tensor<f32[8, 4, 7, 7]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[8, 48, 7, 7]> {
  ^bb0(%a: !mx.tensor<f32[8, 4, 7, 7]>, %b: !mx.tensor<f32[48, 4, 3, 3]>):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[8, 4, 7, 7]>, !mx.tensor<f32[48, 4, 3, 3]>) -> !mx.tensor<f32[8, 48, 7, 7]>
    mx.yield %c : !mx.tensor<f32[8, 48, 7, 7]>
  }
  mx.return %k : !mx.tensor<f32[8, 48, 7, 7]>
}
