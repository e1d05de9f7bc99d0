// RUN: mxc-opt %s --schedule --pack-arena --verify-plan --split-input-file | FileCheck %s
// RUN: mxc-opt %s --pack-arena --verify-plan --split-input-file | FileCheck %s --check-prefix=OFF
// Ops are reordered where that lowers peak memory; beside each, a twin where they must not.

mxrt.kernel @grow(%x: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[64, 4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    %s = mx.broadcast %v : !mx.tensor<f32[4]> -> !mx.tensor<f32[64, 4]>
    mx.yield %s : !mx.tensor<f32[64, 4]>
  }
}
mxrt.kernel @shrink(%x: !mx.tensor<f32[64, 4]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[64, 4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[64, 4]>):
    %s = mx.sum %v over [0] : !mx.tensor<f32[64, 4]> -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
}

// Three large values are made, then each is summed: one at a time is enough.
// CHECK-LABEL: mxrt.program @in_turn
// CHECK-SAME: arenas [#mxrt.arena<"" 1024>]
// CHECK: call @grow
// CHECK: call @shrink
// CHECK: call @grow
// CHECK: call @shrink
// CHECK: call @grow
// CHECK: call @shrink
// OFF-LABEL: mxrt.program @in_turn
// OFF-SAME: arenas [#mxrt.arena<"" 3072>]
mxrt.program @in_turn(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>, %z: !mxrt.buffer<f32[4]>, %w: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 3072>] {
  %a = mxrt.slice 0 bytes 1024 : <f32[64, 4]>
  %b = mxrt.slice 1024 bytes 1024 : <f32[64, 4]>
  %c = mxrt.slice 2048 bytes 1024 : <f32[64, 4]>
  mxrt.call @grow reads(%x : !mxrt.buffer<f32[4]>) writes(%a : !mxrt.buffer<f32[64, 4]>)
  mxrt.call @grow reads(%x : !mxrt.buffer<f32[4]>) writes(%b : !mxrt.buffer<f32[64, 4]>)
  mxrt.call @grow reads(%x : !mxrt.buffer<f32[4]>) writes(%c : !mxrt.buffer<f32[64, 4]>)
  mxrt.call @shrink reads(%a : !mxrt.buffer<f32[64, 4]>) writes(%y : !mxrt.buffer<f32[4]>)
  mxrt.call @shrink reads(%b : !mxrt.buffer<f32[64, 4]>) writes(%z : !mxrt.buffer<f32[4]>)
  mxrt.call @shrink reads(%c : !mxrt.buffer<f32[64, 4]>) writes(%w : !mxrt.buffer<f32[4]>)
}

// Its twin: each value is made of the one before it. Nothing moves.
// CHECK-LABEL: mxrt.program @chain
// CHECK-SAME: arenas [#mxrt.arena<"" 1088>]
// OFF-LABEL: mxrt.program @chain
// OFF-SAME: arenas [#mxrt.arena<"" 1088>]
mxrt.program @chain(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 2112>] {
  %a = mxrt.slice 0 bytes 1024 : <f32[64, 4]>
  %b = mxrt.slice 1024 bytes 16 : <f32[4]>
  %c = mxrt.slice 1088 bytes 1024 : <f32[64, 4]>
  mxrt.call @grow reads(%x : !mxrt.buffer<f32[4]>) writes(%a : !mxrt.buffer<f32[64, 4]>)
  mxrt.call @shrink reads(%a : !mxrt.buffer<f32[64, 4]>) writes(%b : !mxrt.buffer<f32[4]>)
  mxrt.call @grow reads(%b : !mxrt.buffer<f32[4]>) writes(%c : !mxrt.buffer<f32[64, 4]>)
  mxrt.call @shrink reads(%c : !mxrt.buffer<f32[64, 4]>) writes(%y : !mxrt.buffer<f32[4]>)
}

// The same in each iteration of a loop.
// CHECK-LABEL: mxrt.program @iterations
// CHECK-SAME: arenas [#mxrt.arena<"" 1024>]
// OFF-LABEL: mxrt.program @iterations
// OFF-SAME: arenas [#mxrt.arena<"" 2048>]
mxrt.program @iterations(%x: !mxrt.buffer<f32[4]>, %n: i64) writes (%y: !mxrt.buffer<f32[4]>, %z: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 2048>] {
  %a = mxrt.slice 0 bytes 1024 : <f32[64, 4]>
  %b = mxrt.slice 1024 bytes 1024 : <f32[64, 4]>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    mxrt.call @grow reads(%x : !mxrt.buffer<f32[4]>) writes(%a : !mxrt.buffer<f32[64, 4]>)
    mxrt.call @grow reads(%x : !mxrt.buffer<f32[4]>) writes(%b : !mxrt.buffer<f32[64, 4]>)
    mxrt.call @shrink reads(%a : !mxrt.buffer<f32[64, 4]>) writes(%y : !mxrt.buffer<f32[4]>)
    mxrt.call @shrink reads(%b : !mxrt.buffer<f32[64, 4]>) writes(%z : !mxrt.buffer<f32[4]>)
  }
}

// -----

// Divisions of integers may end the program: their order is that of the source, whatever it costs.
// CHECK-LABEL: mxrt.program @first_error
// CHECK: call @divide
// CHECK: call @divide
// CHECK: call @total
// CHECK: call @total
mxrt.kernel @divide(%x: !mx.tensor<i32[64]>) {
  %r = mx.kernel(%x) : (!mx.tensor<i32[64]>) -> !mx.tensor<i32[64]> {
  ^bb0(%v: !mx.tensor<i32[64]>):
    %s = mx.floordiv %v, %v : (!mx.tensor<i32[64]>, !mx.tensor<i32[64]>) -> !mx.tensor<i32[64]>
    mx.yield %s : !mx.tensor<i32[64]>
  }
}
mxrt.kernel @total(%x: !mx.tensor<i32[64]>) {
  %r = mx.kernel(%x) : (!mx.tensor<i32[64]>) -> !mx.tensor<i32[]> {
  ^bb0(%v: !mx.tensor<i32[64]>):
    %s = mx.sum %v over [0] : !mx.tensor<i32[64]> -> !mx.tensor<i32[]>
    mx.yield %s : !mx.tensor<i32[]>
  }
}
mxrt.program @first_error(%x: !mxrt.buffer<i32[64]>) writes (%y: !mxrt.buffer<i32[]>, %z: !mxrt.buffer<i32[]>) arenas [#mxrt.arena<"" 512>] {
  %a = mxrt.slice 0 bytes 256 : <i32[64]>
  %b = mxrt.slice 256 bytes 256 : <i32[64]>
  mxrt.call @divide reads(%x : !mxrt.buffer<i32[64]>) writes(%a : !mxrt.buffer<i32[64]>)
  mxrt.call @divide reads(%x : !mxrt.buffer<i32[64]>) writes(%b : !mxrt.buffer<i32[64]>)
  mxrt.call @total reads(%a : !mxrt.buffer<i32[64]>) writes(%y : !mxrt.buffer<i32[]>)
  mxrt.call @total reads(%b : !mxrt.buffer<i32[64]>) writes(%z : !mxrt.buffer<i32[]>)
}
