// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=512" | FileCheck %s
// Panels of a convolution are whole rows of an image: of 56 rows of 57 positions, seven fill 25 vectors (200 in all), four fill 15 (210 in
// all). All 576 steps are one K-block, so only the sums of one tile of rows are kept: 6 times 448.
// Twin: 72 channels are two K-blocks of 324 steps, so the sums of all rows of a panel of at most 256 columns are kept.
!w = !mx.tensor<f32[64, 64, 3, 3]>
!x = !mx.tensor<f32[8, 64, 56, 56]>
// CHECK-LABEL: llvm.func @rows(
// CHECK: llvm.alloca %c2688_i64 x f32
// CHECK: llvm.return
mx.func @rows(%x: !x, %w: !w) -> !x {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!x, !w) -> !x {
  ^bb0(%a: !x, %b: !w):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!x, !w) -> !x
    mx.yield %c : !x
  }
  mx.return %k : !x
}
!v = !mx.tensor<f32[64, 72, 3, 3]>
!y = !mx.tensor<f32[8, 72, 56, 56]>
// CHECK-LABEL: llvm.func @deeper(
// CHECK-NOT: llvm.alloca %c2688_i64 x f32
// CHECK: llvm.return
mx.func @deeper(%x: !y, %w: !v) -> !x {
  %k = mx.kernel(%x, %w) attributes {sizes = []} : (!y, !v) -> !x {
  ^bb0(%a: !y, %b: !v):
    %c = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!y, !v) -> !x
    mx.yield %c : !x
  }
  mx.return %k : !x
}
