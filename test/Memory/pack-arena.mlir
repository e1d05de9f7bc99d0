// RUN: mxc-opt %s --pack-arena --verify-plan --split-input-file | FileCheck %s
// RUN: mxc-opt %s --pack-arena=share=false --verify-plan --split-input-file | FileCheck %s --check-prefix=APART

// Two of three buffers of a chain are enough; without sharing it is three. What nothing uses goes.
// CHECK-LABEL: mxrt.program @chain
// CHECK-SAME: arenas [#mxrt.arena<"" 256>]
// CHECK-COUNT-3: mxrt.slice {{(0|128)}} bytes 128
// CHECK-NOT: mxrt.slice
// APART-LABEL: mxrt.program @chain
// APART-SAME: arenas [#mxrt.arena<"" 384>]
mxrt.program @chain(%x: !mxrt.buffer<f32[32]>) writes (%y: !mxrt.buffer<f32[32]>) arenas [#mxrt.arena<"" 1024>] {
  %a = mxrt.slice 0 bytes 128 : <f32[32]>
  %b = mxrt.slice 128 bytes 128 : <f32[32]>
  %c = mxrt.slice 256 bytes 128 : <f32[32]>
  %unused = mxrt.slice 384 bytes 128 : <f32[32]>
  mxrt.copy %x to %a : <f32[32]>, <f32[32]>
  mxrt.copy %a to %b : <f32[32]>, <f32[32]>
  mxrt.copy %b to %c : <f32[32]>, <f32[32]>
  mxrt.copy %c to %y : <f32[32]>, <f32[32]>
}

// -----

// The twin: all are read at the end, so nothing is shared.
// CHECK-LABEL: mxrt.program @kept
// CHECK-SAME: arenas [#mxrt.arena<"" 384>]
mxrt.program @kept(%x: !mxrt.buffer<f32[32]>)
    writes (%y: !mxrt.buffer<f32[32]>, %z: !mxrt.buffer<f32[32]>, %w: !mxrt.buffer<f32[32]>) arenas [#mxrt.arena<"" 384>] {
  %a = mxrt.slice 0 bytes 128 : <f32[32]>
  %b = mxrt.slice 128 bytes 128 : <f32[32]>
  %c = mxrt.slice 256 bytes 128 : <f32[32]>
  mxrt.copy %x to %a : <f32[32]>, <f32[32]>
  mxrt.copy %a to %b : <f32[32]>, <f32[32]>
  mxrt.copy %b to %c : <f32[32]>, <f32[32]>
  mxrt.copy %c to %y : <f32[32]>, <f32[32]>
  mxrt.copy %b to %z : <f32[32]>, <f32[32]>
  mxrt.copy %a to %w : <f32[32]>, <f32[32]>
}

// -----

// Devices have arenas of their own.
// CHECK-LABEL: mxrt.program @devices
// CHECK-SAME: arenas [#mxrt.arena<"" 128>, #mxrt.arena<"cpu:1" 128>]
mxrt.program @devices(%x: !mxrt.buffer<f32[32]>) writes (%y: !mxrt.buffer<f32[32]>)
    arenas [#mxrt.arena<"" 256>, #mxrt.arena<"cpu:1" 128>] {
  %a = mxrt.slice 0 bytes 128 : <f32[32]>
  %b = mxrt.slice 0 bytes 128 : <f32[32] on "cpu:1">
  %c = mxrt.slice 128 bytes 128 : <f32[32]>
  mxrt.copy %x to %a : <f32[32]>, <f32[32]>
  mxrt.copy %a to %b : <f32[32]>, <f32[32] on "cpu:1">
  mxrt.copy %b to %c : <f32[32] on "cpu:1">, <f32[32]>
  mxrt.copy %c to %y : <f32[32]>, <f32[32]>
}

// -----

// What a loop reads in every iteration keeps its memory in all of it, also behind its last read.
// CHECK-LABEL: mxrt.program @loop
// CHECK-SAME: arenas [#mxrt.arena<"" 256>]
mxrt.program @loop(%x: !mxrt.buffer<f32[32]>, %n: i64) writes (%y: !mxrt.buffer<f32[32]>) arenas [#mxrt.arena<"" 256>] {
  %a = mxrt.slice 0 bytes 128 : <f32[32]>
  %t = mxrt.slice 128 bytes 128 : <f32[32]>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  mxrt.copy %x to %a : <f32[32]>, <f32[32]>
  scf.for %i = %zero to %n step %one : i64 {
    mxrt.copy %a to %y : <f32[32]>, <f32[32]>
    mxrt.copy %y to %t : <f32[32]>, <f32[32]>
    mxrt.copy %t to %y : <f32[32]>, <f32[32]>
  }
}
