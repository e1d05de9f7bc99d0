// RUN: mxc-opt %s --prepack | FileCheck %s
// A matrix that a matmul in a loop reads in each iteration is copied to panels once, before the loop; not if
// the matrix is of the iteration, if its columns are not a number of panels, or if few rows read it as it is.

!x = !mx.tensor<f32[32, 128]>
!m = !mx.tensor<f32[128, 128]>
!n = !mx.tensor<i64[] on host>

// CHECK-LABEL: mx.graph @plain
// CHECK: %[[R:.*]] = mx.reshape %arg1 : {{.*}} -> <f32[128, 2, 64]>
// CHECK: %[[P:.*]] = mx.transpose %[[R]] by [1, 0, 2] : {{.*}} -> <f32[2, 128, 64]>
// CHECK-NOT: mx.reshape
// CHECK: mx.for
// CHECK: mx.matmul %{{.*}}, %[[P]] panels
// CHECK: mx.matmul %{{.*}}, %[[P]] panels
mx.graph @plain(%x: !x, %w: !m, %n: !n) -> !x {
  %zero = mx.constant 0 : i64 -> !n
  %r = mx.for %zero to %n carries (%x) : (!n, !n, !x) -> !x {
  ^bb0(%i: !n, %h: !x):
    %p = mx.matmul %h, %w : (!x, !m) -> !x
    %q = mx.matmul %p, %w : (!x, !m) -> !x
    mx.yield %q : !x
  }
  mx.return %r : !x
}

// The transpose is taken with the copy, and out of all loops that do not change the matrix.
// CHECK-LABEL: mx.graph @transposed
// CHECK: %[[R:.*]] = mx.reshape %arg1 : {{.*}} -> <f32[2, 64, 128]>
// CHECK: %[[P:.*]] = mx.transpose %[[R]] by [0, 2, 1] : {{.*}} -> <f32[2, 128, 64]>
// CHECK: mx.for
// CHECK: mx.for
// CHECK: mx.matmul %{{.*}}, %[[P]] panels
mx.graph @transposed(%x: !x, %w: !m, %n: !n) -> !x {
  %zero = mx.constant 0 : i64 -> !n
  %r = mx.for %zero to %n carries (%x) : (!n, !n, !x) -> !x {
  ^bb0(%i: !n, %h: !x):
    %s = mx.for %zero to %n carries (%h) : (!n, !n, !x) -> !x {
    ^bb1(%k: !n, %g: !x):
      %t = mx.transpose %w by [1, 0] : !m -> !m
      %p = mx.matmul %g, %t : (!x, !m) -> !x
      mx.yield %p : !x
    }
    mx.yield %s : !x
  }
  mx.return %r : !x
}

// CHECK-LABEL: mx.graph @not
// CHECK-NOT: panels
!y = !mx.tensor<f32[32, 96]>
!u = !mx.tensor<f32[96, 96]>
!f = !mx.tensor<f32[12, 128]>
!g = !mx.tensor<i32[32, 128]>
!h = !mx.tensor<i32[128, 128]>
mx.graph @not(%x: !x, %w: !m, %y: !y, %u: !u, %f: !f, %g: !g, %h: !h, %n: !n) -> (!m, !y, !f, !g, !x) {
  %zero = mx.constant 0 : i64 -> !n
  %r:4 = mx.for %zero to %n carries (%w, %y, %f, %g) : (!n, !n, !m, !y, !f, !g) -> (!m, !y, !f, !g) {
  ^bb0(%i: !n, %cw: !m, %cy: !y, %cf: !f, %cg: !g):
    %a = mx.matmul %w, %cw : (!m, !m) -> !m
    %b = mx.matmul %cy, %u : (!y, !u) -> !y
    %c = mx.matmul %cf, %w : (!f, !m) -> !f
    %d = mx.matmul %cg, %h : (!g, !h) -> !g
    mx.yield %a, %b, %c, %d : !m, !y, !f, !g
  }
  %once = mx.matmul %x, %w : (!x, !m) -> !x
  mx.return %r#0, %r#1, %r#2, %r#3, %once : !m, !y, !f, !g, !x
}
