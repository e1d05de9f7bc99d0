// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Aggregates and text.

!i64 = !mx.tensor<i64[] on host>
!bool = !mx.tensor<bool[] on host>
!t = !mx.tensor<f32[4]>
!net = !mx.aggregate<"Net" ["w", "n"] (!mx.tensor<f32[4]>, !mx.tensor<i64[] on host>)>
!pair = !mx.aggregate<"" [] (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>)>

// CHECK: type Net(w, n)
// CHECK-NEXT: tensor "update(i)"(mut tensor, i64, f32)

// CHECK-LABEL: func aggregates(tensor, i64) -> struct {
// CHECK-NEXT: reg struct, tuple, array, i64
// CHECK-NEXT: struct r2, Net, [r0, r1]
// CHECK-NEXT: tuple r3, [r0, r0]
// CHECK-NEXT: drop r0
// CHECK-NEXT: array r4, [r3, r3]
// CHECK-NEXT: drop r3
// CHECK-NEXT: len r5, r4
// CHECK-NEXT: at r3, r4, r1
// CHECK-NEXT: drop r4
// CHECK-NEXT: get r0, r3, 1
// CHECK-NEXT: drop r3
// CHECK-NEXT: set r2, 0, r0
// CHECK-NEXT: drop r0
// CHECK-NEXT: set r2, 1, r5
// CHECK-NEXT: ret r2
// CHECK-NEXT: }
mx.func @aggregates(%x: !t, %n: !i64) -> !net {
  %a = mx.make(%x, %n) : (!t, !i64) -> !net
  %p = mx.make(%x, %x) : (!t, !t) -> !pair
  %q = mx.make(%p, %p) : (!pair, !pair) -> !mx.array<!pair, #mx.size<2>>
  %k = mx.length %q : !mx.array<!pair, #mx.size<2>> -> !i64
  %e = mx.at %q[%n] : (!mx.array<!pair, #mx.size<2>>, !i64) -> !pair
  %w = mx.get %e 1 : !pair -> !t
  %b = mx.set %a 0 = %w : (!net, !t) -> !net
  %c = mx.set %b 1 = %k : (!net, !i64) -> !net
  mx.return %c : !net
}

// The old struct is still needed: the change is made in a copy.
// CHECK-LABEL: func shared(struct, tensor) -> struct {
// CHECK-NEXT: reg struct
// CHECK-NEXT: copy r2, r0
// CHECK-NEXT: set r2, 0, r1
// CHECK-NEXT: drop r1
// CHECK-NEXT: print [r0]
// CHECK-NEXT: ret r2
// CHECK-NEXT: }
mx.func @shared(%a: !net, %x: !t) -> !net {
  %b = mx.set %a 0 = %x : (!net, !t) -> !net
  mx.print %a : !net
  mx.return %b : !net
}

// A part that comes back is moved out and changed in place.
// CHECK-LABEL: func part(struct, i64) -> struct {
// CHECK-NEXT: reg f32, tensor
// CHECK-NEXT: const r2, 1f
// CHECK-NEXT: take r3, r0, 0
// CHECK-NEXT: get r1, r0, 1
// CHECK-NEXT: tensor _, "update(i)", [mut r3, r1, r2]
// CHECK-NEXT: set r0, 0, r3
// CHECK-NEXT: ret r0
// CHECK-NEXT: }
mx.func @part(%a: !net, %n: !i64) -> !net {
  %s = mx.constant 1.0 : f32 -> !mx.tensor<f32[] on host>
  %w = mx.get %a 0 : !net -> !t
  %k = mx.get %a 1 : !net -> !i64
  %u = mx.update %w, %s ["i"] at (%k) : (!t, !mx.tensor<f32[] on host>, !i64) -> !t
  %b = mx.set %a 0 = %u : (!net, !t) -> !net
  mx.return %b : !net
}
// CHECK-LABEL: func element(array, i64) -> array {
// CHECK-NEXT: reg f32, tensor
// CHECK-NEXT: const r2, 1f
// CHECK-NEXT: takeat r3, r0, r1
// CHECK-NEXT: tensor _, "update(i)", [mut r3, r1, r2]
// CHECK-NEXT: setat r0, r1, r3
// CHECK-NEXT: ret r0
// CHECK-NEXT: }
mx.func @element(%a: !mx.array<!t, #mx.size<2>>, %n: !i64) -> !mx.array<!t, #mx.size<2>> {
  %s = mx.constant 1.0 : f32 -> !mx.tensor<f32[] on host>
  %w = mx.at %a[%n] : (!mx.array<!t, #mx.size<2>>, !i64) -> !t
  %u = mx.update %w, %s ["i"] at (%n) : (!t, !mx.tensor<f32[] on host>, !i64) -> !t
  %b = mx.set_at %a[%n] = %u : (!mx.array<!t, #mx.size<2>>, !i64, !t) -> !mx.array<!t, #mx.size<2>>
  mx.return %b : !mx.array<!t, #mx.size<2>>
}

// CHECK-LABEL: func text(tensor, i64) -> bool {
// CHECK-NEXT: reg str, str, str, bool, bool, bool
// CHECK-NEXT: const r2, "n = "
// CHECK-NEXT: str r3, r1
// CHECK-NEXT: fmt r4, r0, ".3f"
// CHECK-NEXT: join r4, [r2, r3, r4]
// CHECK-NEXT: drop r3
// CHECK-NEXT: len.s r1, r4
// CHECK-NEXT: print [r4, r1, r0]
// CHECK-NEXT: drop r0
// CHECK-NEXT: eq.s r5, r4, r2
// CHECK-NEXT: le.s r6, r2, r4
// CHECK-NEXT: drop r2
// CHECK-NEXT: drop r4
// CHECK-NEXT: mov r7, r5
// CHECK-NEXT: jt r7, L15
// CHECK-NEXT: mov r7, r6
// CHECK-NEXT: L15:
// CHECK-NEXT: ret r7
// CHECK-NEXT: }
mx.func @text(%x: !t, %n: !i64) -> !bool {
  %a = mx.text "n = " : !mx.str
  %b = mx.format %n "" : !i64 -> !mx.str
  %c = mx.format %x ".3f" : !t -> !mx.str
  %s = mx.join %a, %b, %c : (!mx.str, !mx.str, !mx.str) -> !mx.str
  %l = mx.length %s : !mx.str -> !i64
  mx.print %s, %l, %x : !mx.str, !i64, !t
  %r = mx.compare "==" %s, %a : (!mx.str, !mx.str) -> !bool
  %o = mx.compare ">=" %s, %a : (!mx.str, !mx.str) -> !bool
  %e = mx.or %r, %o : (!bool, !bool) -> !bool
  mx.return %e : !bool
}

// CHECK-LABEL: func kinds(handle, tuple, tuple) -> bool {
// CHECK-NEXT: reg dtype, dtype, bool, bool, bool
// CHECK-NEXT: drop r0
// CHECK-NEXT: dtype r3, bf16
// CHECK-NEXT: dtype r4, i64
// CHECK-NEXT: eq.t r5, r3, r4
// CHECK-NEXT: eq.v r6, r1, r2
// CHECK-NEXT: not r6, r6
// CHECK-NEXT: drop r1
// CHECK-NEXT: drop r2
// CHECK-NEXT: mov r7, r5
// CHECK-NEXT: jf r7, L11
// CHECK-NEXT: mov r7, r6
// CHECK-NEXT: L11:
// CHECK-NEXT: ret r7
// CHECK-NEXT: }
mx.func @kinds(%x: !mx.handle<"file">, %p: !pair, %q: !pair) -> !bool {
  %t = mx.element_type bf16 -> !mx.dtype
  %u = mx.element_type i64 -> !mx.dtype
  %a = mx.compare "==" %t, %u : (!mx.dtype, !mx.dtype) -> !bool
  %b = mx.compare "!=" %p, %q : (!pair, !pair) -> !bool
  %c = mx.and %a, %b : (!bool, !bool) -> !bool
  mx.return %c : !bool
}
