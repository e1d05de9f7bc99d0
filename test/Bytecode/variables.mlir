// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Cells are registers, module variables are globals.

!i64 = !mx.tensor<i64[] on host>
!t = !mx.tensor<f32[4]>

// CHECK: tensor "exp:f32"(tensor) -> tensor
// CHECK-NEXT: native mx.caught(i64)
// CHECK-NEXT: tensor "update(i)"(mut tensor, i64, f32)
// CHECK-NEXT: global app.count: i64
// CHECK-NEXT: global app.last: tensor

// CHECK-LABEL: func cells(tensor, i64) -> tuple {
// CHECK-NEXT: reg i64, tensor, i64, tuple
// CHECK-NEXT: native r2, mx.issued, []
// CHECK-NEXT: L1:
// CHECK-NEXT: copy r3, r0
// CHECK-NEXT: tensor r3, "exp:f32", [r3]
// CHECK-NEXT: move r0, r3
// CHECK-NEXT: mov r4, r1
// CHECK-NEXT: mul.i r4, r4, r4
// CHECK-NEXT: mov r1, r4
// CHECK-NEXT: L7:
// CHECK-NEXT: jmp L10
// CHECK-NEXT: L8:
// CHECK-NEXT: drop r3
// CHECK-NEXT: native _, mx.caught, [r2]
// CHECK-NEXT: L10:
// CHECK-NEXT: tuple r5, [r0, r1]
// CHECK-NEXT: ret r5
// CHECK-NEXT: try L1, L7, L8, _
// CHECK-NEXT: }
mx.func @cells(%x: !t, %n: !i64) -> (!t, !i64) {
  %c = mx.cell %x : (!t) -> !mx.cell<!t>
  %d = mx.cell %n : (!i64) -> !mx.cell<!i64>
  mx.try : () -> () {
    %v = mx.load %c : (!mx.cell<!t>) -> !t
    %w = mx.exp %v : (!t) -> !t
    mx.store %w to %c : !t, !mx.cell<!t>
    %k = mx.load %d : (!mx.cell<!i64>) -> !i64
    %m = mx.mul %k, %k : (!i64, !i64) -> !i64
    mx.store %m to %d : !i64, !mx.cell<!i64>
    mx.yield
  } catch {
  ^bb0(%e: !mx.error):
    mx.yield
  }
  %r = mx.load %c : (!mx.cell<!t>) -> !t
  %s = mx.load %d : (!mx.cell<!i64>) -> !i64
  mx.return %r, %s : !t, !i64
}

// CHECK-LABEL: func globals(tensor) -> i64 {
// CHECK-NEXT: reg i64, i64
// CHECK-NEXT: gget r1, app.count
// CHECK-NEXT: addk.i r2, r1, 1
// CHECK-NEXT: gset app.count, r2
// CHECK-NEXT: gset app.last, r0
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @globals(%x: !t) -> !i64 {
  %n = mx.global_load "app.count" : !i64
  %one = mx.constant 1 : i64 -> !i64
  %m = mx.add %n, %one : (!i64, !i64) -> !i64
  mx.global_store "app.count" = %m : !i64
  mx.global_store "app.last" = %x : !t
  mx.return %n : !i64
}

// A variable that is changed and stored again is changed in place; a failure puts it back.
// CHECK-LABEL: func change(tensor, i64) -> tensor {
// CHECK-NEXT: reg f32, tensor, error
// CHECK-NEXT: const r2, 7f
// CHECK-NEXT: tensor _, "update(i)", [mut r0, r1, r2]
// CHECK-NEXT: gtake r3, app.last
// CHECK-NEXT: L3:
// CHECK-NEXT: tensor _, "update(i)", [mut r3, r1, r2]
// CHECK-NEXT: L4:
// CHECK-NEXT: jmp L7
// CHECK-NEXT: L5:
// CHECK-NEXT: gset app.last, r3
// CHECK-NEXT: raise r4
// CHECK-NEXT: L7:
// CHECK-NEXT: gset app.last, r3
// CHECK-NEXT: drop r3
// CHECK-NEXT: ret r0
// CHECK-NEXT: try L3, L4, L5, r4
// CHECK-NEXT: }
mx.func @change(%x: !t, %i: !i64) -> !t {
  %v = mx.constant 7.0 : f32 -> !mx.tensor<f32[] on host>
  %c = mx.cell %x : (!t) -> !mx.cell<!t>
  %a = mx.load %c : (!mx.cell<!t>) -> !t
  %b = mx.update %a, %v ["i"] at (%i) : (!t, !mx.tensor<f32[] on host>, !i64) -> !t
  mx.store %b to %c : !t, !mx.cell<!t>
  %d = mx.global_load "app.last" : !t
  %e = mx.update %d, %v ["i"] at (%i) : (!t, !mx.tensor<f32[] on host>, !i64) -> !t
  mx.global_store "app.last" = %e : !t
  %r = mx.load %c : (!mx.cell<!t>) -> !t
  mx.return %r : !t
}
