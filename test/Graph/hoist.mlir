// RUN: mxc-opt %s --hoist | FileCheck %s
// What is the same in every iteration leaves the loop; what depends on the iteration, may fail, or is cheaper to
// compute than to keep stays.

!m = !mx.tensor<f32[64, 64]>
!v = !mx.tensor<f32[64]>
!n = !mx.tensor<i64[] on host>
!b = !mx.tensor<bool[]>
!i = !mx.tensor<i32[64]>

// CHECK-LABEL: mx.graph @matmul
// CHECK: %[[P:.*]] = mx.matmul %arg1, %arg1
// CHECK: %[[E:.*]] = mx.exp %[[P]]
// CHECK: mx.for
// CHECK-NOT: mx.exp
// CHECK: mx.matmul %{{.*}}, %[[E]]
mx.graph @matmul(%x: !m, %w: !m, %n: !n) -> !m {
  %zero = mx.constant 0 : i64 -> !n
  %r = mx.for %zero to %n carries (%x) : (!n, !n, !m) -> !m {
  ^bb0(%i: !n, %h: !m):
    %p = mx.matmul %w, %w : (!m, !m) -> !m
    %e = mx.exp %p : (!m) -> !m
    %o = mx.matmul %h, %e : (!m, !m) -> !m
    mx.yield %o : !m
  }
  mx.return %r : !m
}

// Out of both loops, and no further than its operands.
// CHECK-LABEL: mx.graph @nested
// CHECK: mx.exp %arg1
// CHECK: mx.for
// CHECK: mx.exp %{{.*}}
// CHECK: mx.for
// CHECK-NOT: mx.exp
mx.graph @nested(%x: !m, %w: !m, %n: !n) -> !m {
  %zero = mx.constant 0 : i64 -> !n
  %r = mx.for %zero to %n carries (%x) : (!n, !n, !m) -> !m {
  ^bb0(%i: !n, %h: !m):
    %s = mx.for %zero to %n carries (%h) : (!n, !n, !m) -> !m {
    ^bb1(%j: !n, %g: !m):
      %a = mx.exp %w : (!m) -> !m
      %b = mx.exp %h : (!m) -> !m
      %c = mx.add %a, %b : (!m, !m) -> !m
      %o = mx.mul %g, %c : (!m, !m) -> !m
      mx.yield %o : !m
    }
    mx.yield %s : !m
  }
  mx.return %r : !m
}

// A broadcast vector is read where it is used; a matmul that reads it copies the broadcast.
// CHECK-LABEL: mx.graph @cheap
// CHECK: %[[B:.*]] = mx.broadcast
// CHECK: %[[P:.*]] = mx.matmul %[[B]], %[[B]]
// CHECK: mx.for
// CHECK: mx.broadcast
// CHECK-NEXT: mx.add
// CHECK: mx.add %{{.*}}, %[[P]]
mx.graph @cheap(%x: !m, %v: !v, %n: !n) -> !m {
  %zero = mx.constant 0 : i64 -> !n
  %r = mx.for %zero to %n carries (%x) : (!n, !n, !m) -> !m {
  ^bb0(%i: !n, %h: !m):
    %w = mx.broadcast %v : !v -> !m
    %y = mx.add %w, %w : (!m, !m) -> !m
    %p = mx.matmul %w, %w : (!m, !m) -> !m
    %a = mx.mul %h, %y : (!m, !m) -> !m
    %o = mx.add %a, %p : (!m, !m) -> !m
    mx.yield %o : !m
  }
  mx.return %r : !m
}

// A loop without iterations does not fail.
// CHECK-LABEL: mx.graph @fails
// CHECK-NOT: mx.floordiv
// CHECK: mx.for
// CHECK: mx.floordiv
mx.graph @fails(%x: !i, %y: !i, %n: !n) -> !i {
  %zero = mx.constant 0 : i64 -> !n
  %r = mx.for %zero to %n carries (%x) : (!n, !n, !i) -> !i {
  ^bb0(%i: !n, %h: !i):
    %d = mx.floordiv %y, %y : (!i, !i) -> !i
    %o = mx.add %h, %d : (!i, !i) -> !i
    mx.yield %o : !i
  }
  mx.return %r : !i
}

// The condition of a `while` too.
// CHECK-LABEL: mx.graph @condition
// CHECK: mx.matmul
// CHECK: mx.while
// CHECK-NOT: mx.matmul
mx.graph @condition(%x: !m, %w: !m) -> !m {
  %r = mx.while carries (%x) : (!m) -> !m {
  ^bb0(%h: !m):
    %p = mx.matmul %w, %w : (!m, !m) -> !m
    %s = mx.add %p, %h : (!m, !m) -> !m
    %t = mx.sum %s over [0, 1] : !m -> !mx.tensor<f32[]>
    %z = mx.constant 0.0 : f32 -> !mx.tensor<f32[]>
    %c = mx.lt %t, %z : (!mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !b
    mx.yield %c : !b
  } do {
  ^bb0(%h: !m):
    %o = mx.add %h, %h : (!m, !m) -> !m
    mx.yield %o : !m
  }
  mx.return %r : !m
}

// A choice takes copies of the cheap ops along that its sides read.
// CHECK-LABEL: mx.graph @choice
// CHECK: %[[I:.*]] = mx.iota
// CHECK-NEXT: mx.if %arg1
// CHECK-NEXT: mx.yield %[[I]]
// CHECK: mx.for
// CHECK-NOT: mx.if
// CHECK: mx.return
mx.graph @choice(%x: !v, %c: !b, %n: !n) -> !v {
  %zero = mx.constant 0 : i64 -> !n
  %r = mx.for %zero to %n carries (%x) : (!n, !n, !v) -> !v {
  ^bb0(%i: !n, %h: !v):
    %o = mx.iota : !v
    %d = mx.if %c : (!b) -> !v {
      mx.yield %o : !v
    } else {
      mx.yield %x : !v
    }
    %s = mx.add %h, %d : (!v, !v) -> !v
    mx.yield %s : !v
  }
  mx.return %r : !v
}
