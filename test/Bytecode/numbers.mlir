// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Numbers of the host: instructions where the VM has them, natives where not.

!i64 = !mx.tensor<i64[] on host>
!i32 = !mx.tensor<i32[] on host>
!u8 = !mx.tensor<u8[] on host>
!f32 = !mx.tensor<f32[] on host>
!f64 = !mx.tensor<f64[] on host>
!bool = !mx.tensor<bool[] on host>

// CHECK: native mx.math.maximum.i(i64, i64) -> i64
// CHECK-NEXT: native mx.math.shift_left.i(i64, i64) -> i64
// CHECK-NEXT: native mx.math.abs.i(i64) -> i64
// CHECK-NEXT: native mx.math.exp.f(f32) -> f32
// CHECK-NEXT: native mx.math.atan2.d(f64, f64) -> f64
// CHECK-NEXT: native mx.math.to_i32.f(f32) -> i64

// CHECK-LABEL: func ints(i64, i64) -> i64 {
// CHECK-NEXT: add.i r0, r0, r1
// CHECK-NEXT: sub.i r0, r0, r1
// CHECK-NEXT: mul.i r0, r0, r1
// CHECK-NEXT: floordiv.i r0, r0, r1
// CHECK-NEXT: mod.i r0, r0, r1
// CHECK-NEXT: pow.i r0, r0, r1
// CHECK-NEXT: neg.i r0, r0
// CHECK-NEXT: neg.i r0, r0
// CHECK-NEXT: addk.i r0, r0, -1
// CHECK-NEXT: native r0, mx.math.maximum.i, [r0, r1]
// CHECK-NEXT: native r1, mx.math.shift_left.i, [r0, r1]
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @ints(%x: !i64, %y: !i64) -> !i64 {
  %a = mx.add %x, %y : (!i64, !i64) -> !i64
  %b = mx.sub %a, %y : (!i64, !i64) -> !i64
  %c = mx.mul %b, %y : (!i64, !i64) -> !i64
  %d = mx.floordiv %c, %y : (!i64, !i64) -> !i64
  %e = mx.mod %d, %y : (!i64, !i64) -> !i64
  %f = mx.pow %e, %y : (!i64, !i64) -> !i64
  %g = mx.neg %f : (!i64) -> !i64
  %h = mx.bit_not %g : (!i64) -> !i64
  %i = mx.maximum %h, %y : (!i64, !i64) -> !i64
  %j = mx.shift_left %i, %y : (!i64, !i64) -> !i64
  %k = mx.round %j : (!i64) -> !i64
  mx.return %k : !i64
}

// CHECK-LABEL: func small_ints(i64, i64) -> i64 {
// CHECK-NEXT: reg i64
// CHECK-NEXT: add.i r2, r0, r0
// CHECK-NEXT: wrap.i32 r2, r2
// CHECK-NEXT: mod.i r0, r2, r0
// CHECK-NEXT: wrap.u8 r0, r0
// CHECK-NEXT: mul.i r1, r0, r1
// CHECK-NEXT: wrap.u8 r1, r1
// CHECK-NEXT: neg.i r1, r1
// CHECK-NEXT: addk.i r1, r1, -1
// CHECK-NEXT: wrap.u8 r1, r1
// CHECK-NEXT: native r1, mx.math.abs.i, [r1]
// CHECK-NEXT: wrap.u8 r1, r1
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @small_ints(%x: !i32, %y: !u8) -> !u8 {
  %a = mx.add %x, %x : (!i32, !i32) -> !i32
  %b = mx.mod %a, %x : (!i32, !i32) -> !i32
  %c = mx.cast %b : (!i32) -> !u8
  %d = mx.mul %c, %y : (!u8, !u8) -> !u8
  %e = mx.bit_not %d : (!u8) -> !u8
  %f = mx.abs %e : (!u8) -> !u8
  mx.return %f : !u8
}

// CHECK-LABEL: func quotient(i64, i64) -> f32 {
// CHECK-NEXT: reg f32
// CHECK-NEXT: div.i r2, r0, r1
// CHECK-NEXT: ret r2
// CHECK-NEXT: }
mx.func @quotient(%x: !i64, %y: !i64) -> !f32 {
  %a = mx.div %x, %y : (!i64, !i64) -> !f32
  mx.return %a : !f32
}

// CHECK-LABEL: func floats(f32, f64) -> f64 {
// CHECK-NEXT: reg f32, f64
// CHECK-NEXT: add.f r2, r0, r0
// CHECK-NEXT: native r2, mx.math.exp.f, [r2]
// CHECK-NEXT: div.f r0, r2, r0
// CHECK-NEXT: f2d r3, r0
// CHECK-NEXT: native r3, mx.math.atan2.d, [r3, r1]
// CHECK-NEXT: pow.d r1, r3, r1
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @floats(%x: !f32, %y: !f64) -> !f64 {
  %a = mx.add %x, %x : (!f32, !f32) -> !f32
  %b = mx.exp %a : (!f32) -> !f32
  %c = mx.div %b, %x : (!f32, !f32) -> !f32
  %d = mx.cast %c : (!f32) -> !f64
  %e = mx.atan2 %d, %y : (!f64, !f64) -> !f64
  %f = mx.pow %e, %y : (!f64, !f64) -> !f64
  mx.return %f : !f64
}

// CHECK-LABEL: func conversions(f32, bool, i64) -> tuple {
// CHECK-NEXT: reg i64, i64, f64, f32, bool, tuple
// CHECK-NEXT: native r3, mx.math.to_i32.f, [r0]
// CHECK-NEXT: b2i r4, r1
// CHECK-NEXT: i2d r5, r4
// CHECK-NEXT: const r6, 0f
// CHECK-NEXT: ne.f r7, r0, r6
// CHECK-NEXT: b2i r4, r1
// CHECK-NEXT: i2f r0, r2
// CHECK-NEXT: tuple r8, [r3, r5, r7, r4, r0]
// CHECK-NEXT: ret r8
// CHECK-NEXT: }
mx.func @conversions(%x: !f32, %b: !bool, %n: !i64) -> (!i32, !f64, !bool, !i64, !f32) {
  %i = mx.cast %x : (!f32) -> !i32
  %d = mx.cast %b : (!bool) -> !f64
  %t = mx.cast %x : (!f32) -> !bool
  %k = mx.cast %b : (!bool) -> !i64
  %f = mx.cast %n : (!i64) -> !f32
  mx.return %i, %d, %t, %k, %f : !i32, !f64, !bool, !i64, !f32
}

// CHECK-LABEL: func comparisons(i64, i64, f64, f64) -> bool {
// CHECK-NEXT: reg bool, bool, bool, bool, bool
// CHECK-NEXT: lt.i r4, r1, r0
// CHECK-NEXT: le.d r5, r2, r3
// CHECK-NEXT: mov r6, r4
// CHECK-NEXT: jf r6, L5
// CHECK-NEXT: mov r6, r5
// CHECK-NEXT: L5:
// CHECK-NEXT: le.d r7, r3, r2
// CHECK-NEXT: mov r8, r6
// CHECK-NEXT: jt r8, L9
// CHECK-NEXT: mov r8, r7
// CHECK-NEXT: L9:
// CHECK-NEXT: not r8, r8
// CHECK-NEXT: ne.b r4, r8, r4
// CHECK-NEXT: b2i r1, r4
// CHECK-NEXT: b2i r0, r5
// CHECK-NEXT: lt.i r5, r1, r0
// CHECK-NEXT: ret r5
// CHECK-NEXT: }
mx.func @comparisons(%x: !i64, %y: !i64, %u: !f64, %v: !f64) -> !bool {
  %a = mx.gt %x, %y : (!i64, !i64) -> !bool
  %b = mx.le %u, %v : (!f64, !f64) -> !bool
  %c = mx.and %a, %b : (!bool, !bool) -> !bool
  %d = mx.ge %u, %v : (!f64, !f64) -> !bool
  %e = mx.or %c, %d : (!bool, !bool) -> !bool
  %f = mx.not %e : (!bool) -> !bool
  %g = mx.ne %f, %a : (!bool, !bool) -> !bool
  %h = mx.lt %g, %b : (!bool, !bool) -> !bool
  mx.return %h : !bool
}

// CHECK-LABEL: func special(f32, bool) -> f32 {
// CHECK-NEXT: reg f32, bool, bool, f32
// CHECK-NEXT: ne.f r1, r0, r0
// CHECK-NEXT: sub.f r2, r0, r0
// CHECK-NEXT: eq.f r3, r2, r2
// CHECK-NEXT: mov r4, r1
// CHECK-NEXT: jf r4, L6
// CHECK-NEXT: mov r4, r3
// CHECK-NEXT: L6:
// CHECK-NEXT: const r2, 1.5f
// CHECK-NEXT: mov r5, r0
// CHECK-NEXT: jt r4, L10
// CHECK-NEXT: mov r5, r2
// CHECK-NEXT: L10:
// CHECK-NEXT: ret r5
// CHECK-NEXT: }
mx.func @special(%x: !f32, %c: !bool) -> !f32 {
  %a = mx.isnan %x : (!f32) -> !bool
  %b = mx.isfinite %x : (!f32) -> !bool
  %d = mx.and %a, %b : (!bool, !bool) -> !bool
  %one = mx.constant 1.5 : f32 -> !f32
  %y = mx.select %d, %x, %one : (!bool, !f32, !f32) -> !f32
  mx.return %y : !f32
}

// Equal constants have one register; a small one that is only added has none.
// CHECK-LABEL: func constants(i64) -> tuple {
// CHECK-NEXT: reg i64, i64, f64, bool, i64, tuple
// CHECK-NEXT: int r1, 3
// CHECK-NEXT: const r2, 10000000000
// CHECK-NEXT: const r3, 0.5d
// CHECK-NEXT: bool r4, true
// CHECK-NEXT: mul.i r0, r0, r1
// CHECK-NEXT: mul.i r0, r0, r1
// CHECK-NEXT: addk.i r0, r0, -7
// CHECK-NEXT: mul.i r5, r0, r2
// CHECK-NEXT: tuple r6, [r0, r5, r3, r4]
// CHECK-NEXT: ret r6
// CHECK-NEXT: }
mx.func @constants(%x: !i64) -> (!i64, !i64, !f64, !bool) {
  %three = mx.constant 3 : i64 -> !i64
  %again = mx.constant 3 : i64 -> !i64
  %seven = mx.constant 7 : i64 -> !i64
  %large = mx.constant 10000000000 : i64 -> !i64
  %half = mx.constant 0.5 : f64 -> !f64
  %yes = mx.constant true -> !bool
  %a = mx.mul %x, %three : (!i64, !i64) -> !i64
  %b = mx.mul %a, %again : (!i64, !i64) -> !i64
  %c = mx.sub %b, %seven : (!i64, !i64) -> !i64
  %d = mx.mul %c, %large : (!i64, !i64) -> !i64
  mx.return %c, %d, %half, %yes : !i64, !i64, !f64, !bool
}
