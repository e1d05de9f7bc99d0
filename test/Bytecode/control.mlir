// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Branches and loops: jumps, carried values in their registers.

!i64 = !mx.tensor<i64[] on host>
!bool = !mx.tensor<bool[] on host>
!t = !mx.tensor<f32[4]>

// CHECK: tensor "full:i32"(i64) -> tensor
// CHECK-NEXT: tensor "add:i32"(tensor, tensor) -> tensor

// CHECK-LABEL: func choose(bool, i64, i64) -> i64 {
// CHECK-NEXT: reg i64
// CHECK-NEXT: jf r0, L3
// CHECK-NEXT: mul.i r3, r1, r2
// CHECK-NEXT: jmp L4
// CHECK-NEXT: L3:
// CHECK-NEXT: mov r3, r2
// CHECK-NEXT: L4:
// CHECK-NEXT: ret r3
// CHECK-NEXT: }
mx.func @choose(%c: !bool, %x: !i64, %y: !i64) -> !i64 {
  %r = mx.if %c : (!bool) -> !i64 {
    %a = mx.mul %x, %y : (!i64, !i64) -> !i64
    mx.yield %a : !i64
  } else {
    mx.yield %y : !i64
  }
  mx.return %r : !i64
}

// Without an else there is no jump over it.
// CHECK-LABEL: func only_then(bool, i64) {
// CHECK-NEXT: jf r0, L2
// CHECK-NEXT: print [r1]
// CHECK-NEXT: L2:
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @only_then(%c: !bool, %x: !i64) {
  mx.if %c : (!bool) -> () {
    mx.print %x : !i64
    mx.yield
  } else {
    mx.yield
  }
  mx.return
}

// A condition on a device is read.
// CHECK-LABEL: func device_condition(tensor, tensor, tensor) -> tensor {
// CHECK-NEXT: reg bool, tensor
// CHECK-NEXT: read r3, r0
// CHECK-NEXT: drop r0
// CHECK-NEXT: jf r3, L6
// CHECK-NEXT: drop r2
// CHECK-NEXT: move r4, r1
// CHECK-NEXT: jmp L8
// CHECK-NEXT: L6:
// CHECK-NEXT: drop r1
// CHECK-NEXT: move r4, r2
// CHECK-NEXT: L8:
// CHECK-NEXT: ret r4
// CHECK-NEXT: }
mx.func @device_condition(%c: !mx.tensor<bool[]>, %x: !t, %y: !t) -> !t {
  %r = mx.if %c : (!mx.tensor<bool[]>) -> !t {
    mx.yield %x : !t
  } else {
    mx.yield %y : !t
  }
  mx.return %r : !t
}

// CHECK-LABEL: func sum(i64) -> i64 {
// CHECK-NEXT: reg i64, i64, i64, bool
// CHECK-NEXT: int r1, 0
// CHECK-NEXT: mov r2, r1
// CHECK-NEXT: mov r3, r1
// CHECK-NEXT: lt.i r4, r3, r0
// CHECK-NEXT: jf r4, L7
// CHECK-NEXT: L5:
// CHECK-NEXT: add.i r2, r2, r3
// CHECK-NEXT: next.i r3, r0, L5
// CHECK-NEXT: L7:
// CHECK-NEXT: ret r2
// CHECK-NEXT: }
mx.func @sum(%n: !i64) -> !i64 {
  %zero = mx.constant 0 : i64 -> !i64
  %r = mx.for %zero to %n carries (%zero) : (!i64, !i64, !i64) -> !i64 {
  ^bb0(%k: !i64, %v: !i64):
    %w = mx.add %v, %k : (!i64, !i64) -> !i64
    mx.yield %w : !i64
  }
  mx.return %r : !i64
}

// Values that are swapped need a temporary.
// CHECK-LABEL: func swap(tensor, tensor, i64) -> tuple {
// CHECK-NEXT: reg i64, i64, bool, tensor, tuple
// CHECK-NEXT: int r3, 0
// CHECK-NEXT: mov r4, r3
// CHECK-NEXT: lt.i r5, r4, r2
// CHECK-NEXT: jf r5, L8
// CHECK-NEXT: L4:
// CHECK-NEXT: move r6, r1
// CHECK-NEXT: move r1, r0
// CHECK-NEXT: move r0, r6
// CHECK-NEXT: next.i r4, r2, L4
// CHECK-NEXT: L8:
// CHECK-NEXT: tuple r7, [r0, r1]
// CHECK-NEXT: ret r7
// CHECK-NEXT: }
mx.func @swap(%a: !t, %b: !t, %n: !i64) -> (!t, !t) {
  %zero = mx.constant 0 : i64 -> !i64
  %x, %y = mx.for %zero to %n carries (%a, %b) : (!i64, !i64, !t, !t) -> (!t, !t) {
  ^bb0(%k: !i64, %p: !t, %q: !t):
    mx.yield %q, %p : !t, !t
  }
  mx.return %x, %y : !t, !t
}

// A loop on a device counts on the host.
// CHECK-LABEL: func device_loop(tensor, tensor) -> tensor {
// CHECK-NEXT: reg i64, tensor, i64, i64, i64, bool, i64
// CHECK-NEXT: int r2, 0
// CHECK-NEXT: tensor r3, "full:i32", [r2]
// CHECK-NEXT: read r4, r3
// CHECK-NEXT: read r5, r0
// CHECK-NEXT: mov r8, r5
// CHECK-NEXT: mov r6, r4
// CHECK-NEXT: drop r3
// CHECK-NEXT: lt.i r7, r6, r8
// CHECK-NEXT: jf r7, L13
// CHECK-NEXT: L9:
// CHECK-NEXT: tensor r3, "full:i32", [r6]
// CHECK-NEXT: tensor r1, "add:i32", [r1, r3]
// CHECK-NEXT: drop r3
// CHECK-NEXT: next.i r6, r8, L9
// CHECK-NEXT: L13:
// CHECK-NEXT: drop r0
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @device_loop(%n: !mx.tensor<i32[]>, %x: !mx.tensor<i32[]>) -> !mx.tensor<i32[]> {
  %zero = mx.constant 0 : i32 -> !mx.tensor<i32[]>
  %r = mx.for %zero to %n carries (%x) : (!mx.tensor<i32[]>, !mx.tensor<i32[]>, !mx.tensor<i32[]>) -> !mx.tensor<i32[]> {
  ^bb0(%k: !mx.tensor<i32[]>, %v: !mx.tensor<i32[]>):
    %w = mx.add %v, %k : (!mx.tensor<i32[]>, !mx.tensor<i32[]>) -> !mx.tensor<i32[]>
    mx.yield %w : !mx.tensor<i32[]>
  }
  mx.return %r : !mx.tensor<i32[]>
}

// The condition stands behind the body and is one instruction.
// CHECK-LABEL: func count(i64) -> i64 {
// CHECK-NEXT: reg i64, i64
// CHECK-NEXT: int r1, 1
// CHECK-NEXT: int r2, 2
// CHECK-NEXT: jmp L4
// CHECK-NEXT: L3:
// CHECK-NEXT: floordiv.i r0, r0, r2
// CHECK-NEXT: L4:
// CHECK-NEXT: jlt.i r1, r0, L3
// CHECK-NEXT: ret r0
// CHECK-NEXT: }
mx.func @count(%n: !i64) -> !i64 {
  %one = mx.constant 1 : i64 -> !i64
  %two = mx.constant 2 : i64 -> !i64
  %r = mx.while carries (%n) : (!i64) -> !i64 {
  ^bb0(%a: !i64):
    %g = mx.gt %a, %one : (!i64, !i64) -> !bool
    mx.yield %g : !bool
  } do {
  ^bb0(%a: !i64):
    %h = mx.floordiv %a, %two : (!i64, !i64) -> !i64
    mx.yield %h : !i64
  }
  mx.return %r : !i64
}

// CHECK-LABEL: func limited(bool, i64) {
// CHECK-NEXT: reg i64, str, error
// CHECK-NEXT: int r2, 0
// CHECK-NEXT: jmp L7
// CHECK-NEXT: L2:
// CHECK-NEXT: jlt.i r2, r1, L6
// CHECK-NEXT: const r3, "loop limit reached"
// CHECK-NEXT: error r4, r3, R0305
// CHECK-NEXT: raise r4
// CHECK-NEXT: L6:
// CHECK-NEXT: addk.i r2, r2, 1
// CHECK-NEXT: L7:
// CHECK-NEXT: jt r0, L2
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @limited(%c: !bool, %limit: !i64) {
  mx.while carries () limit %limit : !i64 : () -> () {
    mx.yield %c : !bool
  } do {
    mx.yield
  }
  mx.return
}
