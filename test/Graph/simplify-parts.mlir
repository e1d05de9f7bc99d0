// RUN: mxc-opt %s --simplify | FileCheck %s
// Slices of constant regions: what lies beside a replaced part, what replaces all, and what each
// iteration of a loop has for itself.

!f = !mx.tensor<f32[3, 8]>
!p = !mx.tensor<f32[3, 4]>
!r = !mx.tensor<f32[8]>
!n = !mx.tensor<i64[] on host>
!h = !mx.tensor<f32[] on host>

// The gradient of `split`: what was zero is still added, since -0.0 + 0.0 is not -0.0.
// CHECK-LABEL: mx.graph @split
// CHECK: %[[Z:.*]] = mx.full
// CHECK-NEXT: %[[S:.*]] = mx.add %[[Z]], %arg1
// CHECK-NEXT: mx.concat %[[S]], %arg0 along 1
// CHECK-NEXT: mx.return
mx.graph @split(%a: !p, %b: !p) -> !f {
  %zero = mx.constant 0 : i64 -> !n
  %four = mx.constant 4 : i64 -> !n
  %eight = mx.constant 8 : i64 -> !n
  %nothing = mx.constant 0.0 : f32 -> !h
  %0 = mx.full %nothing : !h -> !f
  %1 = mx.update %0, %a [":", "rft"] at (%four, %eight) : (!f, !p, !n, !n) -> !f
  %2 = mx.slice %1 [":", "rft"] at (%zero, %four) : (!f, !n, !n) -> !p
  %3 = mx.add %2, %b : (!p, !p) -> !p
  %4 = mx.update %1, %3 [":", "rft"] at (%zero, %four) : (!f, !p, !n, !n) -> !f
  mx.return %4 : !f
}

// Not all of it, parts that overlap, a value that is broadcast, one that is used in between.
// CHECK-LABEL: mx.graph @splitNot
// CHECK-NOT: mx.concat
mx.graph @splitNot(%x: !f, %a: !p, %s: !mx.tensor<f32[1, 4]>) -> (!f, !f, !f, !f, !f, !p) {
  %zero = mx.constant 0 : i64 -> !n
  %three = mx.constant 3 : i64 -> !n
  %four = mx.constant 4 : i64 -> !n
  %seven = mx.constant 7 : i64 -> !n
  %eight = mx.constant 8 : i64 -> !n
  %0 = mx.update %x, %a [":", "rft"] at (%zero, %four) : (!f, !p, !n, !n) -> !f
  %1 = mx.update %x, %a [":", "rft"] at (%zero, %four) : (!f, !p, !n, !n) -> !f
  %2 = mx.update %1, %a [":", "rft"] at (%three, %seven) : (!f, !p, !n, !n) -> !f
  %3 = mx.update %x, %s [":", "rft"] at (%zero, %four) : (!f, !mx.tensor<f32[1, 4]>, !n, !n) -> !f
  %4 = mx.update %3, %a [":", "rft"] at (%four, %eight) : (!f, !p, !n, !n) -> !f
  %5 = mx.update %x, %a [":", "rft"] at (%zero, %four) : (!f, !p, !n, !n) -> !f
  %6 = mx.update %5, %a [":", "rft"] at (%four, %eight) : (!f, !p, !n, !n) -> !f
  // CHECK: mx.slice %{{[0-9]+}} [":", "rft"]
  %7 = mx.slice %5 [":", "rft"] at (%three, %seven) : (!f, !n, !n) -> !p
  mx.return %0, %2, %4, %5, %6, %7 : !f, !f, !f, !f, !f, !p
}

// Each iteration reads its own row, which is still zero, and all rows are written.
// CHECK-LABEL: mx.graph @rows
// CHECK: mx.full %{{.*}} {mx.scratch}
// CHECK: mx.for
// CHECK-NOT: mx.slice
// CHECK: mx.full %{{.*}} -> <f32[8]>
// CHECK: mx.update
mx.graph @rows(%g: !r) -> !f {
  %zero = mx.constant 0 : i64 -> !n
  %two = mx.constant 2 : i64 -> !n
  %three = mx.constant 3 : i64 -> !n
  %nothing = mx.constant 0.0 : f32 -> !h
  %0 = mx.full %nothing : !h -> !f
  %1 = mx.for %zero to %three carries (%0) : (!n, !n, !f) -> !f {
  ^bb0(%i: !n, %sum: !f):
    %t = mx.sub %two, %i : (!n, !n) -> !n
    %before = mx.slice %sum ["i", ":"] at (%t) : (!f, !n) -> !r
    %after = mx.add %before, %g : (!r, !r) -> !r
    %next = mx.update %sum, %after ["i", ":"] at (%t) : (!f, !r, !n) -> !f
    mx.yield %next : !f
  }
  mx.return %1 : !f
}

// Some rows only: they are read as zero, but the others have to be.
// CHECK-LABEL: mx.graph @someRows
// CHECK-NOT: mx.scratch
// CHECK: mx.for
// CHECK-NOT: mx.slice
// CHECK: mx.return
mx.graph @someRows(%g: !r) -> !f {
  %zero = mx.constant 0 : i64 -> !n
  %two = mx.constant 2 : i64 -> !n
  %nothing = mx.constant 0.0 : f32 -> !h
  %0 = mx.full %nothing : !h -> !f
  %1 = mx.for %zero to %two carries (%0) : (!n, !n, !f) -> !f {
  ^bb0(%i: !n, %sum: !f):
    %before = mx.slice %sum ["i", ":"] at (%i) : (!f, !n) -> !r
    %after = mx.add %before, %g : (!r, !r) -> !r
    %next = mx.update %sum, %after ["i", ":"] at (%i) : (!f, !r, !n) -> !f
    mx.yield %next : !f
  }
  mx.return %1 : !f
}

// The same row in each iteration; a row of another iteration; a tensor that was not the same everywhere.
// CHECK-LABEL: mx.graph @rowsNot
// CHECK: mx.for
// CHECK-COUNT-3: mx.slice
mx.graph @rowsNot(%g: !r, %x: !f) -> (!f, !f, !f) {
  %zero = mx.constant 0 : i64 -> !n
  %one = mx.constant 1 : i64 -> !n
  %two = mx.constant 2 : i64 -> !n
  %nothing = mx.constant 0.0 : f32 -> !h
  %0 = mx.full %nothing : !h -> !f
  %1:3 = mx.for %zero to %two carries (%0, %0, %x) : (!n, !n, !f, !f, !f) -> (!f, !f, !f) {
  ^bb0(%i: !n, %a: !f, %b: !f, %c: !f):
    %a0 = mx.slice %a ["i", ":"] at (%one) : (!f, !n) -> !r
    %a1 = mx.add %a0, %g : (!r, !r) -> !r
    %a2 = mx.update %a, %a1 ["i", ":"] at (%one) : (!f, !r, !n) -> !f
    %next = mx.add %i, %one : (!n, !n) -> !n
    %b0 = mx.slice %b ["i", ":"] at (%i) : (!f, !n) -> !r
    %b1 = mx.add %b0, %g : (!r, !r) -> !r
    %b2 = mx.update %b, %b1 ["i", ":"] at (%next) : (!f, !r, !n) -> !f
    %c0 = mx.slice %c ["i", ":"] at (%i) : (!f, !n) -> !r
    %c1 = mx.add %c0, %g : (!r, !r) -> !r
    %c2 = mx.update %c, %c1 ["i", ":"] at (%i) : (!f, !r, !n) -> !f
    mx.yield %a2, %b2, %c2 : !f, !f, !f
  }
  mx.return %1#0, %1#1, %1#2 : !f, !f, !f
}
