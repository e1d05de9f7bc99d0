// RUN: mxc-opt %s --print-liveness | FileCheck %s
// When each slice is in use. Op numbers count from 0, those that only name memory included.

mxrt.kernel @k(%x: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x) attributes {workspace = 128 : i64} : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    %s = mx.neg %v : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
}

// A workspace is in use while its call runs; an output to the end.
// CHECK-LABEL: live in @chain
// CHECK-NEXT: slice 0 !mx.tensor<f32[4]>: 3w-4r
// CHECK-NEXT: slice 1 !mx.tensor<u8[128]>: 3w-3w
// CHECK-NEXT: slice 2 !mx.tensor<u8[128]>: 4w-4w
// CHECK-NEXT: output 3 !mx.tensor<f32[4]>: 4w-5w
mxrt.program @chain(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 512>] {
  %a = mxrt.slice 0 bytes 16 : <f32[4]>
  %w = mxrt.slice 64 bytes 128 : <u8[128]>
  %v = mxrt.slice 192 bytes 128 : <u8[128]>
  mxrt.call @k reads(%x : !mxrt.buffer<f32[4]>) writes(%a, %w : !mxrt.buffer<f32[4]>, !mxrt.buffer<u8[128]>)
  mxrt.call @k reads(%a : !mxrt.buffer<f32[4]>) writes(%y, %v : !mxrt.buffer<f32[4]>, !mxrt.buffer<u8[128]>)
}

// The loop reads %a in each iteration, so it is in use in all of it. What %c held before is needed only if
// there is no iteration: each writes it anew. So does each with %t, which is free between iterations.
// CHECK-LABEL: live in @loop
// CHECK-NEXT: slice 0 !mx.tensor<f32[]>: 6w-13w
// CHECK-NEXT: slice 1 !mx.tensor<f32[]>: 7w-8w 11w-14r
// CHECK-NEXT: slice 2 !mx.tensor<f32[]>: 10w-11r
mxrt.program @loop(%x: f32, %n: i64) writes (%y: !mxrt.buffer<f32[]>) arenas [#mxrt.arena<"" 192>] {
  %a = mxrt.slice 0 bytes 4 : <f32[]>
  %c = mxrt.slice 64 bytes 4 : <f32[]>
  %t = mxrt.slice 128 bytes 4 : <f32[]>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %dead = arith.constant 2 : i64
  mxrt.store %x to %a : f32, <f32[]>
  mxrt.store %x to %c : f32, <f32[]>
  scf.for %i = %zero to %n step %one : i64 {
    %p = mxrt.load %a : <f32[]> -> f32
    mxrt.store %p to %t : f32, <f32[]>
    mxrt.copy %t to %c : <f32[]>, <f32[]>
    mxrt.poll
  }
  mxrt.copy %c to %y : <f32[]>, <f32[]>
}

// One side each: %l and %r are never in use at once. %j is filled by both and read behind.
// CHECK-LABEL: live in @branch
// CHECK-NEXT: slice 0 !mx.tensor<f32[]>: 4w-5r
// CHECK-NEXT: slice 1 !mx.tensor<f32[]>: 7w-8r
// CHECK-NEXT: slice 2 !mx.tensor<f32[]>: 5w-6w 8w-10r
mxrt.program @branch(%x: f32, %c: i1) writes (%y: !mxrt.buffer<f32[]>) arenas [#mxrt.arena<"" 192>] {
  %l = mxrt.slice 0 bytes 4 : <f32[]>
  %r = mxrt.slice 64 bytes 4 : <f32[]>
  %j = mxrt.slice 128 bytes 4 : <f32[]>
  scf.if %c {
    mxrt.store %x to %l : f32, <f32[]>
    mxrt.copy %l to %j : <f32[]>, <f32[]>
  } else {
    mxrt.store %x to %r : f32, <f32[]>
    mxrt.copy %r to %j : <f32[]>, <f32[]>
  }
  mxrt.copy %j to %y : <f32[]>, <f32[]>
}

// A stack is filled part by part: it holds nothing before the first op that touches it.
mxrt.kernel @part(%x: !mx.tensor<f32[4]>, %v: !mx.tensor<f32[]>, %i: !mx.tensor<i64[]>) {
  %r = mx.kernel(%x, %v, %i) attributes {mx.over = array<i64: 0>} : (!mx.tensor<f32[4]>, !mx.tensor<f32[]>, !mx.tensor<i64[]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>, %b: !mx.tensor<f32[]>, %c: !mx.tensor<i64[]>):
    %s = mx.update %a, %b ["i"] at (%c) : (!mx.tensor<f32[4]>, !mx.tensor<f32[]>, !mx.tensor<i64[]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
}
// CHECK-LABEL: live in @stack
// CHECK-NEXT: slice 0 !mx.tensor<f32[4]>: 6r-9r
mxrt.program @stack(%x: !mxrt.buffer<f32[]>, %n: !mxrt.buffer<i64[]>) writes (%y: !mxrt.buffer<f32[4]>, %z: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 64>] {
  %s = mxrt.slice 0 bytes 16 : <f32[4]>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  mxrt.call @part reads(%z, %x, %n : !mxrt.buffer<f32[4]>, !mxrt.buffer<f32[]>, !mxrt.buffer<i64[]>) writes(%z : !mxrt.buffer<f32[4]>)
  mxrt.call @part reads(%z, %x, %n : !mxrt.buffer<f32[4]>, !mxrt.buffer<f32[]>, !mxrt.buffer<i64[]>) writes(%z : !mxrt.buffer<f32[4]>)
  scf.for %i = %zero to %four step %one : i64 {
    mxrt.call @part reads(%s, %x, %n : !mxrt.buffer<f32[4]>, !mxrt.buffer<f32[]>, !mxrt.buffer<i64[]>) writes(%s : !mxrt.buffer<f32[4]>)
  }
  mxrt.copy %s to %y : <f32[4]>, <f32[4]>
}
