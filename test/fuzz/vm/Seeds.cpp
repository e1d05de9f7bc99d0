// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs that mutation starts from. Together they have every instruction
// of Opcodes.def; vm-mutate checks that.

#include "Check.h"

#include "host/text/Assembler.h"

#include <cstdio>
#include <cstdlib>

namespace mxrt::host {

static const char *const texts[] = {
    // Numbers.
    R"(
entry m
func m() in "n.mx" {
  reg i64, i64, i64, f32, f32, f64, f64, bool
  reg bool, dtype, dtype
  line 1:1 stmt
  int r0, 17
  const r1, -9223372036854775808
  add.i r2, r0, r1
  sub.i r2, r2, r0
  mul.i r2, r2, r1
  line 2:1 stmt
  div.i r3, r1, r0
  floordiv.i r2, r1, r0
  mod.i r2, r1, r0
  pow.i r2, r0, r0
  neg.i r2, r1
  addk.i r2, r2, -3
  wrap.i8 r2, r1
  wrap.u8 r2, r0
  wrap.i32 r2, r1
  const r4, 1.5f
  add.f r3, r3, r4
  sub.f r3, r3, r4
  mul.f r3, r3, r4
  div.f r3, r3, r4
  floordiv.f r3, r3, r4
  mod.f r3, r3, r4
  pow.f r3, r3, r4
  neg.f r3, r3
  const r5, -0.25d
  i2d r6, r0
  add.d r6, r6, r5
  sub.d r6, r6, r5
  mul.d r6, r6, r5
  div.d r6, r6, r5
  floordiv.d r6, r6, r5
  mod.d r6, r6, r5
  pow.d r6, r6, r5
  neg.d r6, r5
  i2f r3, r0
  f2d r6, r3
  d2f r3, r6
  f2i r2, r3
  d2i r2, r6
  eq.i r7, r0, r1
  ne.i r7, r0, r1
  lt.i r7, r0, r1
  le.i r7, r0, r1
  eq.f r7, r3, r4
  ne.f r7, r3, r4
  lt.f r7, r3, r4
  le.f r7, r3, r4
  eq.d r7, r5, r6
  ne.d r7, r5, r6
  lt.d r7, r5, r6
  le.d r7, r5, r6
  not r8, r7
  eq.b r7, r7, r8
  ne.b r7, r7, r8
  b2i r2, r7
  dtype r9, i32
  dtype r10, bf16
  eq.t r7, r9, r10
  mov r0, r2
  print [r0, r1, r2, r3, r4, r5, r6, r7, r9]
  nop
  retu
}
)",
    // Jumps, calls, function values, natives.
    R"(
native count(mut i64)
native apply(fn, ...) -> any
native works(fn) -> bool
entry m
func fib(i64) -> i64 {
  reg i64, i64, i64
  int r1, 2
  jle.i r1, r0, deep
  ret r0
deep:
  addk.i r2, r0, -1
  call r2, fib, [r2]
  addk.i r3, r0, -2
  call r3, fib, [r3]
  add.i r2, r2, r3
  ret r2
}
func add(i64, i64) -> i64 {
  add.i r0, r0, r1
  ret r0
}
func fill(mut array, any, i64) {
  reg i64
  jmp test
more:
  push r0, r1
  addk.i r3, r3, 1
test:
  jlt.i r3, r2, more
  retu
}
func bad() {
  reg i64
  mod.i r0, r0, r0
  retu
}
func m() {
  reg i64, i64, bool, fn, any, array, fn
  int r0, 8
  call r1, fib, [r0]
  closure r3, add, [r0]
  callv r1, r3, [r1]
  native _, count, [mut r1]
  native r4, apply, [r3, r1]
  array r5, []
  call _, fill, [mut r5, r4, r0]
  closure r6, fill, []
  callv _, r6, [mut r5, r4, r0]
  closure r6, bad, []
  native r2, works, [r6]
  print [r1, r4, r5, r3, r2]
  bool r2, true
  int r1, 0
loop:
  jeq.i r1, r0, out
  jne.i r1, r0, on
  nop
on:
  next.i r1, r0, loop
  jt r2, out
  nop
out:
  jf r2, loop
  retu
}
)",
    // Aggregates, text, globals.
    R"(
type Point(x, y)
type Net(a, b, c)
global kept: any
global total: i64
entry m
func m() {
  reg i64, str, str, tuple, array, struct, struct, any
  reg bool, i64, array, str
  const r0, 1234567
  const r1, "text é "
  str r2, r0
  cat r1, r1, r2
  fmt r2, r0, "*>+12,"
  join r1, [r1, r2, r1]
  len.s r9, r1
  eq.s r8, r1, r2
  lt.s r8, r1, r2
  le.s r8, r1, r2
  tuple r3, [r0, r1]
  array r4, [r0, r0, r0]
  struct r5, Point, [r4, r3]
  copy r6, r5
  set r6, 0, r0
  take r4, r5, 0
  int r9, -1
  setat r4, r9, r1
  at r7, r4, r9
  takeat r7, r4, r9
  setat r4, r9, r7
  set r5, 0, r4
  get r3, r5, 1
  push r4, r5
  push r4, r4
  len r9, r4
  eq.v r8, r5, r6
  copy r7, r5
  cast r6, r7
  move r7, r1
  gset kept, r5
  gget r7, kept
  gtake r7, kept
  gset kept, r7
  gget r0, total
  addk.i r0, r0, 1
  gset total, r0
  unit r7
  print [r0, r5, r6, r7, r8]
  drop r6
  fmt r11, r5, ".20"
  retu
}
)",
    // Errors, tensors, graphs.
    R"(
tensor matmul(tensor, tensor) -> tensor
tensor zeros() -> tensor
graph step(mut tensor, tensor) -> f32
entry m
func raiser(i64) in "e.mx" {
  reg str, error
  const r1, "mode"
  line 4:9 stmt
  error r2, r1, R0303
  raise r2
}
func m() in "e.mx" {
  reg i64, error, str, str, str, tensor, tensor, f32
  reg bool, error, any, str
  tensor r5, zeros, []
  tensor r6, matmul, [r5, r5]
  graph r7, step, [mut r5, r6]
  read r8, r6
  read r0, r6
  fmt r11, r7, "8.3e"
  line 9:2 stmt
begin:
  call _, raiser, [r0]
end:
  retu
caught:
  err.message r2, r1
  err.code r3, r1
  err.location r4, r1
  print [r2, r3, r4, r1, r5]
again:
  int r0, 0
  mod.i r0, r0, r0
done:
  retu
last:
  unit r10
  copy r10, r9
  print [r10]
  raise r9
  try begin, end, caught, r1
  try again, done, last, r9
}
)"};

const std::vector<std::vector<uint8_t>> &seedPrograms() {
  static const std::vector<std::vector<uint8_t>> seeds = [] {
    std::vector<std::vector<uint8_t>> out;
    for (const char *text : texts) {
      std::string message;
      if (!assemble(text, out.emplace_back(), message)) {
        std::fprintf(stderr, "seed %zu: %s\n", out.size() - 1, message.c_str());
        std::abort();
      }
    }
    return out;
  }();
  return seeds;
}

} // namespace mxrt::host
