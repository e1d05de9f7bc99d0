// RUN: mxc-opt %s --mx-lower-kernels=loops=1 | FileCheck %s
// RUN: mxc-opt %s --mx-lower-kernels | FileCheck %s --check-prefix=LLVM
// A chain of five ops is one nest of loops that reads each input once for an element.

// CHECK-LABEL: llvm.func @chain(
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: scf.for
// CHECK: llvm.call @mxrt_parallel_for
// CHECK-LABEL: llvm.func internal @chain.part0
// CHECK: llvm.load {{.*}} -> f32
// CHECK: scf.for
// CHECK-NEXT: scf.for
// CHECK-NOT: scf.for
// CHECK-COUNT-2: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// CHECK-NOT: scf.for
// CHECK: llvm.return
// LLVM-LABEL: llvm.func @chain(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr) -> !llvm.ptr
// LLVM-NOT: {{ = (scf|arith|math|cf|mx)\.}}
mx.func @chain(%x: !mx.tensor<f32[N, M]>, %w: !mx.tensor<f32[M]>, %s: !mx.tensor<f32[]>) -> !mx.tensor<f32[N, M]> attributes {sizes = ["N", "M"]} {
  %k = mx.kernel(%x, %w, %s) attributes {sizes = ["N", "M"]} : (!mx.tensor<f32[N, M]>, !mx.tensor<f32[M]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[N, M]> {
  ^bb0(%a: !mx.tensor<f32[N, M]>, %b: !mx.tensor<f32[M]>, %c: !mx.tensor<f32[]>):
    %1 = mx.mul %a, %b : (!mx.tensor<f32[N, M]>, !mx.tensor<f32[M]>) -> !mx.tensor<f32[N, M]>
    %2 = mx.add %1, %c : (!mx.tensor<f32[N, M]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[N, M]>
    %3 = mx.sqrt %2 : (!mx.tensor<f32[N, M]>) -> !mx.tensor<f32[N, M]>
    %4 = mx.sub %3, %a : (!mx.tensor<f32[N, M]>, !mx.tensor<f32[N, M]>) -> !mx.tensor<f32[N, M]>
    %5 = mx.neg %4 : (!mx.tensor<f32[N, M]>) -> !mx.tensor<f32[N, M]>
    mx.yield %5 : !mx.tensor<f32[N, M]>
  }
  mx.return %k : !mx.tensor<f32[N, M]>
}

// Transposing, broadcasting and counting only change the index that is read: no loop and no buffer of their own.
// CHECK-LABEL: llvm.func internal @indices.part0
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
mx.func @indices(%x: !mx.tensor<i64[M, N]>) -> !mx.tensor<i64[N, M]> attributes {sizes = ["N", "M"]} {
  %k = mx.kernel(%x) attributes {sizes = ["N", "M"]} : (!mx.tensor<i64[M, N]>) -> !mx.tensor<i64[N, M]> {
  ^bb0(%a: !mx.tensor<i64[M, N]>):
    %t = mx.transpose %a by [1, 0] : !mx.tensor<i64[M, N]> -> !mx.tensor<i64[N, M]>
    %i = mx.iota : !mx.tensor<i64[M]>
    %w = mx.broadcast %i : !mx.tensor<i64[M]> -> !mx.tensor<i64[N, M]>
    %n = mx.size <N*M> -> !mx.tensor<i64[] on host>
    %1 = mx.mul %t, %w : (!mx.tensor<i64[N, M]>, !mx.tensor<i64[N, M]>) -> !mx.tensor<i64[N, M]>
    %2 = mx.add %1, %n : (!mx.tensor<i64[N, M]>, !mx.tensor<i64[] on host>) -> !mx.tensor<i64[N, M]>
    mx.yield %2 : !mx.tensor<i64[N, M]>
  }
  mx.return %k : !mx.tensor<i64[N, M]>
}

// A divisor 0 is noted in the loop, and reported once after it.
// CHECK-LABEL: llvm.func @divide(
// CHECK: llvm.call @mxrt_parallel_for
// CHECK: llvm.call @mxrt_status_text
// CHECK-LABEL: llvm.func internal @divide.part0
// CHECK: scf.for
// CHECK: arith.divsi
// CHECK-NOT: scf.for
// CHECK: llvm.return
mx.func @divide(%x: !mx.tensor<i32[N]>, %y: !mx.tensor<i32[N]>) -> !mx.tensor<i32[N]> attributes {sizes = ["N"]} {
  %k = mx.kernel(%x, %y) attributes {sizes = ["N"]} : (!mx.tensor<i32[N]>, !mx.tensor<i32[N]>) -> !mx.tensor<i32[N]> {
  ^bb0(%a: !mx.tensor<i32[N]>, %b: !mx.tensor<i32[N]>):
    %1 = mx.floordiv %a, %b : (!mx.tensor<i32[N]>, !mx.tensor<i32[N]>) -> !mx.tensor<i32[N]>
    mx.yield %1 : !mx.tensor<i32[N]>
  }
  mx.return %k : !mx.tensor<i32[N]>
}
