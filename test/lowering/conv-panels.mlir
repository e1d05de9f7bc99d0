// RUN: mxc-opt %s --mx-lower-kernels="loops=1 vector-bits=512" | FileCheck %s
// Of 56 lines, 57 wide, seven make 25 vectors: 200 in all, where four make 15, 210 in all. All 576 steps are one stretch, so that
// sums are those of one tile of rows: 6 times 448.
// Twin: 72 channels are two stretches of 324 steps, and sums are kept for all rows of a panel of at most 256 columns.
!w = !mx.tensor<f32[64, 64, 3, 3]>
!x = !mx.tensor<f32[8, 64, 56, 56]>
// CHECK-LABEL: llvm.func @lines(
// CHECK: llvm.alloca %c2688_i64 x f32
// CHECK: llvm.return
mx.func @lines(%x: !x, %w: !w) -> !x {
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
