// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Raising, catching, asserting.

!i64 = !mx.tensor<i64[] on host>
!bool = !mx.tensor<bool[] on host>
!t = !mx.tensor<f32[4]>

// CHECK: tensor "exp:f32"(tensor) -> tensor
// CHECK-NEXT: tensor "add:f32"(tensor, tensor) -> tensor

// CHECK-LABEL: func asserts(bool, tensor, str) {
// CHECK-NEXT: reg str, error
// CHECK-NEXT: jt r0, L4
// CHECK-NEXT: const r3, "assertion failed: x > 0"
// CHECK-NEXT: error r4, r3, R0302
// CHECK-NEXT: raise r4
// CHECK-NEXT: L4:
// CHECK-NEXT: read r0, r1
// CHECK-NEXT: jt r0, L8
// CHECK-NEXT: error r4, r2, R0302
// CHECK-NEXT: raise r4
// CHECK-NEXT: L8:
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @asserts(%c: !bool, %d: !mx.tensor<bool[]>, %m: !mx.str) {
  mx.assert %c "x > 0" : !bool
  mx.assert %d, %m : !mx.str "y > 0" : !mx.tensor<bool[]>
  mx.return
}

// CHECK-LABEL: func raises(str) {
// CHECK-NEXT: reg error
// CHECK-NEXT: error r1, r0, R0303
// CHECK-NEXT: drop r0
// CHECK-NEXT: raise r1
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @raises(%m: !mx.str) {
  %e = mx.make_error %m : (!mx.str) -> !mx.error
  mx.raise %e : !mx.error
  mx.return
}

// The handler drops what the body may have left behind, and x, which only the body needs.
// CHECK-LABEL: func catches(tensor, tensor) -> i64 {
// CHECK-NEXT: reg i64, i64, i64, error, str, str
// CHECK-NEXT: int r2, 0
// CHECK-NEXT: native r4, mx.issued, []
// CHECK-NEXT: L2:
// CHECK-NEXT: tensor r0, "exp:f32", [r0]
// CHECK-NEXT: tensor r0, "add:f32", [r0, r1]
// CHECK-NEXT: print [r0]
// CHECK-NEXT: drop r0
// CHECK-NEXT: mov r3, r2
// CHECK-NEXT: L7:
// CHECK-NEXT: drop r1
// CHECK-NEXT: jmp L20
// CHECK-NEXT: L9:
// CHECK-NEXT: drop r0
// CHECK-NEXT: native _, mx.caught, [r4]
// CHECK-NEXT: err.location r6, r5
// CHECK-NEXT: err.code r7, r5
// CHECK-NEXT: drop r5
// CHECK-NEXT: print [r6, r7, r1]
// CHECK-NEXT: drop r1
// CHECK-NEXT: drop r6
// CHECK-NEXT: drop r7
// CHECK-NEXT: int r4, 1
// CHECK-NEXT: mov r3, r4
// CHECK-NEXT: L20:
// CHECK-NEXT: ret r3
// CHECK-NEXT: try L2, L7, L9, r5
// CHECK-NEXT: }
mx.func @catches(%x: !t, %y: !t) -> !i64 {
  %zero = mx.constant 0 : i64 -> !i64
  %r = mx.try : () -> !i64 {
    %a = mx.exp %x : (!t) -> !t
    %b = mx.add %a, %y : (!t, !t) -> !t
    mx.print %b : !t
    mx.yield %zero : !i64
  } catch {
  ^bb0(%e: !mx.error):
    %p = mx.error_part "location" %e : (!mx.error) -> !mx.str
    %c = mx.error_part "code" %e : (!mx.error) -> !mx.str
    mx.print %p, %c, %y : !mx.str, !mx.str, !t
    %one = mx.constant 1 : i64 -> !i64
    mx.yield %one : !i64
  }
  mx.return %r : !i64
}

// Inner tries come first; an error nobody looks at has no register.
// CHECK-LABEL: func nested() {
// CHECK-NEXT: reg i64, i64, error
// CHECK-NEXT: native r0, mx.issued, []
// CHECK-NEXT: L1:
// CHECK-NEXT: native r1, mx.issued, []
// CHECK-NEXT: L2:
// CHECK-NEXT: call _, catch_nothing, []
// CHECK-NEXT: L3:
// CHECK-NEXT: jmp L7
// CHECK-NEXT: L4:
// CHECK-NEXT: native _, mx.caught, [r1]
// CHECK-NEXT: raise r2
// CHECK-NEXT: drop r2
// CHECK-NEXT: L7:
// CHECK-NEXT: jmp L10
// CHECK-NEXT: L8:
// CHECK-NEXT: drop r2
// CHECK-NEXT: native _, mx.caught, [r0]
// CHECK-NEXT: L10:
// CHECK-NEXT: retu
// CHECK-NEXT: try L2, L3, L4, r2
// CHECK-NEXT: try L1, L7, L8, _
// CHECK-NEXT: }
mx.func @nested() {
  mx.try : () -> () {
    mx.try : () -> () {
      mx.call @catch_nothing() : () -> ()
      mx.yield
    } catch {
    ^bb0(%e: !mx.error):
      mx.raise %e : !mx.error
      mx.yield
    }
    mx.yield
  } catch {
  ^bb0(%e: !mx.error):
    mx.yield
  }
  mx.return
}
// CHECK-LABEL: func catch_nothing() {
// CHECK-NEXT: reg i64
// CHECK-NEXT: native r0, mx.issued, []
// CHECK-NEXT: L1:
// CHECK-NEXT: nop
// CHECK-NEXT: L2:
// CHECK-NEXT: jmp L4
// CHECK-NEXT: L3:
// CHECK-NEXT: native _, mx.caught, [r0]
// CHECK-NEXT: L4:
// CHECK-NEXT: retu
// CHECK-NEXT: try L1, L2, L3, _
// CHECK-NEXT: }
mx.func @catch_nothing() {
  mx.try : () -> () {
    mx.yield
  } catch {
  ^bb0(%e: !mx.error):
    mx.yield
  }
  mx.return
}
