// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(simplify,verify-locations))" | FileCheck %s
// Each rewrite once; the twins that must stay are in simplify-not.mlir.

!f = !mx.tensor<f32[4]>
!i = !mx.tensor<i32[4]>
!b = !mx.tensor<bool[4]>
!hf = !mx.tensor<f32[] on host>
!hi = !mx.tensor<i32[] on host>
!n = !mx.tensor<i64[] on host>

// CHECK-LABEL: mx.graph @neutral
// CHECK-NEXT: mx.return %arg0, %arg1, %arg2
mx.graph @neutral(%x: !f, %y: !i, %z: !b) -> (!f, !i, !b) {
  %one = mx.constant 1.0 : f32 -> !hf
  %zero = mx.constant 0.0 : f32 -> !hf
  %minus = mx.constant -0.0 : f32 -> !hf
  %0 = mx.mul %one, %x : (!hf, !f) -> !f
  %1 = mx.div %0, %one : (!f, !hf) -> !f
  %2 = mx.sub %1, %zero : (!f, !hf) -> !f
  %3 = mx.add %2, %minus : (!f, !hf) -> !f
  %ones = mx.full %one : !hf -> !f
  %4 = mx.mul %3, %ones : (!f, !f) -> !f
  %one0 = mx.full %one : !hf -> !mx.tensor<f32[]>
  %one1 = mx.reshape %one0 : !mx.tensor<f32[]> -> !mx.tensor<f32[1]>
  %stretched = mx.broadcast %one1 : !mx.tensor<f32[1]> -> !f
  %12 = mx.mul %stretched, %4 : (!f, !f) -> !f
  %int1 = mx.constant 1 : i32 -> !hi
  %int0 = mx.constant 0 : i32 -> !hi
  %5 = mx.add %y, %int0 : (!i, !hi) -> !i
  %6 = mx.sub %5, %int0 : (!i, !hi) -> !i
  %7 = mx.mul %6, %int1 : (!i, !hi) -> !i
  %8 = mx.floordiv %7, %int1 : (!i, !hi) -> !i
  %9 = mx.shift_left %8, %int0 : (!i, !hi) -> !i
  %zeros = mx.constant dense<0> : tensor<4xi32> -> !i
  %10 = mx.bit_xor %9, %zeros : (!i, !i) -> !i
  %true = mx.constant true -> !mx.tensor<bool[] on host>
  %11 = mx.and %z, %true : (!b, !mx.tensor<bool[] on host>) -> !b
  mx.return %12, %10, %11 : !f, !i, !b
}

// CHECK-LABEL: mx.graph @twice
// CHECK-NEXT: mx.return %arg0, %arg1, %arg2
mx.graph @twice(%x: !f, %y: !i, %z: !b) -> (!f, !i, !b) {
  %0 = mx.neg %x : (!f) -> !f
  %1 = mx.neg %0 : (!f) -> !f
  %2 = mx.bit_not %y : (!i) -> !i
  %3 = mx.bit_not %2 : (!i) -> !i
  %4 = mx.not %z : (!b) -> !b
  %5 = mx.not %4 : (!b) -> !b
  %6 = mx.select %z, %1, %1 : (!b, !f, !f) -> !f
  mx.return %6, %3, %5 : !f, !i, !b
}

// CHECK-LABEL: mx.graph @casts
// CHECK-DAG: mx.cast %arg0 : (!mx.tensor<f16[4]>) -> !mx.tensor<f64[4]>
// CHECK-DAG: mx.cast %arg1 : (!mx.tensor<i32[4]>) -> !mx.tensor<f32[4]>
// CHECK-NOT: mx.cast
// CHECK: mx.return %{{.*}}, %{{.*}}, %arg1
mx.graph @casts(%h: !mx.tensor<f16[4]>, %y: !i) -> (!mx.tensor<f64[4]>, !f, !i) {
  %0 = mx.cast %h : (!mx.tensor<f16[4]>) -> !f
  %1 = mx.cast %0 : (!f) -> !mx.tensor<f64[4]>
  %2 = mx.cast %y : (!i) -> !mx.tensor<f64[4]>
  %3 = mx.cast %2 : (!mx.tensor<f64[4]>) -> !f
  %4 = mx.cast %2 : (!mx.tensor<f64[4]>) -> !i
  mx.return %1, %3, %4 : !mx.tensor<f64[4]>, !f, !i
}

// CHECK-LABEL: mx.graph @shapes
// CHECK-NEXT: %[[T:.*]] = mx.transpose %arg0 by [1, 2, 0]
// CHECK-NEXT: %[[B:.*]] = mx.broadcast %arg1 : <f32[4]> -> <f32[2, 3, 4]>
// CHECK-NEXT: mx.return %[[T]], %[[B]], %arg1, %arg1
mx.graph @shapes(%x: !mx.tensor<f32[2, 3, 4]>, %y: !f) -> (!mx.tensor<f32[3, 4, 2]>, !mx.tensor<f32[2, 3, 4]>, !f, !f) {
  %0 = mx.transpose %x by [2, 0, 1] : !mx.tensor<f32[2, 3, 4]> -> !mx.tensor<f32[4, 2, 3]>
  %1 = mx.transpose %0 by [2, 0, 1] : !mx.tensor<f32[4, 2, 3]> -> !mx.tensor<f32[3, 4, 2]>
  %2 = mx.broadcast %y : !f -> !mx.tensor<f32[3, 4]>
  %3 = mx.broadcast %2 : !mx.tensor<f32[3, 4]> -> !mx.tensor<f32[2, 3, 4]>
  %4 = mx.slice %y ["r"] at () : (!f) -> !f
  %5 = mx.to %y : !f -> !mx.tensor<f32[4] on "cpu:1">
  %6 = mx.to %5 : !mx.tensor<f32[4] on "cpu:1"> -> !f
  mx.return %1, %3, %4, %6 : !mx.tensor<f32[3, 4, 2]>, !mx.tensor<f32[2, 3, 4]>, !f, !f
}

// CHECK-LABEL: mx.graph @branches
// CHECK-NEXT: %[[E:.*]] = mx.exp %arg0
// CHECK-NEXT: %[[I:.*]] = mx.if %arg1 : (!mx.tensor<bool[]>) -> !mx.tensor<f32[4]>
// CHECK: mx.return %[[E]], %arg0, %[[I]]
mx.graph @branches(%x: !f, %c: !mx.tensor<bool[]>) -> (!f, !f, !f) {
  %0 = mx.if %c : (!mx.tensor<bool[]>) -> !f {
    %e = mx.exp %x : (!f) -> !f
    mx.yield %e : !f
  } else {
    %e = mx.exp %x : (!f) -> !f
    mx.yield %e : !f
  }
  %1:3 = mx.if %c : (!mx.tensor<bool[]>) -> (!f, !f, !f) {
    %e = mx.sin %x : (!f) -> !f
    mx.yield %x, %e, %e : !f, !f, !f
  } else {
    %e = mx.cos %x : (!f) -> !f
    mx.yield %x, %e, %x : !f, !f, !f
  }
  mx.return %0, %1#0, %1#1 : !f, !f, !f
}

// CHECK-LABEL: mx.graph @undefined
// CHECK-NEXT: mx.return %arg0
mx.graph @undefined(%x: !f, %c: !mx.tensor<bool[]>) -> !f {
  %0 = mx.if %c : (!mx.tensor<bool[]>) -> !f {
    %u = mx.undef : !f
    mx.yield %u : !f
  } else {
    mx.yield %x : !f
  }
  mx.return %0 : !f
}

// CHECK-LABEL: mx.graph @copiedNumber
// CHECK-NEXT: mx.mul %arg0, %arg1 : (!mx.tensor<f32[4]>, !mx.tensor<f32[] on host>)
// CHECK-NEXT: mx.full %arg1 : !mx.tensor<f32[] on host>
// CHECK-NEXT: mx.return
mx.graph @copiedNumber(%x: !f, %h: !hf) -> (!f, !f) {
  %d = mx.to %h : !hf -> !mx.tensor<f32[]>
  %0 = mx.mul %x, %d : (!f, !mx.tensor<f32[]>) -> !f
  %1 = mx.full %d : !mx.tensor<f32[]> -> !f
  mx.return %0, %1 : !f, !f
}

// Two values feed only each other, and one never changes.
// CHECK-LABEL: mx.graph @carried
// CHECK: mx.for %{{.*}} to %arg1 carries(%arg0) :
// CHECK-NOT: mx.sin
// CHECK: mx.mul %{{.*}}, %arg0
// CHECK: mx.yield %{{[^,]*}} : !mx.tensor<f32[4]>
// CHECK: mx.while carries(%arg0) :
// CHECK-NOT: mx.exp
mx.graph @carried(%x: !f, %n: !n, %c: !mx.tensor<bool[]>) -> (!f, !f) {
  %zero = mx.constant 0 : i64 -> !n
  %0:4 = mx.for %zero to %n carries (%x, %x, %x, %x) : (!n, !n, !f, !f, !f, !f) -> (!f, !f, !f, !f) {
  ^bb0(%i: !n, %a: !f, %b: !f, %d: !f, %e: !f):
    %1 = mx.mul %a, %d : (!f, !f) -> !f
    %2 = mx.sin %b : (!f) -> !f
    mx.yield %1, %e, %d, %2 : !f, !f, !f, !f
  }
  %3:2 = mx.while carries (%x, %x) : (!f, !f) -> (!f, !f) {
  ^bb0(%a: !f, %b: !f):
    mx.yield %c : !mx.tensor<bool[]>
  } do {
  ^bb0(%a: !f, %b: !f):
    %4 = mx.neg %a : (!f) -> !f
    %5 = mx.exp %b : (!f) -> !f
    mx.yield %4, %5 : !f, !f
  }
  mx.return %0#0, %3#0 : !f, !f
}
