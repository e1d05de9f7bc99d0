// RUN: mxc-opt --mx-emit-bytecode=locations=true %s -o /dev/null | FileCheck %s
// Instructions have a location; ops with mx.statement begin a statement.

!i64 = !mx.tensor<i64[] on host>

// CHECK-LABEL: func locations(i64) -> i64 in "a.mx" {
// CHECK-NEXT: reg i64, i64
// CHECK-NEXT: line 2:3 stmt
// CHECK-NEXT: int r1, 5
// CHECK-NEXT: mul.i r2, r0, r1
// CHECK-NEXT: line 3:3 stmt
// CHECK-NEXT: mul.i r0, r2, r0
// CHECK-NEXT: line 4:9
// CHECK-NEXT: neg.i r0, r0
// The function's own file counts, also of what was inlined into it.
// CHECK-NEXT: line 5:1
// CHECK-NEXT: neg.i r0, r0
// CHECK-NEXT: line 6:1 stmt
// CHECK-NEXT: ret r0
mx.func @locations(%x: !i64) -> !i64 {
  %c = mx.constant 5 : i64 {mx.statement} -> !i64 loc("a.mx":2:3)
  %a = mx.mul %x, %c : (!i64, !i64) -> !i64 loc("a.mx":2:3)
  %b = mx.mul %a, %x {mx.statement} : (!i64, !i64) -> !i64 loc(fused[unknown, "a.mx":3:3])
  %d = mx.neg %b : (!i64) -> !i64 loc("name"("a.mx":4:9))
  %e = mx.neg %d : (!i64) -> !i64 loc(callsite("b.mx":1:1 at "a.mx":5:1))
  mx.return %e : !i64 {mx.statement} loc("a.mx":6:1)
} loc("a.mx":1:1)
