// RUN: mxc-opt %s --assign-devices | FileCheck %s
// What stands in an `on` is placed there with all it calls; copies are made once, and only where needed.

!v = !mx.tensor<f32[N]>

// One copy of %x serves both ops; the sum of numbers stays where they are.
// CHECK-LABEL: mx.func @once
// CHECK: %[[X:.*]] = mx.to %arg0 : <f32[N]> -> <f32[N] on "cpu:1">
// CHECK-NOT: mx.to
// CHECK: %[[A:.*]] = mx.exp %[[X]] : (!mx.tensor<f32[N] on "cpu:1">) -> !mx.tensor<f32[N] on "cpu:1">
// CHECK: %[[B:.*]] = mx.log %[[X]]
// CHECK: mx.add %[[A]], %[[B]] : {{.*}} -> !mx.tensor<f32[N] on "cpu:1">
// CHECK: mx.neg %arg0 : (!mx.tensor<f32[N]>) -> !mx.tensor<f32[N]>
mx.func @once(%x: !v) -> (!v, !v) attributes {sizes = ["N"]} {
  %a = mx.exp %x {mx.on = "cpu:1"} : (!v) -> !v
  %b = mx.log %x {mx.on = "cpu:1"} : (!v) -> !v
  %c = mx.add %a, %b : (!v, !v) -> !v
  %d = mx.neg %x : (!v) -> !v
  mx.return %c, %d : !v, !v
}

// The callee has a copy for the device it is called on; its results say where they are.
// CHECK-LABEL: mx.func @caller
// CHECK: %[[M:.*]] = mx.to %arg0
// CHECK: mx.call @callee.placed(%[[M]]) {{.*}} -> !mx.tensor<f32[M] on "cpu:1">
// CHECK: mx.call @callee(%arg0) {{.*}} -> !mx.tensor<f32[M]>
mx.func @caller(%x: !mx.tensor<f32[M]>) -> (!mx.tensor<f32[M]>, !mx.tensor<f32[M]>) attributes {sizes = ["M"]} {
  %a = mx.call @callee(%x) sizes [#mx.size<M>] {mx.on = "cpu:1"} : (!mx.tensor<f32[M]>) -> !mx.tensor<f32[M]>
  %b = mx.call @callee(%x) sizes [#mx.size<M>] : (!mx.tensor<f32[M]>) -> !mx.tensor<f32[M]>
  mx.return %a, %b : !mx.tensor<f32[M]>, !mx.tensor<f32[M]>
}
mx.func @callee(%x: !v) -> !v attributes {sizes = ["N"]} {
  %a = mx.exp %x : (!v) -> !v
  mx.return %a : !v
}

// A carried value stays where it began; what an iteration computes elsewhere comes back.
// CHECK-LABEL: mx.func @carried
// CHECK: mx.for
// CHECK: %[[THERE:.*]] = mx.to {{.*}} on "cpu:1">
// CHECK: %[[E:.*]] = mx.exp %[[THERE]]
// CHECK: %[[BACK:.*]] = mx.to %[[E]] : <f32[N] on "cpu:1"> -> <f32[N]>
// CHECK: mx.yield %[[BACK]]
mx.func @carried(%x: !v, %n: !mx.tensor<i64[] on host>) -> !v attributes {sizes = ["N"]} {
  %zero = mx.constant 0 : i64 -> <i64[] on host>
  %r = mx.for %zero to %n carries(%x) : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>, !v) -> !v {
  ^bb0(%i: !mx.tensor<i64[] on host>, %y: !v):
    %e = mx.exp %y {mx.on = "cpu:1"} : (!v) -> !v
    mx.yield %e : !v
  }
  mx.return %r : !v
}

// A part is taken where the whole is.
// CHECK-LABEL: mx.func @part
// CHECK: %[[P:.*]] = mx.slice %arg0
// CHECK: mx.to %[[P]] : <f32[2]> -> <f32[2] on "cpu:1">
mx.func @part(%x: !mx.tensor<f32[100]>) -> !mx.tensor<f32[2]> attributes {sizes = []} {
  %from = mx.constant 0 : i64 -> <i64[] on host>
  %to = mx.constant 2 : i64 -> <i64[] on host>
  %p = mx.slice %x ["rft"] at(%from, %to) {mx.on = "cpu:1"} : (!mx.tensor<f32[100]>, !mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[2]>
  %e = mx.exp %p {mx.on = "cpu:1"} : (!mx.tensor<f32[2]>) -> !mx.tensor<f32[2]>
  mx.return %e : !mx.tensor<f32[2]>
}
