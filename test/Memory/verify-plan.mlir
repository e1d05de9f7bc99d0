// RUN: mxc-opt %s --verify-plan --split-input-file --verify-diagnostics
// Plans in which a read could see bytes that were not written for it.

mxrt.program @clobbered(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 64>] {
  // expected-note@+1 {{the slice that is read}}
  %a = mxrt.slice 0 bytes 16 : <f32[4]>
  %b = mxrt.slice 0 bytes 16 : <f32[4]>
  mxrt.copy %x to %a : <f32[4]>, <f32[4]>
  // expected-note@+1 {{written here}}
  mxrt.copy %x to %b : <f32[4]>, <f32[4]>
  // expected-error@+1 {{reads a '!mxrt.buffer<f32[4]>' whose memory was written through another slice since}}
  mxrt.copy %a to %y : <f32[4]>, <f32[4]>
}

// -----

// The twin: the first is read before the second is written.
mxrt.program @in_turn(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 64>] {
  %a = mxrt.slice 0 bytes 16 : <f32[4]>
  %b = mxrt.slice 0 bytes 16 : <f32[4]>
  mxrt.copy %x to %a : <f32[4]>, <f32[4]>
  mxrt.copy %a to %y : <f32[4]>, <f32[4]>
  mxrt.copy %x to %b : <f32[4]>, <f32[4]>
  mxrt.copy %b to %y : <f32[4]>, <f32[4]>
}

// -----

// Only the second iteration goes wrong.
mxrt.program @next_iteration(%x: !mxrt.buffer<f32[4]>, %n: i64) writes (%y: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 256>] {
  // expected-note@+1 {{the slice that is read}}
  %a = mxrt.slice 0 bytes 68 : <f32[17]>
  %b = mxrt.slice 64 bytes 16 : <f32[4]>
  %c = mxrt.slice 128 bytes 68 : <f32[17]>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  mxrt.copy %c to %a : <f32[17]>, <f32[17]>
  scf.for %i = %zero to %n step %one : i64 {
    // expected-error@+1 {{whose memory was written through another slice since}}
    mxrt.copy %a to %c : <f32[17]>, <f32[17]>
    // expected-note@+1 {{written here}}
    mxrt.copy %x to %b : <f32[4]>, <f32[4]>
  }
}

// -----

// What only one side of a branch fills may be read behind it: on the other it holds nothing anyway.
mxrt.program @one_side(%x: f32, %c: i1) writes (%y: !mxrt.buffer<f32[]>) arenas [#mxrt.arena<"" 64>] {
  %a = mxrt.slice 0 bytes 4 : <f32[]>
  %b = mxrt.slice 0 bytes 4 : <f32[]>
  scf.if %c {
    mxrt.store %x to %a : f32, <f32[]>
  } else {
    mxrt.store %x to %b : f32, <f32[]>
  }
  mxrt.copy %a to %y : <f32[]>, <f32[]>
}

// -----

mxrt.kernel @k(%x: !mx.tensor<f32[4]>, %y: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x, %y) attributes {mx.over = array<i64: 0>} : (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>, %w: !mx.tensor<f32[4]>):
    %s = mx.add %v, %w : (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
}
// A kernel may write over the input that it says, and over no other.
mxrt.program @over(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 64>] {
  %a = mxrt.slice 0 bytes 16 : <f32[4]>
  %b = mxrt.slice 0 bytes 16 : <f32[4]>
  mxrt.copy %x to %a : <f32[4]>, <f32[4]>
  mxrt.call @k reads(%a, %x : !mxrt.buffer<f32[4]>, !mxrt.buffer<f32[4]>) writes(%b : !mxrt.buffer<f32[4]>)
  mxrt.copy %b to %y : <f32[4]>, <f32[4]>
}
mxrt.program @wrong_one(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) arenas [#mxrt.arena<"" 128>] {
  %a = mxrt.slice 0 bytes 16 : <f32[4]>
  // expected-note@+1 {{one slice}}
  %b = mxrt.slice 0 bytes 16 : <f32[4]>
  // expected-note@+1 {{the other slice}}
  %c = mxrt.slice 0 bytes 16 : <f32[4]>
  mxrt.copy %x to %a : <f32[4]>, <f32[4]>
  // expected-error@+1 {{writes to memory that it also uses through another slice}}
  mxrt.call @k reads(%a, %b : !mxrt.buffer<f32[4]>, !mxrt.buffer<f32[4]>) writes(%c : !mxrt.buffer<f32[4]>)
  mxrt.copy %c to %y : <f32[4]>, <f32[4]>
}
