// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(simplify))" | FileCheck %s
// What looks alike and would change a bit, a type, or what can be seen.

!f = !mx.tensor<f32[4]>
!i = !mx.tensor<i32[4]>
!hf = !mx.tensor<f32[] on host>
!n = !mx.tensor<i64[] on host>

// x + 0.0 turns -0.0 into 0.0; 0.0 - x and 1/x are not x; x*0 keeps NaN; a matmul may broadcast.
// CHECK-LABEL: mx.graph @algebra
// CHECK: mx.add
// CHECK: mx.sub
// CHECK: mx.div
// CHECK: mx.mul
// CHECK: mx.mul
mx.graph @algebra(%x: !f, %y: !mx.tensor<f32[1]>) -> (!f, !f, !f, !f, !f) {
  %one = mx.constant 1.0 : f32 -> !hf
  %zero = mx.constant 0.0 : f32 -> !hf
  %ones = mx.full %one : !hf -> !f
  %0 = mx.add %x, %zero : (!f, !hf) -> !f
  %1 = mx.sub %zero, %x : (!hf, !f) -> !f
  %2 = mx.div %one, %x : (!hf, !f) -> !f
  %3 = mx.mul %x, %zero : (!f, !hf) -> !f
  %4 = mx.mul %y, %ones : (!mx.tensor<f32[1]>, !f) -> !f
  mx.return %0, %1, %2, %3, %4 : !f, !f, !f, !f, !f
}

// f32 does not hold every i32; floats saturate where integers wrap; through f16 precision is lost.
// CHECK-LABEL: mx.graph @casts
// CHECK-COUNT-6: mx.cast
mx.graph @casts(%x: !f, %y: !i, %z: !mx.tensor<i8[4]>) -> (!i, !mx.tensor<u8[4]>, !f) {
  %0 = mx.cast %y : (!i) -> !f
  %1 = mx.cast %0 : (!f) -> !i
  %2 = mx.cast %z : (!mx.tensor<i8[4]>) -> !f
  %3 = mx.cast %2 : (!f) -> !mx.tensor<u8[4]>
  %4 = mx.cast %x : (!f) -> !mx.tensor<f16[4]>
  %5 = mx.cast %4 : (!mx.tensor<f16[4]>) -> !f
  mx.return %1, %3, %5 : !i, !mx.tensor<u8[4]>, !f
}

// The counter is printed, and the other value decides when to stop.
// CHECK-LABEL: mx.graph @carried
// CHECK: mx.for %{{.*}} to %{{.*}} carries(%arg0) :
// CHECK: mx.print
// CHECK: mx.while carries(%arg0) :
mx.graph @carried(%x: !f, %n: !n) {
  %zero = mx.constant 0 : i64 -> !n
  %0 = mx.for %zero to %n carries (%x) : (!n, !n, !f) -> !f {
  ^bb0(%i: !n, %a: !f):
    mx.print %a : !f
    %1 = mx.neg %a : (!f) -> !f
    mx.yield %1 : !f
  }
  %2 = mx.while carries (%x) : (!f) -> !f {
  ^bb0(%a: !f):
    %s = mx.sum %a over [0] : !f -> !mx.tensor<f32[]>
    %z = mx.constant 0.0 : f32 -> !hf
    %c = mx.lt %s, %z : (!mx.tensor<f32[]>, !hf) -> !mx.tensor<bool[]>
    mx.yield %c : !mx.tensor<bool[]>
  } do {
  ^bb0(%a: !f):
    mx.print %n : !n
    %3 = mx.neg %a : (!f) -> !f
    mx.yield %3 : !f
  }
  mx.return
}

// CHECK-LABEL: mx.graph @slice
// CHECK: mx.slice
mx.graph @slice(%x: !f, %n: !n) -> !f {
  %0 = mx.slice %x ["rt"] at (%n) : (!f, !n) -> !f
  mx.return %0 : !f
}

// Without the copy the result would be on the host.
// CHECK-LABEL: mx.graph @copiedNumbers
// CHECK: mx.to
// CHECK: mx.add
mx.graph @copiedNumbers(%h: !hf) -> !mx.tensor<f32[]> {
  %d = mx.to %h : !hf -> !mx.tensor<f32[]>
  %0 = mx.add %d, %h : (!mx.tensor<f32[]>, !hf) -> !mx.tensor<f32[]>
  mx.return %0 : !mx.tensor<f32[]>
}

// What only one block computes is not there in the other.
// CHECK-LABEL: mx.graph @oneBlock
// CHECK: mx.if
mx.graph @oneBlock(%x: !f, %c: !mx.tensor<bool[]>) -> !f {
  %0 = mx.if %c : (!mx.tensor<bool[]>) -> !f {
    %u = mx.undef : !f
    mx.yield %u : !f
  } else {
    %e = mx.exp %x : (!f) -> !f
    mx.yield %e : !f
  }
  mx.return %0 : !f
}

// A loop whose results nobody uses may still not end, or reach its limit.
// CHECK-LABEL: mx.graph @endless
// CHECK: mx.while carries()
// CHECK: mx.while carries() limit
mx.graph @endless(%c: !mx.tensor<bool[]>, %n: !n) {
  mx.while carries () : () -> () {
    mx.yield %c : !mx.tensor<bool[]>
  } do {
    mx.yield
  }
  mx.while carries () limit %n : !n : () -> () {
    mx.yield %c : !mx.tensor<bool[]>
  } do {
    mx.yield
  }
  mx.return
}

// What runs again keeps its inputs apart, until drop-remat-barriers.
// CHECK-LABEL: mx.graph @again
// CHECK: mx.for {{.*}} carries(%arg0, 
mx.graph @again(%x: !f) -> !f {
  %zero = mx.constant 0 : i64 -> !n
  %one = mx.constant 1 : i64 -> !n
  %u = mx.undef : !f
  %0:2 = mx.for %zero to %one carries (%x, %u) {mx.recomputed} : (!n, !n, !f, !f) -> (!f, !f) {
  ^bb0(%i: !n, %a: !f, %g: !f):
    %1 = mx.exp %a : (!f) -> !f
    mx.yield %a, %1 : !f, !f
  }
  mx.return %0#1 : !f
}
