// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(fuse,verify-locations))" | FileCheck %s
// Which ops become one kernel. Kernels are counted; fuse-refused.mlir has the twins.

!v = !mx.tensor<f32[N]>
!m = !mx.tensor<f32[N, D]>
!c = !mx.tensor<f32[N, 1]>
!s = !mx.tensor<f32[] on host>

// Six ops over two inputs: one kernel, each input once, and the constant inside.
// CHECK-LABEL: mx.graph @chain
// CHECK-NEXT: %[[K:.*]] = mx.kernel(%arg0, %arg1) elementwise [N] overwrites {{\[\[}}0, 1]] attributes {sizes = ["N"]} : (!mx.tensor<f32[N]>, !mx.tensor<f32[N]>) -> !mx.tensor<f32[N]> {
// CHECK: mx.constant 2.000000e+00
// CHECK-NOT: mx.kernel
// CHECK: mx.yield %{{[^,]*}} : !mx.tensor<f32[N]>
// CHECK-NEXT: }
// CHECK-NEXT: mx.return %[[K]]
mx.graph @chain(%x: !v, %y: !v) -> !v attributes {sizes = ["N"]} {
  %two = mx.constant 2.0 : f32 -> !s
  %0 = mx.mul %x, %two : (!v, !s) -> !v
  %1 = mx.add %0, %y : (!v, !v) -> !v
  %2 = mx.exp %1 : (!v) -> !v
  %3 = mx.sub %2, %x : (!v, !v) -> !v
  %4 = mx.tanh %3 : (!v) -> !v
  %5 = mx.mul %4, %y : (!v, !v) -> !v
  mx.return %5 : !v
}

// A value used inside and outside is computed once and is a second output.
// CHECK-LABEL: mx.graph @usedTwice
// CHECK: %[[K:.*]]:2 = mx.kernel(%arg0)
// CHECK-COUNT-1: mx.exp
// CHECK-NOT: mx.exp
// CHECK: mx.return %[[K]]#0, %[[K]]#1
mx.graph @usedTwice(%x: !v) -> (!v, !v) attributes {sizes = ["N"]} {
  %e = mx.exp %x : (!v) -> !v
  %f = mx.mul %e, %e : (!v, !v) -> !v
  %g = mx.add %f, %e : (!v, !v) -> !v
  mx.return %e, %g : !v, !v
}

// Results that nobody uses cost nothing.
// CHECK-LABEL: mx.graph @unused
// CHECK-NEXT: mx.return %arg0
mx.graph @unused(%x: !v) -> !v attributes {sizes = ["N"]} {
  %e = mx.exp %x : (!v) -> !v
  %r = mx.reshape %e : !v -> !mx.tensor<f32[N, 1]>
  %l = mx.log %e : (!v) -> !v
  mx.return %x : !v
}

// Rows: maximum; difference, exponential and sum; quotient.
// CHECK-LABEL: mx.graph @softmax
// CHECK: mx.kernel(%arg0)
// CHECK-COUNT-1: mx.exp
// CHECK-NOT: mx.kernel
// CHECK-NOT: mx.exp
// CHECK: mx.return
mx.graph @softmax(%x: !m) -> !m attributes {sizes = ["N", "D"]} {
  %top = mx.max %x over [1] keep : !m -> !c
  %d = mx.sub %x, %top : (!m, !c) -> !m
  %e = mx.exp %d : (!m) -> !m
  %t = mx.sum %e over [1] keep : !m -> !c
  %y = mx.div %e, %t : (!m, !c) -> !m
  mx.return %y : !m
}

// The middle of it: two outputs of two spaces.
// CHECK-LABEL: mx.graph @prologueIsSeen
// CHECK: mx.kernel(%arg0) reduce [N, D] overwrites {{\[\[}}], []] attributes {sizes = ["N", "D"]} : (!mx.tensor<f32[N, D]>) -> (!mx.tensor<f32[N, D]>, !mx.tensor<f32[N, 1]>)
// CHECK-NOT: mx.kernel
mx.graph @prologueIsSeen(%x: !m) -> (!m, !c) attributes {sizes = ["N", "D"]} {
  %e = mx.exp %x : (!m) -> !m
  %t = mx.sum %e over [1] keep : !m -> !c
  %l = mx.log %t : (!c) -> !c
  mx.return %e, %l : !m, !c
}

// Mean of squares, then its root: prologue, reduction, epilogue with a number of the host.
// CHECK-LABEL: mx.graph @rootMeanSquare
// CHECK-COUNT-1: mx.kernel(%arg0, %arg1)
// CHECK-NOT: mx.kernel
// CHECK: mx.return
mx.graph @rootMeanSquare(%x: !m, %n: !s) -> !c attributes {sizes = ["N", "D"]} {
  %q = mx.mul %x, %x : (!m, !m) -> !m
  %t = mx.sum %q over [1] keep : !m -> !c
  %a = mx.div %t, %n : (!c, !s) -> !c
  %r = mx.sqrt %a : (!c) -> !c
  mx.return %r : !c
}

// Matmul, bias and relu; the transpose is a way to read.
// CHECK-LABEL: mx.graph @dense
// CHECK-NEXT: mx.kernel(%arg0, %arg1, %arg2)
// CHECK: mx.transpose
// CHECK: mx.matmul
// CHECK: mx.maximum
// CHECK-NOT: mx.kernel
// CHECK: mx.return
mx.graph @dense(%x: !m, %w: !mx.tensor<f32[H, D]>, %b: !mx.tensor<f32[H]>) -> !mx.tensor<f32[N, H]> attributes {sizes = ["N", "D", "H"]} {
  %zero = mx.constant 0.0 : f32 -> !s
  %t = mx.transpose %w by [1, 0] : !mx.tensor<f32[H, D]> -> !mx.tensor<f32[D, H]>
  %p = mx.matmul %x, %t : (!m, !mx.tensor<f32[D, H]>) -> !mx.tensor<f32[N, H]>
  %a = mx.add %p, %b : (!mx.tensor<f32[N, H]>, !mx.tensor<f32[H]>) -> !mx.tensor<f32[N, H]>
  %r = mx.maximum %a, %zero : (!mx.tensor<f32[N, H]>, !s) -> !mx.tensor<f32[N, H]>
  mx.return %r : !mx.tensor<f32[N, H]>
}

// Cheap producers are copied into each kernel; the one that leaves the graph is also a kernel.
// CHECK-LABEL: mx.graph @cheap
// CHECK: mx.kernel()
// CHECK-NEXT: mx.iota
// CHECK: mx.kernel(%arg0)
// CHECK: mx.iota
// CHECK: mx.kernel(%arg1)
// CHECK: mx.iota
// CHECK-NOT: mx.kernel
mx.graph @cheap(%x: !v, %y: !m) -> (!v, !v, !m) attributes {sizes = ["N", "D"]} {
  %i = mx.iota : !v
  %a = mx.add %x, %i : (!v, !v) -> !v
  %j = mx.iota : !mx.tensor<f32[D]>
  %w = mx.broadcast %j : !mx.tensor<f32[D]> -> !m
  %b = mx.mul %y, %w : (!m, !m) -> !m
  mx.return %i, %a, %b : !v, !v, !m
}

// Ops of host numbers stay outside; those in a loop become kernels in the loop.
// CHECK-LABEL: mx.graph @loop
// CHECK: mx.for
// CHECK: %[[F:.*]] = mx.cast %{{.*}} on host
// CHECK: mx.kernel(%{{.*}}, %[[F]])
// CHECK: mx.yield
// CHECK-NOT: mx.kernel
// CHECK: mx.return
mx.graph @loop(%x: !v, %n: !mx.tensor<i64[] on host>) -> !v attributes {sizes = ["N"]} {
  %zero = mx.constant 0 : i64 -> !mx.tensor<i64[] on host>
  %y = mx.for %zero to %n carries (%x) : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>, !v) -> !v {
  ^bb0(%i: !mx.tensor<i64[] on host>, %v: !v):
    %f = mx.cast %i : (!mx.tensor<i64[] on host>) -> !s
    %a = mx.mul %v, %f : (!v, !s) -> !v
    %b = mx.exp %a : (!v) -> !v
    mx.yield %b : !v
  }
  mx.return %y : !v
}

// Sizes are listed by first use.
// CHECK-LABEL: mx.graph @names
// CHECK: mx.kernel({{.*}}) elementwise [D, N] overwrites {{.*}} attributes {sizes = ["D", "N"]}
mx.graph @names(%x: !mx.tensor<f32[D, N]>) -> !mx.tensor<f32[D, N]> attributes {sizes = ["N", "D"]} {
  %y = mx.neg %x : (!mx.tensor<f32[D, N]>) -> !mx.tensor<f32[D, N]>
  mx.return %y : !mx.tensor<f32[D, N]>
}

// The mean of what each row gives, and the rows themselves through a broadcast.
// CHECK-LABEL: mx.graph @total
// CHECK-COUNT-1: mx.kernel
// CHECK-NOT: mx.kernel
mx.graph @total(%x: !m) -> (!m, !mx.tensor<f32[]>) attributes {sizes = ["N", "D"]} {
  %t = mx.sum %x over [1] keep : !m -> !c
  %b = mx.broadcast %t : !c -> !m
  %y = mx.sub %x, %b : (!m, !m) -> !m
  %q = mx.mul %y, %y : (!m, !m) -> !m
  %r = mx.max %q over [1] : !m -> !v
  %l = mx.log %r : (!v) -> !v
  %s = mx.sum %l over [0] : !v -> !mx.tensor<f32[]>
  %n = mx.neg %s : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %y, %n : !m, !mx.tensor<f32[]>
}

// Several reductions of a row, with and without the axis.
// CHECK-LABEL: mx.graph @severalOfARow
// CHECK-COUNT-1: mx.kernel
// CHECK-NOT: mx.kernel
mx.graph @severalOfARow(%x: !m) -> (!c, !v) attributes {sizes = ["N", "D"]} {
  %e = mx.exp %x : (!m) -> !m
  %t = mx.sum %e over [1] keep : !m -> !c
  %r = mx.max %e over [1] : !m -> !v
  mx.return %t, %r : !c, !v
}
