// RUN: mxc-opt %s --differentiate --split-input-file | FileCheck %s
// Derived code: the body, then its adjoint in reverse order.

// What is broadcast is added up again; constants get nothing.
// CHECK-LABEL: mx.func private @line$grad
// CHECK-SAME:  (%[[W:.*]]: !mx.tensor<f32[3]>, %[[B:.*]]: !mx.tensor<f32[]>, %[[X:.*]]: !mx.tensor<f32[N, 3]>)
// CHECK:       %[[P:.*]] = mx.mul %[[X]], %[[W]]
// CHECK:       %[[Q:.*]] = mx.add %[[P]], %[[B]]
// CHECK:       %[[S:.*]] = mx.sum %[[Q]]
// CHECK:       %[[ONE:.*]] = mx.full
// CHECK:       %[[R:.*]] = mx.reshape %[[ONE]] {{.*}} -> <f32[1, 1]>
// CHECK:       %[[G:.*]] = mx.broadcast %[[R]] {{.*}} -> <f32[N, 3]>
// CHECK:       %[[GB:.*]] = mx.sum %[[G]] over [0, 1]
// CHECK:       %[[GX:.*]] = mx.mul %[[G]], %[[X]]
// CHECK:       %[[GW:.*]] = mx.sum %[[GX]] over [0]
// CHECK-NOT:   mx.mul
// CHECK:       mx.return %[[S]], %[[GW]], %[[GB]]
mx.func private @line(%w: !mx.tensor<f32[3]>, %b: !mx.tensor<f32[]>, %x: !mx.tensor<f32[N, 3]>) -> !mx.tensor<f32[]> attributes {sizes = ["N"]} {
  %p = mx.mul %x, %w : (!mx.tensor<f32[N, 3]>, !mx.tensor<f32[3]>) -> !mx.tensor<f32[N, 3]>
  %q = mx.add %p, %b : (!mx.tensor<f32[N, 3]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[N, 3]>
  %s = mx.sum %q over [0, 1] : !mx.tensor<f32[N, 3]> -> !mx.tensor<f32[]>
  mx.return %s : !mx.tensor<f32[]>
}
// CHECK-LABEL: mx.func @main
// CHECK:       mx.call @line$grad
// CHECK-NOT:   mx.grad
mx.func @main(%w: !mx.tensor<f32[3]>, %b: !mx.tensor<f32[]>, %x: !mx.tensor<f32[N, 3]>) -> !mx.tensor<f32[3]> attributes {sizes = ["N"]} {
  %r:3 = mx.grad @line (%w, %b, %x) wrt [0, 1] sizes [#mx.size<N>] : (!mx.tensor<f32[3]>, !mx.tensor<f32[]>, !mx.tensor<f32[N, 3]>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[3]>, !mx.tensor<f32[]>)
  mx.return %r#1 : !mx.tensor<f32[3]>
}

// -----

// Nothing passes a stop, and none is left.
// CHECK-LABEL: mx.func private @cut$grad
// CHECK-NOT:   mx.stop
// CHECK:       %[[P:.*]] = mx.mul %arg0, %arg0
// CHECK:       %[[ONE:.*]] = mx.full
// CHECK-NEXT:  %[[G:.*]] = mx.mul %[[ONE]], %arg0
// CHECK-NEXT:  mx.return %[[P]], %[[G]]
mx.func private @cut(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %s = mx.stop %x : !mx.tensor<f32[]> -> !mx.tensor<f32[]>
  %p = mx.mul %x, %s : (!mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %p : !mx.tensor<f32[]>
}
mx.func @main(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %r:2 = mx.grad @cut (%x) wrt [0] : (!mx.tensor<f32[]>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[]>)
  mx.return %r#1 : !mx.tensor<f32[]>
}

// -----

// A loop keeps the one state that its adjoint needs: the factor, and not the sum.
// CHECK-LABEL: mx.func private @power$grad
// CHECK:       %[[STACK:.*]] = mx.full {{.*}} -> <f32[5]>
// CHECK:       %[[LOOP:.*]]:3 = mx.for {{.*}} carries({{.*}}, %[[STACK]])
// CHECK:         mx.update
// CHECK:       mx.for
// CHECK:         mx.slice %[[LOOP]]#2
// CHECK-NOT:   mx.slice
// CHECK:       mx.return
mx.func private @power(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %from = mx.constant 0 : i64 -> !mx.tensor<i64[] on host>
  %to = mx.constant 5 : i64 -> !mx.tensor<i64[] on host>
  %r:2 = mx.for %from to %to carries (%x, %x) : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>, !mx.tensor<f32[]>, !mx.tensor<f32[]>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[]>) {
  ^bb0(%i: !mx.tensor<i64[] on host>, %p: !mx.tensor<f32[]>, %s: !mx.tensor<f32[]>):
    %q = mx.mul %p, %x : (!mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[]>
    %t = mx.add %s, %q : (!mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[]>
    mx.yield %q, %t : !mx.tensor<f32[]>, !mx.tensor<f32[]>
  }
  mx.return %r#1 : !mx.tensor<f32[]>
}
mx.func @main(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %r:2 = mx.grad @power (%x) wrt [0] : (!mx.tensor<f32[]>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[]>)
  mx.return %r#1 : !mx.tensor<f32[]>
}
