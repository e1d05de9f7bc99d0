// RUN: mxc-opt %s --inline-calls --symbol-dce | FileCheck %s
// RUN: mxc-opt %s --inline-calls --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATION
// Calls become bodies, transitively, with the callee's sizes in terms of the caller's.

mx.func private @scale(%x: !mx.tensor<f32[N]>) -> !mx.tensor<f32[N]> attributes {sizes = ["N"]} {
  %two = mx.constant 2.0 : f32 -> !mx.tensor<f32[] on host>
  %y = mx.mul %x, %two : (!mx.tensor<f32[N]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[N]>
  mx.print %y : !mx.tensor<f32[N]>
  mx.return %y : !mx.tensor<f32[N]>
}
mx.func private @twice(%x: !mx.tensor<f32[M]>) -> !mx.tensor<f32[M]> attributes {sizes = ["M"]} {
  %a = mx.call @scale (%x) sizes [#mx.size<M>] : (!mx.tensor<f32[M]>) -> !mx.tensor<f32[M]>
  %b = mx.call @scale (%a) sizes [#mx.size<M>] : (!mx.tensor<f32[M]>) -> !mx.tensor<f32[M]>
  mx.return %b : !mx.tensor<f32[M]>
}

// CHECK-NOT: mx.func
// CHECK-LABEL: mx.graph @through
// CHECK-SAME: f32[2*N]
// CHECK-NOT: mx.call
// CHECK: mx.mul %arg0, %{{.*}} : (!mx.tensor<f32[2*N]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[2*N]>
// CHECK: mx.print
// CHECK: %[[LAST:.*]] = mx.mul %{{.*}} -> !mx.tensor<f32[2*N]>
// CHECK: mx.return %[[LAST]]
// LOCATION-LABEL: mx.graph @through
// LOCATION: mx.mul {{.*}} loc(#[[MUL:loc[0-9]+]])
// LOCATION-DAG: #[[MUL]] = loc(callsite(#[[INNER:loc[0-9]+]] at #[[OUTER:loc[0-9]+]]))
// LOCATION-DAG: #[[OUTER]] = loc(callsite(#{{.*}} at #{{.*}}))
// LOCATION-DAG: #[[INNER]] = loc("{{.*}}inline-calls.mlir":7:8)
mx.graph @through(%x: !mx.tensor<f32[2*N]>) -> !mx.tensor<f32[2*N]> attributes {sizes = ["N"]} {
  %y = mx.call @twice (%x) sizes [#mx.size<2*N>] : (!mx.tensor<f32[2*N]>) -> !mx.tensor<f32[2*N]>
  mx.return %y : !mx.tensor<f32[2*N]>
}

// A graph called from a graph, inside a loop.
// CHECK-LABEL: mx.graph @inLoop
// CHECK: mx.for
// CHECK-COUNT-2: mx.mul {{.*}} -> !mx.tensor<f32[8]>
// CHECK-NOT: mx.call
mx.graph @inLoop(%x: !mx.tensor<f32[8]>, %n: !mx.tensor<i64[] on host>) -> !mx.tensor<f32[8]> {
  %zero = mx.constant 0 : i64 -> !mx.tensor<i64[] on host>
  %y = mx.for %zero to %n carries (%x) : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>, !mx.tensor<f32[8]>) -> !mx.tensor<f32[8]> {
  ^bb0(%i: !mx.tensor<i64[] on host>, %v: !mx.tensor<f32[8]>):
    %w = mx.call @through (%v) sizes [#mx.size<4>] : (!mx.tensor<f32[8]>) -> !mx.tensor<f32[8]>
    mx.yield %w : !mx.tensor<f32[8]>
  }
  mx.return %y : !mx.tensor<f32[8]>
}

mx.func private @head(%x: !mx.tensor<f32[N]>, %k: !mx.tensor<i64[] on host>) -> !mx.tensor<f32[]> attributes {sizes = ["N"]} {
  mx.bind_size "K" = %k : !mx.tensor<i64[] on host>
  %part = mx.slice %x ["rt"] at (%k) : (!mx.tensor<f32[N]>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[K]>
  %s = mx.sum %part over [0] : !mx.tensor<f32[K]> -> !mx.tensor<f32[]>
  mx.return %s : !mx.tensor<f32[]>
}
// The callee's K is not the caller's K, and two calls bind two sizes.
// CHECK-LABEL: mx.graph @fresh
// CHECK: mx.bind_size "K.1"
// CHECK: mx.slice {{.*}} -> !mx.tensor<f32[K.1]>
// CHECK: mx.bind_size "K.2"
// CHECK: mx.sum {{.*}} : <f32[K.2]>
mx.graph @fresh(%x: !mx.tensor<f32[K]>, %a: !mx.tensor<i64[] on host>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[]>) attributes {sizes = ["K"]} {
  %s = mx.call @head (%x, %a) sizes [#mx.size<K>] : (!mx.tensor<f32[K]>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[]>
  %t = mx.call @head (%x, %a) sizes [#mx.size<K>] : (!mx.tensor<f32[K]>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[]>
  mx.return %s, %t : !mx.tensor<f32[]>, !mx.tensor<f32[]>
}

mx.func private @apply(%f: !mx.fn<(!mx.tensor<f32[N]>) -> !mx.tensor<f32[N]>>, %x: !mx.tensor<f32[N]>) -> !mx.tensor<f32[N]> attributes {sizes = ["N"]} {
  %y = mx.call_value %f (%x) : (!mx.fn<(!mx.tensor<f32[N]>) -> !mx.tensor<f32[N]>>, !mx.tensor<f32[N]>) -> !mx.tensor<f32[N]>
  mx.return %y : !mx.tensor<f32[N]>
}
// A function value that the graph makes and hands to a callee.
// CHECK-LABEL: mx.graph @functionValue
// CHECK-NOT: mx.closure
// CHECK: mx.mul
// CHECK-NOT: mx.call_value
mx.graph @functionValue(%x: !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  %f = mx.closure @scale () sizes [#mx.size<4>] : () -> !mx.fn<(!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>>
  %y = mx.call @apply (%f, %x) sizes [#mx.size<4>] : (!mx.fn<(!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
  mx.return %y : !mx.tensor<f32[4]>
}

mx.func private @decide(%x: !mx.tensor<f32[]>, %c: !mx.tensor<bool[]>) -> !mx.tensor<f32[]> {
  %h = mx.read %c : !mx.tensor<bool[]> -> !mx.tensor<bool[] on host>
  %y = mx.if %h : (!mx.tensor<bool[] on host>) -> !mx.tensor<f32[]> {
    mx.yield %x : !mx.tensor<f32[]>
  } else {
    %n = mx.neg %x : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
    mx.yield %n : !mx.tensor<f32[]>
  }
  mx.return %y : !mx.tensor<f32[]>
}
mx.func private @count(%x: !mx.tensor<i64[]>) -> !mx.tensor<i64[] on host> {
  %h = mx.read %x : !mx.tensor<i64[]> -> !mx.tensor<i64[] on host>
  mx.return %h : !mx.tensor<i64[] on host>
}
// Waiting for a condition is for eager code; a number that is used as such is read.
// CHECK-LABEL: mx.graph @condition
// CHECK-NOT: mx.read
// CHECK: mx.if %arg1 : (!mx.tensor<bool[]>)
// CHECK-LABEL: mx.graph @number
// CHECK: mx.read
mx.graph @condition(%x: !mx.tensor<f32[]>, %c: !mx.tensor<bool[]>) -> !mx.tensor<f32[]> {
  %y = mx.call @decide (%x, %c) : (!mx.tensor<f32[]>, !mx.tensor<bool[]>) -> !mx.tensor<f32[]>
  mx.return %y : !mx.tensor<f32[]>
}
mx.graph @number(%x: !mx.tensor<i64[]>) -> !mx.tensor<i64[] on host> {
  %y = mx.call @count (%x) : (!mx.tensor<i64[]>) -> !mx.tensor<i64[] on host>
  mx.return %y : !mx.tensor<i64[] on host>
}
