// RUN: mxc-opt %s --mx-to-mxrt --split-input-file | FileCheck %s
// Branches and loops: results in buffers that every way fills.

!v = !mx.tensor<f32[4]>
!i = !mx.tensor<i64[] on host>

// Each branch writes the output itself, or copies into it; numbers are results of the scf.if.
// CHECK-LABEL: mxrt.program @branch(
// CHECK-NOT: mxrt.slice
// CHECK: %[[C:.*]] = mxrt.load %arg1 : <bool[]> -> i1
// CHECK: %[[R:.*]] = scf.if %[[C]] -> (i64) {
// CHECK: mxrt.call @{{.*}} reads(%arg0 {{.*}}) writes(%arg3
// CHECK: scf.yield
// CHECK: } else {
// CHECK: mxrt.copy %arg0 to %arg3
// CHECK: scf.yield %arg2 : i64
// CHECK: mxrt.store %[[R]] to %arg4
mx.graph @branch(%x: !v, %c: !mx.tensor<bool[]>, %n: !i) -> (!v, !i) {
  %r:2 = mx.if %c : (!mx.tensor<bool[]>) -> (!v, !i) {
    %a = mx.kernel(%x) : (!v) -> !v {
    ^bb0(%p: !v):
      %s = mx.neg %p : (!v) -> !v
      mx.yield %s : !v
    }
    %one = mx.constant 1 : i64 -> !i
    mx.yield %a, %one : !v, !i
  } else {
    mx.yield %x, %n : !v, !i
  }
  mx.return %r#0, %r#1 : !v, !i
}

// -----

!v = !mx.tensor<f32[4]>
!i = !mx.tensor<i64[] on host>

// The old value is read by the kernel that makes the new one, so that has a slice and is copied.
// CHECK-LABEL: mxrt.program @count(
// CHECK: %[[NEW:.*]] = mxrt.slice
// CHECK-NOT: mxrt.slice
// CHECK: mxrt.copy %arg0 to %arg2
// CHECK: scf.for %{{.*}} = %{{.*}} to %arg1 step %{{.*}} : i64 {
// CHECK-NEXT: mxrt.poll
// CHECK-NEXT: mxrt.call @{{.*}} reads(%arg2 {{.*}}) writes(%[[NEW]]
// CHECK-NEXT: mxrt.copy %[[NEW]] to %arg2
// CHECK-NEXT: }
// CHECK-NEXT: mxrt.return
mx.graph @count(%x: !v, %n: !i) -> !v {
  %zero = mx.constant 0 : i64 -> !i
  %r = mx.for %zero to %n carries (%x) : (!i, !i, !v) -> !v {
  ^bb0(%k: !i, %a: !v):
    %b = mx.kernel(%a) : (!v) -> !v {
    ^bb0(%p: !v):
      %s = mx.neg %p : (!v) -> !v
      mx.yield %s : !v
    }
    mx.yield %b : !v
  }
  mx.return %r : !v
}

// -----

!v = !mx.tensor<f32[4]>
!i = !mx.tensor<i64[] on host>

// After its last use the buffer of a carried value can be written: no copy at the end of an iteration.
// CHECK-LABEL: mxrt.program @direct(
// CHECK: scf.for
// CHECK: mxrt.call @{{.*}} reads(%arg2 {{.*}}) writes(%[[B:[0-9]+]] :
// CHECK-NEXT: mxrt.call @{{.*}} reads(%[[B]] {{.*}}) writes(%arg2 :
// CHECK-NEXT: }
mx.graph @direct(%x: !v, %n: !i) -> !v {
  %zero = mx.constant 0 : i64 -> !i
  %r = mx.for %zero to %n carries (%x) : (!i, !i, !v) -> !v {
  ^bb0(%k: !i, %a: !v):
    %b = mx.kernel(%a) : (!v) -> !v {
    ^bb0(%p: !v):
      %s = mx.neg %p : (!v) -> !v
      mx.yield %s : !v
    }
    %c = mx.kernel(%b) : (!v) -> !v {
    ^bb0(%p: !v):
      %s = mx.neg %p : (!v) -> !v
      mx.yield %s : !v
    }
    mx.yield %c : !v
  }
  mx.return %r : !v
}

// -----

!v = !mx.tensor<f32[4]>
!i = !mx.tensor<i64[] on host>

// Two values that are exchanged need a third buffer.
// CHECK-LABEL: mxrt.program @exchange(
// CHECK: %[[T:.*]] = mxrt.slice 0 bytes 16 : <f32[4]>
// CHECK-NOT: mxrt.slice
// CHECK: mxrt.copy %arg0 to %arg3
// CHECK-NEXT: mxrt.copy %arg1 to %arg4
// CHECK: scf.for
// CHECK-NEXT: mxrt.poll
// CHECK-NEXT: mxrt.copy %arg3 to %[[T]]
// CHECK-NEXT: mxrt.copy %arg4 to %arg3
// CHECK-NEXT: mxrt.copy %[[T]] to %arg4
// CHECK-NEXT: }
mx.graph @exchange(%x: !v, %y: !v, %n: !i) -> (!v, !v) {
  %zero = mx.constant 0 : i64 -> !i
  %r:2 = mx.for %zero to %n carries (%x, %y) : (!i, !i, !v, !v) -> (!v, !v) {
  ^bb0(%k: !i, %a: !v, %b: !v):
    mx.yield %b, %a : !v, !v
  }
  mx.return %r#0, %r#1 : !v, !v
}

// -----

!v = !mx.tensor<f32[4]>
!i = !mx.tensor<i64[] on host>

// A chain needs no third buffer, only the right order.
// CHECK-LABEL: mxrt.program @shift(
// CHECK-NOT: mxrt.slice
// CHECK: scf.for
// CHECK-NEXT: mxrt.poll
// CHECK-NEXT: mxrt.copy %arg2 to %arg3
// CHECK-NEXT: mxrt.copy %arg0 to %arg2
// CHECK-NEXT: }
mx.graph @shift(%x: !v, %n: !i) -> (!v, !v) {
  %zero = mx.constant 0 : i64 -> !i
  %r:2 = mx.for %zero to %n carries (%x, %x) : (!i, !i, !v, !v) -> (!v, !v) {
  ^bb0(%k: !i, %a: !v, %b: !v):
    mx.yield %x, %a : !v, !v
  }
  mx.return %r#0, %r#1 : !v, !v
}

// -----

!v = !mx.tensor<f32[4]>
!i = !mx.tensor<i64[] on host>

// The condition is computed on the device; a limit counts iterations.
// CHECK-LABEL: mxrt.program @until(
// CHECK: %[[C:.*]] = mxrt.slice {{.*}} : <bool[]>
// CHECK: mxrt.copy %arg0 to %arg2
// CHECK: scf.while (%[[TURNS:.*]] = %{{.*}}) : (i64) -> i64 {
// CHECK: mxrt.call @{{.*}} reads(%arg2 {{.*}}) writes(%[[C]]
// CHECK-NEXT: %[[L:.*]] = mxrt.load %[[C]] : <bool[]> -> i1
// CHECK-NEXT: scf.condition(%[[L]]) %[[TURNS]]
// CHECK: } do {
// CHECK: %[[PAST:.*]] = arith.cmpi sge, %{{.*}}, %arg1
// CHECK-NEXT: mxrt.fail if %[[PAST]] with 305 "loop limit reached"
// CHECK-NEXT: mxrt.poll
// CHECK: mxrt.copy %{{.*}} to %arg2
// CHECK: arith.addi
// CHECK: scf.yield
mx.graph @until(%x: !v, %n: !i) -> !v {
  %r = mx.while carries (%x) limit %n : !i : (!v) -> !v {
  ^bb0(%a: !v):
    %c = mx.kernel(%a) : (!v) -> !mx.tensor<bool[]> {
    ^bb0(%p: !v):
      %s = mx.all %p over [0] : !v -> !mx.tensor<bool[]>
      mx.yield %s : !mx.tensor<bool[]>
    }
    mx.yield %c : !mx.tensor<bool[]>
  } do {
  ^bb0(%a: !v):
    %b = mx.kernel(%a) : (!v) -> !v {
    ^bb0(%p: !v):
      %s = mx.neg %p : (!v) -> !v
      mx.yield %s : !v
    }
    mx.yield %b : !v
  }
  mx.return %r : !v
}

// -----

!v = !mx.tensor<f32[4]>
!i = !mx.tensor<i64[] on host>

// A branch that raises gives values nobody looks at: nothing is written for them.
// CHECK-LABEL: mxrt.program @raises(
// CHECK-NOT: mxrt.slice
// CHECK: scf.if %arg1 -> (i64) {
// CHECK: mxrt.fail if %{{.*}} with 303 "no"
// CHECK-NOT: mxrt.copy
// CHECK: } else {
// CHECK-NEXT: mxrt.copy %arg0 to %arg3
mx.graph @raises(%x: !v, %c: !mx.tensor<bool[] on host>, %n: !i) -> (!v, !i) {
  %r:2 = mx.if %c : (!mx.tensor<bool[] on host>) -> (!v, !i) {
    %text = mx.text "no" : !mx.str
    %error = mx.make_error %text : (!mx.str) -> !mx.error
    mx.raise %error : !mx.error
    %a = mx.undef : !v
    %k = mx.undef : !i
    mx.yield %a, %k : !v, !i
  } else {
    mx.yield %x, %n : !v, !i
  }
  mx.return %r#0, %r#1 : !v, !i
}
