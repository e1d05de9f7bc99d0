// RUN: mxc-opt %s | mxc-opt | FileCheck %s
// Every op comes back as it was.

// CHECK-LABEL: mxrt.kernel @k_scale(%arg0: !mx.tensor<f32[N]>, %arg1: !mx.tensor<f32[] on host>) {
// CHECK-NEXT: mx.kernel(%arg0, %arg1) elementwise [N] overwrites {{\[\[}}0]] attributes {sizes = ["N"], workspace = 128 : i64}
mxrt.kernel @k_scale(%x: !mx.tensor<f32[N]>, %s: !mx.tensor<f32[] on host>) {
  %r = mx.kernel(%x, %s) attributes {sizes = ["N"], workspace = 128 : i64} : (!mx.tensor<f32[N]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[N]> {
  ^bb0(%a: !mx.tensor<f32[N]>, %b: !mx.tensor<f32[] on host>):
    %c = mx.mul %a, %b : (!mx.tensor<f32[N]>, !mx.tensor<f32[] on host>) -> !mx.tensor<f32[N]>
    mx.yield %c : !mx.tensor<f32[N]>
  }
}

// CHECK-LABEL: mxrt.program @step(%arg0: !mxrt.buffer<f32[N]>, %arg1: f32)
// CHECK-SAME: writes (%arg2: !mxrt.buffer<f32[N] on "cpu:1">, %arg3: !mxrt.buffer<i64[] on host>)
// CHECK-SAME: sizes [#mxrt.open<"N" to 1000>] arenas [#mxrt.arena<"" 4224>, #mxrt.arena<"cpu:1" 64>] {
mxrt.program @step(%x: !mxrt.buffer<f32[N]>, %s: f32)
    writes (%y: !mxrt.buffer<f32[N] on "cpu:1">, %n: !mxrt.buffer<i64[] on host>)
    sizes [#mxrt.open<"N" to 1000>] arenas [#mxrt.arena<"" 4224>, #mxrt.arena<"cpu:1" 64>] {
  // CHECK: mxrt.slice 0 bytes 4000 : <f32[N]>
  %t = mxrt.slice 0 bytes 4000 : <f32[N]>
  // CHECK: mxrt.slice 4032 bytes 128 : <u8[128]>
  %w = mxrt.slice 4032 bytes 128 : <u8[128]>
  %f = mxrt.slice 0 bytes 1 : <bool[] on "cpu:1">
  // CHECK: mxrt.slot : <f32[] on host>
  %slot = mxrt.slot : <f32[] on host>
  // CHECK: mxrt.store %arg1 to %{{.*}} : f32, <f32[] on host>
  mxrt.store %s to %slot : f32, <f32[] on host>
  // CHECK: mxrt.size <N>
  %size = mxrt.size <N>
  // CHECK: mxrt.call @k_scale reads(%arg0, %{{.*}} : !mxrt.buffer<f32[N]>, !mxrt.buffer<f32[] on host>) writes(%{{.*}}, %{{.*}} : !mxrt.buffer<f32[N]>, !mxrt.buffer<u8[128]>) sizes(%{{.*}})
  mxrt.call @k_scale reads(%x, %slot : !mxrt.buffer<f32[N]>, !mxrt.buffer<f32[] on host>) writes(%t, %w : !mxrt.buffer<f32[N]>, !mxrt.buffer<u8[128]>) sizes(%size)
  // CHECK: mxrt.load %{{.*}} : <bool[] on "cpu:1"> -> i1
  %c = mxrt.load %f : <bool[] on "cpu:1"> -> i1
  scf.if %c {
    // CHECK: mxrt.poll
    mxrt.poll
    // CHECK: mxrt.fail if %{{.*}} with 302 "x is empty"
    mxrt.fail if %c with 302 "x is empty"
  }
  mxrt.store %size to %n : i64, <i64[] on host>
  // CHECK: mxrt.copy %{{.*}} to %arg2 : <f32[N]>, <f32[N] on "cpu:1">
  mxrt.copy %t to %y : <f32[N]>, <f32[N] on "cpu:1">
}
