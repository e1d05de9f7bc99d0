// RUN: mxc-opt %s --fuse | FileCheck %s
// Slices of a tensor are read without a copy if their regions are constant and the tensor is there anyway; matmuls read
// other shapes of what is in memory.

!x = !mx.tensor<f32[6, 8]>
!p = !mx.tensor<f32[6, 4]>
!r = !mx.tensor<f32[8]>
!n = !mx.tensor<i64[] on host>

// Two halves are as large as the whole.
// CHECK-LABEL: mx.graph @halves
// CHECK-COUNT-1: mx.kernel(
// CHECK-NOT: mx.kernel(
mx.graph @halves(%x: !x) -> !p {
  %zero = mx.constant 0 : i64 -> !n
  %four = mx.constant 4 : i64 -> !n
  %eight = mx.constant 8 : i64 -> !n
  %a = mx.slice %x [":", "rft"] at (%zero, %four) : (!x, !n, !n) -> !p
  %b = mx.slice %x [":", "rft"] at (%four, %eight) : (!x, !n, !n) -> !p
  %c = mx.mul %a, %b : (!p, !p) -> !p
  mx.return %c : !p
}

// One half would keep the whole; a range that may be wrong is an error of its own.
// CHECK-LABEL: mx.graph @half
// CHECK-COUNT-3: mx.kernel(
mx.graph @half(%x: !x, %y: !x, %n: !n) -> !p {
  %zero = mx.constant 0 : i64 -> !n
  %four = mx.constant 4 : i64 -> !n
  %a = mx.slice %x [":", "rft"] at (%zero, %four) : (!x, !n, !n) -> !p
  %b = mx.slice %y [":", "rft"] at (%zero, %n) : (!x, !n, !n) -> !p
  %c = mx.mul %a, %b : (!p, !p) -> !p
  mx.return %c : !p
}

// A row of a tensor from outside of the loop; not one of a tensor that the loop changes.
// CHECK-LABEL: mx.graph @rows
// CHECK: mx.for
// CHECK: mx.kernel(%arg0
// CHECK: mx.slice
// CHECK: mx.sin
// CHECK: mx.kernel(
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.slice
// CHECK-NEXT: mx.yield
mx.graph @rows(%x: !x, %y: !x) -> (!r, !x) {
  %zero = mx.constant 0 : i64 -> !n
  %six = mx.constant 6 : i64 -> !n
  %nothing = mx.constant 0.0 : f32 -> <f32[] on host>
  %h = mx.full %nothing : !mx.tensor<f32[] on host> -> !r
  %r:2 = mx.for %zero to %six carries (%h, %y) : (!n, !n, !r, !x) -> (!r, !x) {
  ^bb0(%i: !n, %g: !r, %z: !x):
    %a = mx.slice %x ["i", ":"] at (%i) : (!x, !n) -> !r
    %b = mx.sin %a : (!r) -> !r
    %c = mx.slice %z ["i", ":"] at (%i) : (!x, !n) -> !r
    %d = mx.mul %g, %c : (!r, !r) -> !r
    %e = mx.update %z, %b ["i", ":"] at (%i) : (!x, !r, !n) -> !x
    mx.yield %d, %e : !r, !x
  }
  mx.return %r#0, %r#1 : !r, !x
}

// CHECK-LABEL: mx.graph @shapes
// CHECK-COUNT-1: mx.kernel(
// CHECK: mx.reshape
// CHECK: mx.transpose
// CHECK: mx.reshape
// CHECK: mx.matmul
// CHECK-NOT: mx.kernel(
mx.graph @shapes(%x: !mx.tensor<f32[2, 3, 8]>, %y: !mx.tensor<f32[2, 3, 5]>) -> !mx.tensor<f32[8, 5]> {
  %a = mx.reshape %x : !mx.tensor<f32[2, 3, 8]> -> !x
  %t = mx.transpose %a by [1, 0] : !x -> !mx.tensor<f32[8, 6]>
  %b = mx.reshape %y : !mx.tensor<f32[2, 3, 5]> -> !mx.tensor<f32[6, 5]>
  %p = mx.matmul %t, %b : (!mx.tensor<f32[8, 6]>, !mx.tensor<f32[6, 5]>) -> !mx.tensor<f32[8, 5]>
  mx.return %p : !mx.tensor<f32[8, 5]>
}

// Others go along the shape.
// CHECK-LABEL: mx.graph @shapesNot
// CHECK-COUNT-3: mx.kernel(
mx.graph @shapesNot(%x: !mx.tensor<f32[2, 3, 8]>, %y: !mx.tensor<f32[8, 5]>) -> (!x, !mx.tensor<f32[6, 5]>) {
  %a = mx.reshape %x : !mx.tensor<f32[2, 3, 8]> -> !x
  %s = mx.sin %a : (!x) -> !x
  %p = mx.matmul %a, %y : (!x, !mx.tensor<f32[8, 5]>) -> !mx.tensor<f32[6, 5]>
  mx.return %s, %p : !x, !mx.tensor<f32[6, 5]>
}

// Axes that are read backwards on the way to a transpose: one kernel for both. Not where a matmul reads the transpose, since
// it reads contiguous rows.
!w = !mx.tensor<f32[4, 5, 3, 3]>
!v = !mx.tensor<f32[5, 4, 3, 3]>
// CHECK-LABEL: mx.graph @turned
// CHECK-COUNT-1: mx.kernel(
// CHECK-NOT: mx.kernel(
mx.graph @turned(%w: !w) -> !v {
  %back = mx.constant -1 : i64 -> !n
  %a = mx.slice %w [":", ":", "rs", "rs"] at (%back, %back) : (!w, !n, !n) -> !w
  %b = mx.transpose %a by [1, 0, 2, 3] : !w -> !v
  mx.return %b : !v
}
!t = !mx.tensor<f32[8, 6]>
!q = !mx.tensor<f32[8, 8]>
// CHECK-LABEL: mx.graph @matmul
// CHECK-COUNT-2: mx.kernel(
mx.graph @matmul(%x: !x) -> !q {
  %back = mx.constant -1 : i64 -> !n
  %a = mx.slice %x ["rs", ":"] at (%back) : (!x, !n) -> !x
  %b = mx.transpose %a by [1, 0] : !x -> !t
  %c = mx.matmul %b, %x : (!t, !x) -> !q
  mx.return %c : !q
}

// A part in another shape on the way to a transpose, if the shape only splits an axis. Twin: one that joins axes would have to
// compute the index of each element by a division, so it is copied first, with its part.
!s = !mx.tensor<f32[2, 6, 8]>
!m = !mx.tensor<f32[3, 2, 8]>
!u = !mx.tensor<f32[3, 8, 2]>
// CHECK-LABEL: mx.graph @split
// CHECK: mx.for
// CHECK: mx.kernel(
// CHECK: mx.slice
// CHECK-NEXT: mx.reshape
// CHECK-NEXT: mx.transpose
// CHECK-NOT: mx.kernel(
// CHECK: mx.return
mx.graph @split(%x: !s) -> !u {
  %zero = mx.constant 0 : i64 -> !n
  %two = mx.constant 2 : i64 -> !n
  %nothing = mx.constant 0.0 : f32 -> <f32[] on host>
  %h = mx.full %nothing : !mx.tensor<f32[] on host> -> !u
  %r = mx.for %zero to %two carries (%h) : (!n, !n, !u) -> !u {
  ^bb0(%i: !n, %g: !u):
    %a = mx.slice %x ["i", ":", ":"] at (%i) : (!s, !n) -> !x
    %b = mx.reshape %a : !x -> !m
    %c = mx.transpose %b by [0, 2, 1] : !m -> !u
    mx.yield %c : !u
  }
  mx.return %r : !u
}
!k = !mx.tensor<f32[4, 12]>
!l = !mx.tensor<f32[12, 4]>
// CHECK-LABEL: mx.graph @joined
// CHECK: mx.for
// CHECK: mx.kernel(
// CHECK: mx.slice
// CHECK: mx.kernel(
// CHECK: mx.reshape
// CHECK: mx.kernel(
// CHECK: mx.transpose
mx.graph @joined(%x: !s) -> !l {
  %zero = mx.constant 0 : i64 -> !n
  %two = mx.constant 2 : i64 -> !n
  %nothing = mx.constant 0.0 : f32 -> <f32[] on host>
  %h = mx.full %nothing : !mx.tensor<f32[] on host> -> !l
  %r = mx.for %zero to %two carries (%h) : (!n, !n, !l) -> !l {
  ^bb0(%i: !n, %g: !l):
    %a = mx.slice %x ["i", ":", ":"] at (%i) : (!s, !n) -> !x
    %b = mx.reshape %a : !x -> !k
    %c = mx.transpose %b by [1, 0] : !k -> !l
    mx.yield %c : !l
  }
  mx.return %r : !l
}
