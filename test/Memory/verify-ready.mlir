// RUN: mxc-opt %s --verify-ready --split-input-file --verify-diagnostics
// Reports of outputs: each way in which they can be wrong, and what is right.

// As it should be. The last output is complete when the program ends.
mxrt.program @right(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  mxrt.ready %y : <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// A loop is one op.
mxrt.program @behind_a_loop(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  }
  mxrt.ready %y : <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// Before its last write.
mxrt.program @early(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  // expected-note@+1 {{reported here}}
  mxrt.ready %y : <f32[16]>
  // expected-error@+1 {{accesses output 0, which was reported complete}}
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// Before the program reads it.
mxrt.program @read_later(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  // expected-note@+1 {{reported here}}
  mxrt.ready %y : <f32[16]>
  // expected-error@+1 {{accesses output 0, which was reported complete}}
  mxrt.copy %y to %z : <f32[16]>, <f32[16]>
}

// -----

// Before its first write.
mxrt.program @never_written(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  // expected-note@+1 {{reported here}}
  mxrt.ready %y : <f32[16]>
  // expected-error@+1 {{accesses output 0, which was reported complete}}
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// Before a loop that writes it.
mxrt.program @before_a_loop(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  // expected-note@+1 {{reported here}}
  mxrt.ready %y : <f32[16]>
  scf.for %i = %zero to %n step %one : i64 {
  // expected-error@+1 {{accesses output 0, which was reported complete}}
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  }
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// In a loop: once for each iteration, or never.
mxrt.program @in_a_loop(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  scf.for %i = %zero to %n step %one : i64 {
  // expected-error@+1 {{may run any number of times}}
  mxrt.ready %y : <f32[16]>
  }
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// In a branch.
mxrt.program @in_a_branch(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  %zero = arith.constant 0 : i64
  %c = arith.cmpi eq, %n, %zero : i64
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  scf.if %c {
    // expected-error@+1 {{may run any number of times}}
    mxrt.ready %y : <f32[16]>
  }
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// Twice.
mxrt.program @twice(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  // expected-note@+1 {{reported here}}
  mxrt.ready %y : <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
  // expected-error@+1 {{reports output 0 again}}
  mxrt.ready %y : <f32[16]>
}

// -----

// Not at all.
mxrt.program @missing(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  // expected-error@+1 {{completes output 0, and nothing reports it}}
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// Another output in its place.
mxrt.program @another(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  // expected-note@+1 {{reported here}}
  mxrt.ready %z : <f32[16]>
  // expected-error@+1 {{accesses output 1, which was reported complete}}
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// The output has the memory of the input, which is read later.
mxrt.program @input_read_later(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces, mxrt.over = array<i64: 0, -1>} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  // expected-note@+1 {{reported here}}
  mxrt.ready %y : <f32[16]>
  // expected-error@+1 {{accesses output 0, which was reported complete}}
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// The twin: behind the last read of the input.
mxrt.program @input_read_before(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces, mxrt.over = array<i64: 0, -1>} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
  mxrt.ready %y : <f32[16]>
}

// -----

// The output of another input: that one may be read.
mxrt.program @other_input(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces, mxrt.over = array<i64: -1, 0>} {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  mxrt.ready %y : <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// Nobody asked.
mxrt.program @unasked(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) {
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  // expected-error@+1 {{is in a program that nobody asked to report}}
  mxrt.ready %y : <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}

// -----

// An input is complete from the start.
mxrt.program @input(%x: !mxrt.buffer<f32[16]>, %n: i64) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  // expected-error@+1 {{is of an output of the program}}
  mxrt.ready %x : <f32[16]>
  mxrt.copy %x to %y : <f32[16]>, <f32[16]>
  mxrt.copy %x to %z : <f32[16]>, <f32[16]>
}
