// RUN: mxc-opt %s --mx-to-mxrt --split-input-file | FileCheck %s
// Kernels and straight-line programs: what becomes a slice, a call, a copy.

// A result that is returned is written where the caller wants it; the one between has a slice.
// CHECK: mxrt.kernel @[[DOUBLE:k_[0-9a-f]+]](%arg0: !mx.tensor<f32[4]>)
// CHECK-COUNT-1: mx.kernel(
// CHECK-NOT: mxrt.kernel
// CHECK-LABEL: mxrt.program @twice(%arg0: !mxrt.buffer<f32[4]>) writes (%arg1: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 64>]
// CHECK-NEXT: %[[T:.*]] = mxrt.slice 0 bytes 16 : <f32[4]>
// CHECK-NEXT: mxrt.call @[[DOUBLE]] reads(%arg0 : !mxrt.buffer<f32[4]>) writes(%[[T]] : !mxrt.buffer<f32[4]>)
// CHECK-NEXT: mxrt.call @[[DOUBLE]] reads(%[[T]] : !mxrt.buffer<f32[4]>) writes(%arg1 : !mxrt.buffer<f32[4]>)
// CHECK-NEXT: mxrt.return
mx.graph @twice(%x: !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  %a = mx.kernel(%x) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    %s = mx.add %v, %v : (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
  %b = mx.kernel(%a) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%w: !mx.tensor<f32[4]>):
    %s = mx.add %w, %w : (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
  mx.return %b : !mx.tensor<f32[4]>
}

// -----

// Arguments that are returned are copied; so is the second of two equal results.
// CHECK-LABEL: mxrt.program @returned(
// CHECK-NOT: mxrt.slice
// CHECK: mxrt.call @{{k_.*}} reads(%arg0 {{.*}}) writes(%arg2
// CHECK-DAG: mxrt.copy %arg2 to %arg3 : <f32[4]>, <f32[4]>
// CHECK-DAG: mxrt.copy %arg0 to %arg4 : <f32[4]>, <f32[4]>
// CHECK-NOT: mxrt.copy
// CHECK: mxrt.return
mx.graph @returned(%x: !mx.tensor<f32[4]>, %n: !mx.tensor<i64[] on host>)
    -> (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>, !mx.tensor<f32[4]>, !mx.tensor<i64[] on host>) {
  %a = mx.kernel(%x) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    %s = mx.neg %v : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
  mx.return %a, %a, %x, %n : !mx.tensor<f32[4]>, !mx.tensor<f32[4]>, !mx.tensor<f32[4]>, !mx.tensor<i64[] on host>
}

// -----

// Numbers of the host are in registers; a kernel gets one through a slot. Sizes and assertions.
// CHECK-LABEL: mxrt.program @host(%arg0: !mxrt.buffer<f32[N]>, %arg1: i64)
// CHECK-SAME: writes (%arg2: !mxrt.buffer<f32[N]>, %arg3: !mxrt.buffer<i64[] on host>) sizes [#mxrt.open<"N" to 100>]
// CHECK: %[[N:.*]] = mxrt.size <N>
// CHECK: %[[SLOT:.*]] = mxrt.slot : <i64[] on host>
// CHECK: mxrt.slice {{.*}} bytes 256 : <u8[256]>
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %arg1
// CHECK: mxrt.fail if %[[ZERO]] with 301 "integer division by zero"
// CHECK: arith.divsi %[[N]]
// CHECK: mxrt.store %[[Q:[0-9]+]] to %[[SLOT]]
// CHECK: mxrt.fail if %{{.*}} with 302 "assertion failed: q < 7"
// CHECK: mxrt.fail if %{{.*}} with 302 "too many"
// CHECK: mxrt.call @{{k_[0-9a-f]+}} reads(%arg0, %[[SLOT]] : !mxrt.buffer<f32[N]>, !mxrt.buffer<i64[] on host>) writes(%arg2, %{{.*}} : !mxrt.buffer<f32[N]>, !mxrt.buffer<u8[256]>) sizes(%[[N]])
// CHECK: mxrt.store %[[Q]] to %arg3
mx.graph @host(%x: !mx.tensor<f32[N]>, %n: !mx.tensor<i64[] on host>)
    -> (!mx.tensor<f32[N]>, !mx.tensor<i64[] on host>) attributes {sizes = ["N"], mx.dyn = {N = 100 : i64}} {
  %size = mx.size <N> -> !mx.tensor<i64[] on host>
  %q = mx.floordiv %size, %n : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>) -> !mx.tensor<i64[] on host>
  %seven = mx.constant 7 : i64 -> !mx.tensor<i64[] on host>
  %less = mx.lt %q, %seven : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>) -> !mx.tensor<bool[] on host>
  mx.assert %less "q < 7" : !mx.tensor<bool[] on host>
  %text = mx.text "too many" : !mx.str
  mx.assert %less, %text : !mx.str "q < 7" : !mx.tensor<bool[] on host>
  %a = mx.kernel(%x, %q) attributes {sizes = ["N"], workspace = 256 : i64} : (!mx.tensor<f32[N]>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[N]> {
  ^bb0(%v: !mx.tensor<f32[N]>, %k: !mx.tensor<i64[] on host>):
    %f = mx.cast %k : (!mx.tensor<i64[] on host>) -> !mx.tensor<f32[] on host>
    %s = mx.mul %v, %f : (!mx.tensor<f32[N]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[N]>
    mx.yield %s : !mx.tensor<f32[N]>
  }
  mx.return %a, %q : !mx.tensor<f32[N]>, !mx.tensor<i64[] on host>
}

// -----

// A routine of the runtime works in memory that is planned too, for the bound: items for a row of
// 100, twice, and the counts of 4 digits; the rows share it, one after the other. A routine that works in its result needs none.
// CHECK: mx.kernel(%arg0) routine [3, N] overwrites {{.*}} attributes {sizes = ["N"], workspace = 5760 : i64}
// CHECK-LABEL: mxrt.program @routines(
// CHECK: mxrt.call @{{k_[0-9a-f]+}} reads(%arg0 : !mxrt.buffer<f32[3, N]>) writes(%arg1, %{{.*}} : !mxrt.buffer<i32[3, N]>, !mxrt.buffer<u8[5760]>)
// CHECK: mxrt.call @{{k_[0-9a-f]+}} reads(%arg0 : !mxrt.buffer<f32[3, N]>) writes(%arg2 : !mxrt.buffer<f32[3, N]>)
mx.graph @routines(%x: !mx.tensor<f32[3, N]>) -> (!mx.tensor<i32[3, N]>, !mx.tensor<f32[3, N]>)
    attributes {sizes = ["N"], mx.dyn = {N = 100 : i64}} {
  %a = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<f32[3, N]>) -> !mx.tensor<i32[3, N]> {
  ^bb0(%v: !mx.tensor<f32[3, N]>):
    %s = mx.routine "argsort"(%v) along 1 : (!mx.tensor<f32[3, N]>) -> !mx.tensor<i32[3, N]>
    mx.yield %s : !mx.tensor<i32[3, N]>
  }
  %b = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<f32[3, N]>) -> !mx.tensor<f32[3, N]> {
  ^bb0(%v: !mx.tensor<f32[3, N]>):
    %s = mx.routine "cumsum"(%v) along 1 : (!mx.tensor<f32[3, N]>) -> !mx.tensor<f32[3, N]>
    mx.yield %s : !mx.tensor<f32[3, N]>
  }
  mx.return %a, %b : !mx.tensor<i32[3, N]>, !mx.tensor<f32[3, N]>
}

// -----

// Memory is planned for the bound, on each device apart.
// CHECK-LABEL: mxrt.program @open(
// CHECK-SAME: arenas [#mxrt.arena<"" 2048>, #mxrt.arena<"cpu:1" 3072>]
// CHECK: mxrt.slice 0 bytes 2000 : <f32[N, 5]>
// CHECK: mxrt.slice 0 bytes 3012 : <f32[2*N + 51, 3] on "cpu:1">
// CHECK: mxrt.copy %arg0 to %{{.*}} : <f32[N, 5] on "cpu:1">, <f32[N, 5]>
mx.graph @open(%x: !mx.tensor<f32[N, 5] on "cpu:1">) -> !mx.tensor<f32[N]> attributes {sizes = ["N"], mx.dyn = {N = 100 : i64}} {
  %h = mx.to %x : !mx.tensor<f32[N, 5] on "cpu:1"> -> !mx.tensor<f32[N, 5]>
  %u = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<f32[N, 5] on "cpu:1">) -> !mx.tensor<f32[2*N + 51, 3] on "cpu:1"> {
  ^bb0(%v: !mx.tensor<f32[N, 5] on "cpu:1">):
    %zero = mx.constant 0.0 : f32 -> !mx.tensor<f32[] on "cpu:1">
    %s = mx.full %zero : !mx.tensor<f32[] on "cpu:1"> -> !mx.tensor<f32[2*N + 51, 3] on "cpu:1">
    mx.yield %s : !mx.tensor<f32[2*N + 51, 3] on "cpu:1">
  }
  %a = mx.kernel(%h) attributes {sizes = ["N"]} : (!mx.tensor<f32[N, 5]>) -> !mx.tensor<f32[N]> {
  ^bb0(%v: !mx.tensor<f32[N, 5]>):
    %s = mx.sum %v over [1] : !mx.tensor<f32[N, 5]> -> !mx.tensor<f32[N]>
    mx.yield %s : !mx.tensor<f32[N]>
  }
  mx.return %a : !mx.tensor<f32[N]>
}
