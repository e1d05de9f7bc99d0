// RUN: mxc-opt %s --amp | FileCheck %s
// Matmuls of a function marked `mx.amp` read 16 bits and give f32 again, with all the function calls.

!m = !mx.tensor<f32[N, N]>
!v = !mx.tensor<f32[N]>
!d = !mx.tensor<f64[N, N]>

// What two products read is rounded once; sums and elementwise ops stay as they are.
// CHECK-LABEL: mx.func @once(
// CHECK-NOT: mx.amp
// CHECK-NEXT: %[[X:.*]] = mx.cast %arg0 : (!mx.tensor<f32[N, N]>) -> !mx.tensor<bf16[N, N]>
// CHECK-NEXT: %[[P:.*]] = mx.matmul %[[X]], %[[X]] : {{.*}} -> !mx.tensor<bf16[N, N]>
// CHECK-NEXT: %[[W:.*]] = mx.cast %[[P]] : {{.*}} -> !mx.tensor<f32[N, N]>
// CHECK-NEXT: %[[R:.*]] = mx.exp %[[W]] : (!mx.tensor<f32[N, N]>)
// CHECK-NEXT: %[[E:.*]] = mx.cast %[[R]]
// CHECK-NEXT: %[[Q:.*]] = mx.matmul %[[E]], %[[X]]
// CHECK-NEXT: %[[B:.*]] = mx.cast %[[Q]]
// CHECK-NEXT: mx.sum %[[B]] over [1] : <f32[N, N]> -> <f32[N]>
mx.func @once(%x: !m) -> !v attributes {sizes = ["N"], mx.amp = bf16} {
  %p = mx.matmul %x, %x : (!m, !m) -> !m
  %e = mx.exp %p : (!m) -> !m
  %q = mx.matmul %e, %x : (!m, !m) -> !m
  %s = mx.sum %q over [1] : <f32[N, N]> -> <f32[N]>
  mx.return %s : !v
}

// A weight that a loop multiplies with is rounded before the loop.
// CHECK-LABEL: mx.func @loop(
// CHECK-NEXT: mx.cast %arg1
// CHECK: mx.for
// CHECK: mx.cast
// CHECK-NEXT: mx.matmul
// CHECK-NEXT: mx.cast
// CHECK-NEXT: mx.yield
mx.func @loop(%x: !m, %w: !m, %n: !mx.tensor<i64[] on host>) -> !m attributes {sizes = ["N"], mx.amp = f16} {
  %zero = mx.constant 0 : i64 -> <i64[] on host>
  %r = mx.for %zero to %n carries(%x) : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>, !m) -> !m {
  ^bb0(%i: !mx.tensor<i64[] on host>, %y: !m):
    %p = mx.matmul %y, %w : (!m, !m) -> !m
    mx.yield %p : !m
  }
  mx.return %r : !m
}

// Callees have a copy for each precision they are called with, even where they call each other. One
// that says how it computes itself, one without a matmul and f64 stay.
// CHECK-LABEL: mx.func @caller(
// CHECK: mx.call @helper.f16
// CHECK: mx.call @exact(
// CHECK: mx.call @plain(
// CHECK: mx.grad @body.f16
// CHECK: mx.matmul %arg1, %arg1 : (!mx.tensor<f64[N, N]>
mx.func @caller(%x: !m, %d: !d) -> !m attributes {sizes = ["N"], mx.amp = f16} {
  %a = mx.call @helper(%x) sizes [#mx.size<N>] : (!m) -> !m
  %b = mx.call @exact(%a) sizes [#mx.size<N>] : (!m) -> !m
  %c = mx.call @plain(%b) sizes [#mx.size<N>] : (!m) -> !m
  %v, %g = mx.grad @body(%c) wrt [0] sizes [#mx.size<N>] : (!m) -> (!mx.tensor<f32[]>, !m)
  %p = mx.matmul %d, %d : (!d, !d) -> !d
  mx.return %g : !m
}
// CHECK-LABEL: mx.func @other(
// CHECK: mx.call @helper.bf16
mx.func @other(%x: !m) -> !m attributes {sizes = ["N"], mx.amp = bf16} {
  %a = mx.call @helper(%x) sizes [#mx.size<N>] : (!m) -> !m
  mx.return %a : !m
}
// The function itself is left as it was, for callers without the mark.
// CHECK-LABEL: mx.func @helper(
// CHECK-NEXT: mx.matmul %arg0, %arg0 : (!mx.tensor<f32[N, N]>
// CHECK: mx.func @helper.bf16(
// CHECK: mx.matmul {{.*}} -> !mx.tensor<bf16[N, N]>
// CHECK: mx.func @helper.f16(
// CHECK: mx.matmul {{.*}} -> !mx.tensor<f16[N, N]>
// CHECK: mx.call @helper.f16
mx.func @helper(%x: !m) -> !m attributes {sizes = ["N"]} {
  %p = mx.matmul %x, %x : (!m, !m) -> !m
  %q = mx.call @helper(%p) sizes [#mx.size<N>] : (!m) -> !m
  mx.return %q : !m
}
// CHECK-LABEL: mx.func @exact(
// CHECK-NEXT: mx.matmul %arg0, %arg0 : (!mx.tensor<f32[N, N]>
// CHECK-NEXT: mx.call @helper(
mx.func @exact(%x: !m) -> !m attributes {sizes = ["N"], mx.amp = f32} {
  %p = mx.matmul %x, %x : (!m, !m) -> !m
  %q = mx.call @helper(%p) sizes [#mx.size<N>] : (!m) -> !m
  mx.return %q : !m
}
mx.func @plain(%x: !m) -> !m attributes {sizes = ["N"]} {
  %p = mx.exp %x : (!m) -> !m
  mx.return %p : !m
}
// CHECK-LABEL: mx.func @body(
// CHECK: mx.func @body.f16(
// CHECK: mx.call @helper.f16
mx.func @body(%x: !m) -> !mx.tensor<f32[]> attributes {sizes = ["N"]} {
  %p = mx.call @helper(%x) sizes [#mx.size<N>] : (!m) -> !m
  %s = mx.sum %p over [0, 1] : <f32[N, N]> -> <f32[]>
  mx.return %s : !mx.tensor<f32[]>
}

// The rule of a function and what runs op by op instead of a graph follow.
// CHECK-LABEL: mx.graph @step(
// CHECK-SAME: mx.eager = "step$eager.bf16"
// CHECK: mx.call @ruled.bf16
mx.graph @step(%x: !m) -> !m attributes {sizes = ["N"], mx.amp = bf16, mx.eager = "step$eager"} {
  %p = mx.call @ruled(%x) sizes [#mx.size<N>] : (!m) -> !m
  mx.return %p : !m
}
// CHECK: mx.func @step$eager.bf16(
mx.func @step$eager(%x: !m) -> !m attributes {sizes = ["N"]} {
  %p = mx.call @ruled(%x) sizes [#mx.size<N>] : (!m) -> !m
  mx.return %p : !m
}
// CHECK: mx.func @ruled.bf16({{.*}}mx.vjp = @back.bf16
mx.func @ruled(%x: !m) -> !m attributes {sizes = ["N"], mx.vjp = @back} {
  mx.return %x : !m
}
mx.func @back(%x: !m, %g: !m) -> !m attributes {sizes = ["N"]} {
  %p = mx.matmul %x, %g : (!m, !m) -> !m
  mx.return %p : !m
}

// A convolution is a matmul.
// CHECK-LABEL: mx.func @convolution(
// CHECK-DAG: %[[X:.*]] = mx.cast %arg0 : {{.*}} -> !mx.tensor<bf16[2, 3, 8]>
// CHECK-DAG: %[[W:.*]] = mx.cast %arg1 : {{.*}} -> !mx.tensor<bf16[4, 3, 3]>
// CHECK: %[[Y:.*]] = mx.conv %[[X]], %[[W]] {{.*}} -> !mx.tensor<bf16[2, 4, 6]>
// CHECK-NEXT: mx.cast %[[Y]] : {{.*}} -> !mx.tensor<f32[2, 4, 6]>
mx.func @convolution(%x: !mx.tensor<f32[2, 3, 8]>, %w: !mx.tensor<f32[4, 3, 3]>) -> !mx.tensor<f32[2, 4, 6]>
    attributes {sizes = [], mx.amp = bf16} {
  %y = mx.conv %x, %w {stride = [#mx.size<1>], dilation = [#mx.size<1>], padding_low = [#mx.size<0>], lhs_dilation = [#mx.size<1>], groups = #mx.size<1>}
      : (!mx.tensor<f32[2, 3, 8]>, !mx.tensor<f32[4, 3, 3]>) -> !mx.tensor<f32[2, 4, 6]>
  mx.return %y : !mx.tensor<f32[2, 4, 6]>
}
