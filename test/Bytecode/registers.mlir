// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Registers are used again, and tensors end where they are used last.

!i64 = !mx.tensor<i64[] on host>
!bool = !mx.tensor<bool[] on host>
!t = !mx.tensor<f32[4]>

// CHECK: tensor "exp:f32"(tensor) -> tensor
// CHECK-NEXT: tensor "tanh:f32"(tensor) -> tensor
// CHECK-NEXT: tensor "sin:f32"(tensor) -> tensor
// CHECK-NEXT: tensor "add:f32"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor "mul:f32"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor "update(i)"(mut tensor, i64, f32)

// CHECK-LABEL: func chain(tensor) -> tensor {
// CHECK-NEXT: tensor r0, "exp:f32", [r0]
// CHECK-NEXT: tensor r0, "tanh:f32", [r0]
// CHECK-NEXT: tensor r0, "sin:f32", [r0]
// CHECK-NEXT: tensor r0, "add:f32", [r0, r0]
// CHECK-NEXT: ret r0
// CHECK-NEXT: }
mx.func @chain(%x: !t) -> !t {
  %a = mx.exp %x : (!t) -> !t
  %b = mx.tanh %a : (!t) -> !t
  %c = mx.sin %b : (!t) -> !t
  %d = mx.add %c, %c : (!t, !t) -> !t
  mx.return %d : !t
}

// Each branch drops what only the other needs.
// CHECK-LABEL: func branches(bool, tensor, tensor) -> tensor {
// CHECK-NEXT: reg tensor
// CHECK-NEXT: jf r0, L5
// CHECK-NEXT: drop r2
// CHECK-NEXT: tensor r3, "exp:f32", [r1]
// CHECK-NEXT: drop r1
// CHECK-NEXT: jmp L8
// CHECK-NEXT: L5:
// CHECK-NEXT: drop r1
// CHECK-NEXT: tensor r3, "sin:f32", [r2]
// CHECK-NEXT: drop r2
// CHECK-NEXT: L8:
// CHECK-NEXT: tensor r3, "add:f32", [r3, r3]
// CHECK-NEXT: ret r3
// CHECK-NEXT: }
mx.func @branches(%c: !bool, %x: !t, %y: !t) -> !t {
  %r = mx.if %c : (!bool) -> !t {
    %a = mx.exp %x : (!t) -> !t
    mx.yield %a : !t
  } else {
    %a = mx.sin %y : (!t) -> !t
    mx.yield %a : !t
  }
  %s = mx.add %r, %r : (!t, !t) -> !t
  mx.return %s : !t
}

// What a loop looks at in each iteration ends behind it; what it does not carry on ends at once.
// CHECK-LABEL: func loops(tensor, tensor, i64) -> tensor {
// CHECK-NEXT: reg i64, i64, bool, tensor, tensor
// CHECK-NEXT: int r3, 0
// CHECK-NEXT: mov r4, r3
// CHECK-NEXT: lt.i r5, r4, r2
// CHECK-NEXT: jf r5, L11
// CHECK-NEXT: L4:
// CHECK-NEXT: tensor r6, "add:f32", [r0, r1]
// CHECK-NEXT: drop r0
// CHECK-NEXT: tensor r7, "exp:f32", [r6]
// CHECK-NEXT: tensor r0, "mul:f32", [r6, r7]
// CHECK-NEXT: drop r6
// CHECK-NEXT: drop r7
// CHECK-NEXT: next.i r4, r2, L4
// CHECK-NEXT: L11:
// CHECK-NEXT: drop r1
// CHECK-NEXT: tensor r0, "sin:f32", [r0]
// CHECK-NEXT: ret r0
// CHECK-NEXT: }
mx.func @loops(%x: !t, %y: !t, %n: !i64) -> !t {
  %zero = mx.constant 0 : i64 -> !i64
  %r = mx.for %zero to %n carries (%x) : (!i64, !i64, !t) -> !t {
  ^bb0(%k: !i64, %v: !t):
    %a = mx.add %v, %y : (!t, !t) -> !t
    %b = mx.exp %a : (!t) -> !t
    %c = mx.mul %a, %b : (!t, !t) -> !t
    mx.yield %c : !t
  }
  %s = mx.sin %r : (!t) -> !t
  mx.return %s : !t
}

// In a loop of a loop the inner one works on the outer one's register.
// CHECK-LABEL: func nested(tensor, i64) -> tensor {
// CHECK-NEXT: reg i64, i64, bool, i64, bool
// CHECK-NEXT: int r2, 0
// CHECK-NEXT: mov r3, r2
// CHECK-NEXT: lt.i r4, r3, r1
// CHECK-NEXT: jf r4, L10
// CHECK-NEXT: L4:
// CHECK-NEXT: mov r5, r2
// CHECK-NEXT: lt.i r6, r5, r3
// CHECK-NEXT: jf r6, L9
// CHECK-NEXT: L7:
// CHECK-NEXT: tensor r0, "exp:f32", [r0]
// CHECK-NEXT: next.i r5, r3, L7
// CHECK-NEXT: L9:
// CHECK-NEXT: next.i r3, r1, L4
// CHECK-NEXT: L10:
// CHECK-NEXT: ret r0
// CHECK-NEXT: }
mx.func @nested(%x: !t, %n: !i64) -> !t {
  %zero = mx.constant 0 : i64 -> !i64
  %r = mx.for %zero to %n carries (%x) : (!i64, !i64, !t) -> !t {
  ^bb0(%k: !i64, %v: !t):
    %s = mx.for %zero to %k carries (%v) : (!i64, !i64, !t) -> !t {
    ^bb1(%l: !i64, %w: !t):
      %a = mx.exp %w : (!t) -> !t
      mx.yield %a : !t
    }
    mx.yield %s : !t
  }
  mx.return %r : !t
}

// A branch that changes a tensor does it in place.
// CHECK-LABEL: func in_place(bool, tensor, i64) -> tensor {
// CHECK-NEXT: reg f32, tensor
// CHECK-NEXT: const r3, 1f
// CHECK-NEXT: jf r0, L5
// CHECK-NEXT: tensor _, "update(i)", [mut r1, r2, r3]
// CHECK-NEXT: move r4, r1
// CHECK-NEXT: jmp L6
// CHECK-NEXT: L5:
// CHECK-NEXT: move r4, r1
// CHECK-NEXT: L6:
// CHECK-NEXT: ret r4
// CHECK-NEXT: }
mx.func @in_place(%c: !bool, %x: !t, %i: !i64) -> !t {
  %one = mx.constant 1.0 : f32 -> !mx.tensor<f32[] on host>
  %r = mx.if %c : (!bool) -> !t {
    %a = mx.update %x, %one ["i"] at (%i) : (!t, !mx.tensor<f32[] on host>, !i64) -> !t
    mx.yield %a : !t
  } else {
    mx.yield %x : !t
  }
  mx.return %r : !t
}

// CHECK-LABEL: func unused(tensor, tensor) {
// CHECK-NEXT: reg str
// CHECK-NEXT: drop r1
// CHECK-NEXT: tensor _, "exp:f32", [r0]
// CHECK-NEXT: drop r0
// CHECK-NEXT: const r2, "unused"
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @unused(%x: !t, %y: !t) {
  %a = mx.exp %x : (!t) -> !t
  %s = mx.text "unused" : !mx.str
  mx.return
}
