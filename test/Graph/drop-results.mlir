// RUN: mxc-opt %s --drop-results --canonicalize | FileCheck %s
// A caller that takes one part of a tuple pays for that part; one that takes all, or hands the tuple on,
// calls the graph as it is.

!v = !mx.tensor<f32[N]>
!t = !mx.aggregate<"" [](!v, !v)>

// CHECK-LABEL: mx.func @second
// CHECK: %[[L:.*]] = mx.call @both.only.1(%arg0)
// CHECK: mx.return %[[L]]
mx.func @second(%x: !v) -> !v attributes {sizes = ["N"]} {
  %b = mx.call @both(%x) sizes [#mx.size<N>] : (!v) -> !t
  %e = mx.get %b 0 : !t -> !v
  %l = mx.get %b 1 : !t -> !v
  mx.return %l : !v
}
// CHECK-LABEL: mx.func @all
// CHECK: mx.call @both(
mx.func @all(%x: !v) -> (!v, !v) attributes {sizes = ["N"]} {
  %b = mx.call @both(%x) sizes [#mx.size<N>] : (!v) -> !t
  %e = mx.get %b 0 : !t -> !v
  %l = mx.get %b 1 : !t -> !v
  mx.return %e, %l : !v, !v
}
// CHECK-LABEL: mx.func @whole
// CHECK: mx.call @both(
mx.func @whole(%x: !v) -> !t attributes {sizes = ["N"]} {
  %b = mx.call @both(%x) sizes [#mx.size<N>] : (!v) -> !t
  mx.return %b : !t
}
// CHECK-LABEL: mx.graph @both(
// CHECK: mx.exp
// CHECK: mx.log
mx.graph @both(%x: !v) -> !t attributes {sizes = ["N"]} {
  %e = mx.exp %x : (!v) -> !v
  %l = mx.log %x : (!v) -> !v
  %t = mx.make(%e, %l) : (!v, !v) -> !t
  mx.return %t : !t
}
// CHECK-LABEL: mx.graph @both.only.1(
// CHECK-NOT: mx.exp
// CHECK: mx.log
