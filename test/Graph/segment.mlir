// RUN: mxc-opt %s --segment --split-input-file | FileCheck %s
// A graph on two devices becomes a function that calls one graph a device and step; others stay.

!a = !mx.tensor<f32[N]>
!b = !mx.tensor<f32[N] on "cpu:1">

// Three segments: there and back is two steps. What needs no other segment is part of its user's.
// CHECK-LABEL: mx.func @pipe
// CHECK-NEXT: %[[A:.*]] = mx.call @pipe.segment(%arg0) sizes [#mx.size<N>]
// CHECK-NEXT: %[[T:.*]] = mx.to %[[A]]
// CHECK-NEXT: %[[B:.*]] = mx.call @pipe.segment_{{[0-9]+}}(%[[T]])
// CHECK-NEXT: %[[U:.*]] = mx.to %[[B]]
// CHECK-NEXT: %[[C:.*]] = mx.call @pipe.segment_{{[0-9]+}}(%[[U]], %[[A]])
// CHECK-NEXT: mx.return %[[C]]
// CHECK: mx.graph @pipe.segment_
// CHECK: mx.iota
// CHECK: mx.mul
// CHECK: mx.graph @pipe.segment_
// CHECK-NEXT: mx.log
// CHECK: mx.graph @pipe.segment(
// CHECK-NEXT: mx.exp
// CHECK-NEXT: mx.neg
// CHECK-NEXT: mx.return
mx.graph @pipe(%x: !a) -> !a attributes {sizes = ["N"]} {
  %i = mx.iota : !a
  %e = mx.exp %x : (!a) -> !a
  %n = mx.neg %e : (!a) -> !a
  %t = mx.to %n : !a -> !b
  %l = mx.log %t : (!b) -> !b
  %u = mx.to %l : !b -> !a
  %m = mx.mul %u, %n : (!a, !a) -> !a
  %s = mx.add %m, %i : (!a, !a) -> !a
  mx.return %s : !a
}

// -----

// CHECK-LABEL: mx.graph @one
// CHECK-NOT: mx.call
mx.graph @one(%x: !mx.tensor<f32[N] on "cpu:1">) -> !mx.tensor<f32[N] on "cpu:1"> attributes {sizes = ["N"]} {
  %e = mx.exp %x : (!mx.tensor<f32[N] on "cpu:1">) -> !mx.tensor<f32[N] on "cpu:1">
  mx.return %e : !mx.tensor<f32[N] on "cpu:1">
}
