// RUN: mxc-opt --mx-emit-bytecode=entry=main %s -o /dev/null | FileCheck %s
// Calls: sizes first, mut arguments in registers that hold the result afterwards.

!i64 = !mx.tensor<i64[] on host>
!t = !mx.tensor<f32[N]>
!f = !mx.aggregate<"Net" ["w"] (!mx.tensor<f32[N]>)>
!fn = !mx.fn<(!mx.tensor<i64[] on host>) -> !mx.tensor<i64[] on host>>

// CHECK: graph step(i64, mut struct, tensor) -> tensor
// CHECK-NEXT: graph twice(i64) -> i64
// CHECK-NEXT: native mx.sync()
// CHECK-NEXT: native mx.seconds(str) -> i64
// CHECK-NEXT: entry main

// CHECK-LABEL: func main() {
// CHECK-NEXT: retu
// CHECK-NEXT: }
mx.func @main() {
  mx.return
}

mx.graph @step(%net: !f {mx.mut}, %x: !t) -> (!f, !mx.tensor<f32[]>) attributes {sizes = ["N"]} {
  %l = mx.sum %x over [0] : !t -> !mx.tensor<f32[]>
  mx.return %net, %l : !f, !mx.tensor<f32[]>
}
mx.graph @twice(%x: !i64) -> !i64 {
  %y = mx.add %x, %x : (!i64, !i64) -> !i64
  mx.return %y : !i64
}

// CHECK-LABEL: func add(i64, i64) -> i64 {
// CHECK-NEXT: add.i r1, r0, r1
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @add(%x: !i64, %y: !i64) -> !i64 {
  %r = mx.add %x, %y : (!i64, !i64) -> !i64
  mx.return %r : !i64
}

// The new value is computed where the caller expects it.
// CHECK-LABEL: func bump(mut i64, i64) -> i64 {
// CHECK-NEXT: mul.i r0, r0, r1
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @bump(%x: !i64 {mx.mut}, %y: !i64) -> (!i64, !i64) {
  %r = mx.mul %x, %y : (!i64, !i64) -> !i64
  mx.return %r, %y : !i64, !i64
}

// It gives back what its parameter held before.
// CHECK-LABEL: func exchange(i64, mut tensor, tensor) -> tensor {
// CHECK-NEXT: reg tensor
// CHECK-NEXT: move r3, r1
// CHECK-NEXT: move r1, r2
// CHECK-NEXT: ret r3
// CHECK-NEXT: }
mx.func @exchange(%x: !t {mx.mut}, %y: !t) -> (!t, !t) attributes {sizes = ["N"]} {
  mx.return %y, %x : !t, !t
}

// CHECK-LABEL: func several(i64) -> tuple {
// CHECK-NEXT: reg str, tuple
// CHECK-NEXT: const r1, "several"
// CHECK-NEXT: tuple r2, [r0, r1]
// CHECK-NEXT: ret r2
// CHECK-NEXT: }
mx.func @several(%x: !i64) -> (!i64, !mx.str) {
  %s = mx.text "several" : !mx.str
  mx.return %x, %s : !i64, !mx.str
}

// A value that is used again is copied for the call, the last time it is handed over.
// CHECK-LABEL: func train(i64, struct, tensor) -> struct {
// CHECK-NEXT: reg struct, tensor
// CHECK-NEXT: copy r3, r1
// CHECK-NEXT: graph r4, step, [r0, mut r3, r2]
// CHECK-NEXT: drop r3
// CHECK-NEXT: graph _, step, [r0, mut r1, r2]
// CHECK-NEXT: drop r2
// CHECK-NEXT: print [r4]
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @train(%net: !f, %x: !t) -> !f attributes {sizes = ["N"]} {
  %a, %la = mx.call @step(%net, %x) sizes [#mx.size<N>] : (!f, !t) -> (!f, !mx.tensor<f32[]>)
  %b, %lb = mx.call @step(%net, %x) sizes [#mx.size<N>] : (!f, !t) -> (!f, !mx.tensor<f32[]>)
  mx.print %la : !mx.tensor<f32[]>
  mx.return %b : !f
}

// CHECK-LABEL: func callers(i64, tensor) -> i64 {
// CHECK-NEXT: reg i64, tuple, str, i64, tensor
// CHECK-NEXT: mov r2, r0
// CHECK-NEXT: call r0, bump, [mut r2, r0]
// CHECK-NEXT: call r3, several, [r2]
// CHECK-NEXT: take r2, r3, 0
// CHECK-NEXT: take r4, r3, 1
// CHECK-NEXT: drop r3
// CHECK-NEXT: print [r4]
// CHECK-NEXT: drop r4
// CHECK-NEXT: int r5, 12
// CHECK-NEXT: copy r6, r1
// CHECK-NEXT: call r1, exchange, [r5, mut r6, r1]
// CHECK-NEXT: print [r6, r1]
// CHECK-NEXT: drop r1
// CHECK-NEXT: drop r6
// CHECK-NEXT: call r2, add, [r0, r2]
// CHECK-NEXT: ret r2
// CHECK-NEXT: }
mx.func @callers(%x: !i64, %t: !mx.tensor<f32[12]>) -> !i64 {
  %a, %b = mx.call @bump(%x, %x) : (!i64, !i64) -> (!i64, !i64)
  %c, %s = mx.call @several(%a) : (!i64) -> (!i64, !mx.str)
  mx.print %s : !mx.str
  %n, %o = mx.call @exchange(%t, %t) sizes [#mx.size<12>] : (!mx.tensor<f32[12]>, !mx.tensor<f32[12]>) -> (!mx.tensor<f32[12]>, !mx.tensor<f32[12]>)
  mx.print %n, %o : !mx.tensor<f32[12]>, !mx.tensor<f32[12]>
  %d = mx.call @add(%b, %c) : (!i64, !i64) -> !i64
  mx.return %d : !i64
}

// Functions as values; a graph gets a function that calls it.
// CHECK-LABEL: func values(i64) -> i64 {
// CHECK-NEXT: reg fn
// CHECK-NEXT: closure r1, add, [r0]
// CHECK-NEXT: callv r0, r1, [r0]
// CHECK-NEXT: drop r1
// CHECK-NEXT: closure r1, twice, []
// CHECK-NEXT: callv r0, r1, [r0]
// CHECK-NEXT: ret r0
// CHECK-NEXT: }
mx.func @values(%x: !i64) -> !i64 {
  %f = mx.closure @add(%x) : (!i64) -> !fn
  %y = mx.call_value %f(%x) : (!fn, !i64) -> !i64
  %g = mx.closure @twice() : () -> !fn
  %z = mx.call_value %g(%y) : (!fn, !i64) -> !i64
  mx.return %z : !i64
}

// CHECK-LABEL: func natives(str) -> i64 {
// CHECK-NEXT: reg i64
// CHECK-NEXT: native _, mx.sync, []
// CHECK-NEXT: native r1, mx.seconds, [r0]
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @natives(%s: !mx.str) -> !i64 {
  mx.native "mx.sync"() : () -> ()
  %r = mx.native "mx.seconds"(%s) : (!mx.str) -> !i64
  mx.return %r : !i64
}
