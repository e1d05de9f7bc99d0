// RUN: mxc-opt %s --mx-lower-kernels=loops=1 | FileCheck %s
// Loops for several threads: what they use is handed over, the sizes alone say how they are cut.

// 4096 rows of 100 elements at 1 unit of work each: 327 rows a chunk. Pure ops are computed again.
// CHECK-LABEL: llvm.func @rows(
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 4096 : i64
// CHECK-DAG: %[[GRAIN:.*]] = arith.constant 327 : i64
// CHECK: %[[USER:.*]] = llvm.alloca {{.*}} !llvm.struct<(ptr, ptr)>
// CHECK: %[[BODY:.*]] = llvm.mlir.addressof @rows.part0
// CHECK: %[[STATUS:.*]] = llvm.call @mxrt_parallel_for(%arg0, %[[COUNT]], %[[GRAIN]], %[[BODY]], %[[USER]])
// CHECK: llvm.icmp "ne" %[[STATUS]]
// CHECK-LABEL: llvm.func internal @rows.part0(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-NEXT: scf.for
// CHECK-NOT: scf.for
mx.func @rows(%x: !mx.tensor<f32[4096, 100]>) -> !mx.tensor<f32[4096, 100]> {
  %k = mx.kernel(%x) attributes {sizes = []} : (!mx.tensor<f32[4096, 100]>) -> !mx.tensor<f32[4096, 100]> {
  ^bb0(%a: !mx.tensor<f32[4096, 100]>):
    %1 = mx.neg %a : (!mx.tensor<f32[4096, 100]>) -> !mx.tensor<f32[4096, 100]>
    mx.yield %1 : !mx.tensor<f32[4096, 100]>
  }
  mx.return %k : !mx.tensor<f32[4096, 100]>
}

// Short axes in front are taken together.
// CHECK-LABEL: llvm.func @together(
// CHECK-DAG: arith.constant 96 : i64
// CHECK-LABEL: llvm.func internal @together.part0
// CHECK: scf.for
// CHECK-NEXT: arith.divui
// CHECK: scf.for
// CHECK-NOT: scf.for
mx.func @together(%x: !mx.tensor<f32[3, 1, 32, 5000]>) -> !mx.tensor<f32[3, 1, 32, 5000]> {
  %k = mx.kernel(%x) attributes {sizes = []} : (!mx.tensor<f32[3, 1, 32, 5000]>) -> !mx.tensor<f32[3, 1, 32, 5000]> {
  ^bb0(%a: !mx.tensor<f32[3, 1, 32, 5000]>):
    %1 = mx.neg %a : (!mx.tensor<f32[3, 1, 32, 5000]>) -> !mx.tensor<f32[3, 1, 32, 5000]>
    mx.yield %1 : !mx.tensor<f32[3, 1, 32, 5000]>
  }
  mx.return %k : !mx.tensor<f32[3, 1, 32, 5000]>
}

// What is known to be short stays as it is.
// CHECK-LABEL: llvm.func @short(
// CHECK-NOT: mxrt_parallel_for
// CHECK: scf.for
// CHECK: llvm.return
mx.func @short(%x: !mx.tensor<f32[40, 100]>) -> !mx.tensor<f32[40, 100]> {
  %k = mx.kernel(%x) attributes {sizes = []} : (!mx.tensor<f32[40, 100]>) -> !mx.tensor<f32[40, 100]> {
  ^bb0(%a: !mx.tensor<f32[40, 100]>):
    %1 = mx.neg %a : (!mx.tensor<f32[40, 100]>) -> !mx.tensor<f32[40, 100]>
    mx.yield %1 : !mx.tensor<f32[40, 100]>
  }
  mx.return %k : !mx.tensor<f32[40, 100]>
}

// Each part has its own variables; a fault is noted for all.
// CHECK-LABEL: llvm.func @faults(
// CHECK: llvm.call @mxrt_parallel_for
// CHECK-LABEL: llvm.func internal @faults.part0
// CHECK: %[[OUTSIDE:.*]] = llvm.load {{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[OWN:.*]] = llvm.alloca {{.*}} x i1
// CHECK: scf.for
// CHECK: llvm.store {{.*}}, %[[OWN]] : i1
// CHECK: scf.if
// CHECK: llvm.store {{.*}} atomic monotonic
mx.func @faults(%x: !mx.tensor<i32[N]>) -> !mx.tensor<i32[N]> attributes {sizes = ["N"]} {
  %k = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<i32[N]>) -> !mx.tensor<i32[N]> {
  ^bb0(%a: !mx.tensor<i32[N]>):
    %1 = mx.floordiv %a, %a : (!mx.tensor<i32[N]>, !mx.tensor<i32[N]>) -> !mx.tensor<i32[N]>
    mx.yield %1 : !mx.tensor<i32[N]>
  }
  mx.return %k : !mx.tensor<i32[N]>
}

// The order of a sum over everything is its own; it stays in one thread.
// CHECK-LABEL: llvm.func @total(
// CHECK-NOT: mxrt_parallel_for
// CHECK: llvm.return
mx.func @total(%x: !mx.tensor<f32[1000000]>) -> !mx.tensor<f32[]> {
  %k = mx.kernel(%x) attributes {sizes = []} : (!mx.tensor<f32[1000000]>) -> !mx.tensor<f32[]> {
  ^bb0(%a: !mx.tensor<f32[1000000]>):
    %1 = mx.sum %a over [0] : !mx.tensor<f32[1000000]> -> !mx.tensor<f32[]>
    mx.yield %1 : !mx.tensor<f32[]>
  }
  mx.return %k : !mx.tensor<f32[]>
}
