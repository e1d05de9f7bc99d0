// RUN: mxc-opt %s --mxrt-to-llvm --split-input-file | FileCheck %s
// The function of a program: addresses, calls, errors.

// CHECK-DAG: llvm.mlir.global internal constant @[[FILE:mx.text.[0-9]+]]("net.mx\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[LOCATION:mx.location.[0-9]+]]() {{.*}} : !llvm.struct<(ptr, i32, i32)>
// CHECK-DAG: llvm.mlir.constant(7 : i32)
// CHECK-DAG: llvm.mlir.constant(3 : i32)
// CHECK-DAG: llvm.mlir.global internal constant @[[EMPTY:mx.text.[0-9]+]]("x is empty\00")
// CHECK-LABEL: llvm.func @step(
// CHECK-SAME: %[[CONTEXT:arg0]]: !llvm.ptr, %[[BUFFERS:arg1]]: !llvm.ptr, %[[SIZES:arg2]]: !llvm.ptr, %[[ARENAS:arg3]]: !llvm.ptr) -> !llvm.ptr

// Kernels get a copy of the context, in which the location of the call is set.
// CHECK: "llvm.intr.memcpy"(%[[MINE:[0-9]+]], %[[CONTEXT]], %{{.*}})
// CHECK: %[[N:.*]] = llvm.load %[[SIZES]] invariant : !llvm.ptr -> i64
// CHECK: %[[ARENA0:.*]] = llvm.load %[[ARENAS]] invariant
// CHECK: llvm.getelementptr %[[ARENAS]][1]
// CHECK: %[[ARENA1:.*]] = llvm.load {{.*}} invariant

// The number of the host is behind its address; a size past its bound ends the call.
// CHECK: llvm.getelementptr %[[BUFFERS]][1]
// CHECK: %[[SCALE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.icmp "ugt" %[[N]]
// CHECK: llvm.cond_br

// CHECK: llvm.store %[[SCALE]], %[[SLOT:[0-9]+]]
// CHECK: llvm.getelementptr %[[ARENA0]]
// CHECK: llvm.store %[[N]]
// CHECK: llvm.mlir.addressof @[[FILE]]
// CHECK: %[[STATUS:.*]] = llvm.call @k_scale(%[[MINE]], %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
// CHECK: %[[BAD:.*]] = llvm.icmp "ne" %[[STATUS]]
// CHECK: llvm.cond_br %[[BAD]], ^[[FAILED:bb[0-9]+]](%[[STATUS]] : !llvm.ptr)

// A bool is a byte.
// CHECK: llvm.load %[[ARENA1]] : !llvm.ptr -> i8
// CHECK: llvm.icmp "ne" {{.*}} : i8
// CHECK: %[[POLL:.*]] = llvm.call @mxrt_poll(%[[MINE]])

// The copy has as many bytes as the size is now.
// CHECK: %[[FOUR:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: %[[BYTES:.*]] = llvm.mul %[[FOUR]], %[[N]]
// CHECK: "llvm.intr.memcpy"(%{{.*}}, %{{.*}}, %[[BYTES]])
// CHECK: %[[OK:.*]] = llvm.mlir.zero
// CHECK-NEXT: llvm.return %[[OK]]

// CHECK: llvm.mlir.constant(201 : i32)
// CHECK: llvm.call @mxrt_status_text(
// CHECK: %[[ALLOCATOR:.*]] = llvm.load %[[MINE]]
// CHECK-NEXT: llvm.mlir.constant(302 : i32)
// CHECK: llvm.mlir.addressof @[[LOCATION]]
// CHECK: llvm.mlir.addressof @[[EMPTY]]
// CHECK: %[[MADE:.*]] = llvm.call @mxrt_status_text(%[[ALLOCATOR]],
// CHECK-NEXT: llvm.br ^[[FAILED]](%[[MADE]] : !llvm.ptr)
// CHECK: ^[[FAILED]](%[[ERROR:.*]]: !llvm.ptr):
// CHECK-NEXT: llvm.return %[[ERROR]]

// CHECK-DAG: llvm.func @k_scale(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
// CHECK-DAG: llvm.func @mxrt_poll(!llvm.ptr) -> !llvm.ptr
// CHECK-DAG: llvm.func @mxrt_status_text(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
// CHECK-NOT: mxrt.
mxrt.kernel @k_scale(%x: !mx.tensor<f32[N]>, %s: !mx.tensor<f32[] on host>) {
  %r = mx.kernel(%x, %s) attributes {sizes = ["N"]} : (!mx.tensor<f32[N]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[N]> {
  ^bb0(%a: !mx.tensor<f32[N]>, %b: !mx.tensor<f32[] on host>):
    %c = mx.mul %a, %b : (!mx.tensor<f32[N]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[N]>
    mx.yield %c : !mx.tensor<f32[N]>
  }
}
mxrt.program @step(%x: !mxrt.buffer<f32[N]>, %s: f32) writes (%y: !mxrt.buffer<f32[N]>)
    sizes [#mxrt.open<"N" to 1000>] arenas [#mxrt.arena<"" 4096>, #mxrt.arena<"cpu:1" 64>] {
  %t = mxrt.slice 64 bytes 4000 : <f32[N]>
  %f = mxrt.slice 0 bytes 1 : <bool[] on "cpu:1">
  %slot = mxrt.slot : <f32[] on host>
  mxrt.store %s to %slot : f32, <f32[] on host>
  %size = mxrt.size <N>
  mxrt.call @k_scale reads(%x, %slot : !mxrt.buffer<f32[N]>, !mxrt.buffer<f32[] on host>) writes(%t : !mxrt.buffer<f32[N]>) sizes(%size) loc("net.mx":5:1)
  %c = mxrt.load %f : <bool[] on "cpu:1"> -> i1
  scf.if %c {
    mxrt.poll
    mxrt.fail if %c with 302 "x is empty" loc("net.mx":7:3)
  }
  mxrt.copy %t to %y : <f32[N]>, <f32[N]>
}

// -----

// Sizes that are computed: `//` rounds down and does not trap.
// CHECK-LABEL: llvm.func @sizes(
// CHECK: llvm.sdiv
// CHECK: llvm.srem
// CHECK: llvm.select
// CHECK: llvm.store
mxrt.program @sizes() writes (%n: !mxrt.buffer<i64[] on host>) sizes [#mxrt.open<"N" to 10>, #mxrt.open<"M" to 10>] {
  %size = mxrt.size <3*N*M + N / / 2 - 1>
  mxrt.store %size to %n : i64, <i64[] on host>
}
