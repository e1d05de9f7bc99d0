// RUN: mxc-opt %s --split-input-file --verify-diagnostics
// Plans and calls that do not hold are refused.

mxrt.program @unaligned() arenas [#mxrt.arena<"" 64>] {
  // expected-error@+1 {{begins at 4, which is not a multiple of 64}}
  %a = mxrt.slice 4 bytes 4 : <f32[1]>
}

// -----

mxrt.program @outside() arenas [#mxrt.arena<"" 64>] {
  // expected-error@+1 {{ends behind its arena of 64 bytes}}
  %a = mxrt.slice 64 bytes 4 : <f32[1]>
}

// -----

mxrt.program @far_outside() arenas [#mxrt.arena<"" 64>] {
  // expected-error@+1 {{ends behind its arena of 64 bytes}}
  %a = mxrt.slice 9223372036854775744 bytes 64 : <f32[1]>
}

// -----

mxrt.program @no_arena() arenas [#mxrt.arena<"" 64>] {
  // expected-error@+1 {{there is no arena of "cpu:1"}}
  %a = mxrt.slice 0 bytes 4 : <f32[1] on "cpu:1">
}

// -----

mxrt.program @too_small() sizes [#mxrt.open<"N" to 8>] arenas [#mxrt.arena<"" 64>] {
  // expected-error@+1 {{has 32 bytes, but '!mxrt.buffer<f32[N + 1]>' needs 36}}
  %a = mxrt.slice 0 bytes 32 : <f32[N + 1]>
}

// -----

// What a name takes away does not count: sizes are planned for all values up to the bound.
mxrt.program @shrinking() sizes [#mxrt.open<"N" to 8>] arenas [#mxrt.arena<"" 64>] {
  // expected-error@+1 {{has 32 bytes, but '!mxrt.buffer<f32[10 - N]>' needs 40}}
  %a = mxrt.slice 0 bytes 32 : <f32[10 - N]>
}

// -----

mxrt.program @unknown_size() arenas [#mxrt.arena<"" 64>] {
  // expected-error@+1 {{the size of '!mxrt.buffer<f32[N]>' has no bound}}
  %a = mxrt.slice 0 bytes 32 : <f32[N]>
}

// -----

mxrt.program @unknown_name() {
  // expected-error@+1 {{is of a name that the program does not list}}
  %n = mxrt.size <N>
}

// -----

// Slices may share memory; when, is for verify-plan to say.
mxrt.program @overlap() arenas [#mxrt.arena<"" 256>] {
  %a = mxrt.slice 0 bytes 68 : <f32[17]>
  %b = mxrt.slice 64 bytes 4 : <f32[1]>
}

// -----

// Two devices, and slices without a byte, share nothing.
mxrt.program @no_overlap() arenas [#mxrt.arena<"" 128>, #mxrt.arena<"cpu:1" 128>] {
  %a = mxrt.slice 0 bytes 68 : <f32[17]>
  %b = mxrt.slice 64 bytes 4 : <f32[1] on "cpu:1">
  %c = mxrt.slice 64 bytes 0 : <f32[0]>
}

// -----

// expected-error@+1 {{has two arenas of "cpu:1"}}
mxrt.program @two_arenas() arenas [#mxrt.arena<"cpu:1" 128>, #mxrt.arena<"cpu:1" 128>] {
}

// -----

mxrt.kernel @k(%x: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x) attributes {sizes = ["N"], workspace = 8 : i64} : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    mx.yield %a : !mx.tensor<f32[4]>
  }
}
mxrt.program @no_workspace(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{writes 1 buffers, but the kernel has 2}}
  mxrt.call @k reads(%x : !mxrt.buffer<f32[4]>) writes(%y : !mxrt.buffer<f32[4]>)
}

// -----

mxrt.kernel @k(%x: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    mx.yield %a : !mx.tensor<f32[4]>
  }
}
mxrt.program @no_sizes(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{gives 0 sizes to a kernel with 1}}
  mxrt.call @k reads(%x : !mxrt.buffer<f32[4]>) writes(%y : !mxrt.buffer<f32[4]>)
}

// -----

mxrt.kernel @k(%x: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    mx.yield %a : !mx.tensor<f32[4]>
  }
}
mxrt.program @other_type(%x: !mxrt.buffer<f32[5]>) writes (%y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{reads '!mxrt.buffer<f32[5]>' where the kernel has '!mx.tensor<f32[4]>'}}
  mxrt.call @k reads(%x : !mxrt.buffer<f32[5]>) writes(%y : !mxrt.buffer<f32[4]>)
}

// -----

mxrt.program @nowhere(%x: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{there is no kernel @k}}
  mxrt.call @k reads(%x : !mxrt.buffer<f32[4]>) writes()
}

// -----

mxrt.kernel @k(%x: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    mx.yield %v : !mx.tensor<f32[4]>
  }
}
mxrt.program @in_place() writes (%y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{reads and writes one buffer, a '!mxrt.buffer<f32[4]>'}}
  mxrt.call @k reads(%y : !mxrt.buffer<f32[4]>) writes(%y : !mxrt.buffer<f32[4]>)
}

// -----

mxrt.program @twice() writes (%y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{writes one buffer twice, a '!mxrt.buffer<f32[4]>'}}
  mxrt.call @k reads() writes(%y, %y : !mxrt.buffer<f32[4]>, !mxrt.buffer<f32[4]>)
}

// -----

mxrt.program @input_written(%x: !mxrt.buffer<f32[4]>, %y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{writes to an input of the program}}
  mxrt.copy %x to %y : <f32[4]>, <f32[4]>
}

// -----

mxrt.program @copy_of_another(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[2, 2]>) {
  // expected-error@+1 {{copies '!mxrt.buffer<f32[4]>' to '!mxrt.buffer<f32[2, 2]>'}}
  mxrt.copy %x to %y : <f32[4]>, <f32[2, 2]>
}

// -----

mxrt.program @not_a_number(%x: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{is for buffers of rank 0, not for '!mxrt.buffer<f32[4]>'}}
  %n = mxrt.load %x : <f32[4]> -> f32
}

// -----

mxrt.program @other_number(%x: !mxrt.buffer<f32[]>) {
  // expected-error@+1 {{'i64' is not the number in '!mxrt.buffer<f32[]>'}}
  %n = mxrt.load %x : <f32[]> -> i64
}

// -----

mxrt.program @slot_of_a_device() {
  // expected-error@+1 {{is for numbers of the host, not for '!mxrt.buffer<f32[]>'}}
  %s = mxrt.slot : <f32[]>
}

// -----

mxrt.program @chosen(%c: i1, %x: !mxrt.buffer<f32[4]>, %y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{passes a buffer on; buffers are arguments, slices and slots}}
  %z = scf.if %c -> !mxrt.buffer<f32[4]> {
    scf.yield %x : !mxrt.buffer<f32[4]>
  } else {
    scf.yield %y : !mxrt.buffer<f32[4]>
  }
}

// -----

// expected-error@+1 {{holds one mx.kernel and nothing else}}
mxrt.kernel @empty(%x: !mx.tensor<f32[4]>) {
}

// -----

mxrt.kernel @k(%x: !mx.tensor<f32[4]>) {
  %r = mx.kernel(%x) attributes {mx.over = array<i64: 0>} : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    mx.yield %v : !mx.tensor<f32[4]>
  }
}
mxrt.program @not_in_place(%x: !mxrt.buffer<f32[4]>) writes (%y: !mxrt.buffer<f32[4]>) {
  // expected-error@+1 {{has two buffers where its kernel has one, a '!mxrt.buffer<f32[4]>'}}
  mxrt.call @k reads(%x : !mxrt.buffer<f32[4]>) writes(%y : !mxrt.buffer<f32[4]>)
}

// -----

mxrt.kernel @k(%x: !mx.tensor<f32[4]>) {
  // expected-error@+1 {{stores output 0 over input 1, which `overwrites` does not list}}
  %r = mx.kernel(%x) attributes {mx.over = array<i64: 1>} : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    mx.yield %v : !mx.tensor<f32[4]>
  }
}

// -----

mxrt.kernel @k(%x: !mx.tensor<i64[4]>) {
  // expected-error@+1 {{stores output 0 over input 0, which `overwrites` does not list}}
  %r = mx.kernel(%x) attributes {mx.over = array<i64: 0>} : (!mx.tensor<i64[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<i64[4]>):
    %f = mx.cast %v : (!mx.tensor<i64[4]>) -> !mx.tensor<f32[4]>
    mx.yield %f : !mx.tensor<f32[4]>
  }
}
