// RUN: mxc-opt %s --summarize | FileCheck %s
// The branch goes; paths, outputs and costs of what it called are arguments of the table.

!w = !mx.tensor<f32[D, H]>
!dense = !mx.aggregate<"Dense" ["w"] (!mx.tensor<f32[D, H]>)>
!square = !mx.aggregate<"Dense" ["w"] (!mx.tensor<f32[4, 4]>)>
!net = !mx.aggregate<"Net" ["a"] (!mx.aggregate<"Dense" ["w"] (!mx.tensor<f32[4, 4]>)>)>
!n = !mx.tensor<i64[] on host>
!b = !mx.tensor<bool[] on host>

mx.func private @dense(%m: !dense, %x: !mx.tensor<f32[N, D]>) -> !mx.tensor<f32[N, H]> attributes {sizes = ["N", "D", "H"]} {
  %w = mx.get %m 0 : !dense -> !w
  %y = mx.matmul %x, %w : (!mx.tensor<f32[N, D]>, !w) -> !mx.tensor<f32[N, H]>
  mx.return %y : !mx.tensor<f32[N, H]>
}
mx.func private @net(%m: !net, %x: !mx.tensor<f32[N, 4]>) -> !mx.tensor<f32[N, 4]> attributes {sizes = ["N"]} {
  %a = mx.get %m 0 : !net -> !square
  %zero = mx.constant 0 : i64 -> !n
  %three = mx.constant 3 : i64 -> !n
  %h = mx.for %zero to %three carries (%x) : (!n, !n, !mx.tensor<f32[N, 4]>) -> !mx.tensor<f32[N, 4]> {
  ^bb0(%i: !n, %v: !mx.tensor<f32[N, 4]>):
    %y = mx.call @dense (%a, %v) sizes [#mx.size<N>, #mx.size<4>, #mx.size<4>] : (!square, !mx.tensor<f32[N, 4]>) -> !mx.tensor<f32[N, 4]>
    mx.yield %y : !mx.tensor<f32[N, 4]>
  }
  %t = mx.tanh %h : (!mx.tensor<f32[N, 4]>) -> !mx.tensor<f32[N, 4]>
  mx.return %t : !mx.tensor<f32[N, 4]>
}

// Three matmuls with 2 * 4 operations for each of 4 * M numbers, and 4 * M tanh.
// CHECK-LABEL: mx.func @main
// CHECK-NOT: mx.if
// CHECK: %[[ROOT:.*]] = mx.text ""
// CHECK: %[[ALL:.*]] = mx.size <100*M>
// CHECK: %[[A:.*]] = mx.text "a"
// CHECK: %[[PART:.*]] = mx.size <96*M>
// CHECK: mx.native "mx.summary"(%{{.*}}, %{{.*}}, %[[ROOT]], %{{.*}}, %[[ALL]], %[[A]], %{{.*}}, %[[PART]])
mx.func @main(%m: !net, %x: !mx.tensor<f32[M, 4]>) attributes {sizes = ["M"]} {
  %no = mx.constant false -> !b
  mx.if %no {mx.summarised} : (!b) -> () {
    %y = mx.call @net (%m, %x) sizes [#mx.size<M>] : (!net, !mx.tensor<f32[M, 4]>) -> !mx.tensor<f32[M, 4]>
    mx.yield
  } else {
    mx.yield
  }
  %yes = mx.constant true -> !b
  %none = mx.constant 0 : i64 -> !n
  mx.native "mx.summary"(%yes, %none) : (!b, !n) -> ()
  mx.return
}
