// RUN: mxc-opt %s --announce-outputs | FileCheck %s
// RUN: mxc-opt %s --announce-outputs --mxrt-to-llvm | FileCheck %s --check-prefix=CODE
// An output is reported behind the last op that touches it; not in a program that nobody asked, and
// not where the program ends anyway.

mxrt.kernel @add(%x: !mx.tensor<f32[16]>, %y: !mx.tensor<f32[16]>) {
  %r = mx.kernel(%x, %y) : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]> {
  ^bb0(%a: !mx.tensor<f32[16]>, %b: !mx.tensor<f32[16]>):
    %s = mx.add %a, %b : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]>
    mx.yield %s : !mx.tensor<f32[16]>
  }
}

// The second output reads the first one, which is complete after that. Both outputs of the copy are
// reported in their order.
// CHECK-LABEL: mxrt.program @step
// CHECK:      mxrt.call @add reads(%arg0, %arg0
// CHECK-NEXT: mxrt.call @add reads(%arg0, %arg1
// CHECK-NEXT: mxrt.ready %arg1 : <f32[16]>
// CHECK-NEXT: mxrt.copy %arg2 to %arg3
// CHECK-NEXT: mxrt.ready %arg2 : <f32[16]>
// CHECK-NEXT: mxrt.ready %arg3 : <f32[16]>
// CHECK-NEXT: mxrt.call @add reads(%arg0, %arg0
// CHECK-NEXT: mxrt.return
// CODE-LABEL: llvm.func @step(%arg0
// CODE:       llvm.call @add
// CODE:       llvm.call @add
// CODE:       %[[FIRST:.*]] = llvm.mlir.constant(0 : i64)
// CODE:       llvm.call @mxrt_ready(%arg0, %[[FIRST]])
// CODE:       llvm.intr.memcpy
// CODE:       llvm.mlir.constant(1 : i64)
// CODE:       llvm.call @mxrt_ready(%arg0
// CODE:       llvm.mlir.constant(2 : i64)
// CODE:       llvm.call @mxrt_ready(%arg0
// CODE-NOT:   llvm.call @mxrt_ready
// CODE-LABEL: llvm.func @over(
// CODE:       llvm.call @mxrt_ready(%arg0
// CODE-NOT:   llvm.call @mxrt_ready
mxrt.program @step(%x: !mxrt.buffer<f32[16]>) writes (%g: !mxrt.buffer<f32[16]>, %h: !mxrt.buffer<f32[16]>, %k: !mxrt.buffer<f32[16]>, %l: !mxrt.buffer<f32[16]>) attributes {mxrt.announces} {
  mxrt.call @add reads(%x, %x : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%g : !mxrt.buffer<f32[16]>)
  mxrt.call @add reads(%x, %g : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%h : !mxrt.buffer<f32[16]>)
  mxrt.copy %h to %k : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>
  mxrt.call @add reads(%x, %x : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%l : !mxrt.buffer<f32[16]>)
}

// The first output has the memory of the input, which is read later. A loop is one op.
// CHECK-LABEL: mxrt.program @over
// CHECK:      mxrt.call @add
// CHECK-NOT:  mxrt.ready
// CHECK:      scf.for
// CHECK:      {{^ *}$}}
// CHECK-NEXT: mxrt.ready %arg1 : <f32[16]>
// CHECK-NEXT: mxrt.call
// CHECK-NOT:  mxrt.ready
mxrt.program @over(%x: !mxrt.buffer<f32[16]>) writes (%y: !mxrt.buffer<f32[16]>, %z: !mxrt.buffer<f32[16]>) arenas [#mxrt.arena<"" 128>] attributes {mxrt.announces, mxrt.over = array<i64: 0, -1>} {
  %from = arith.constant 0 : i64
  %to = arith.constant 4 : i64
  %one = arith.constant 1 : i64
  %s = mxrt.slice 0 bytes 64 : <f32[16]>
  %t = mxrt.slice 64 bytes 64 : <f32[16]>
  mxrt.call @add reads(%x, %x : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%s : !mxrt.buffer<f32[16]>)
  mxrt.copy %s to %y : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>
  scf.for %i = %from to %to step %one : i64 {
    mxrt.call @add reads(%x, %s : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%t : !mxrt.buffer<f32[16]>)
  }
  mxrt.call @add reads(%s, %s : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%z : !mxrt.buffer<f32[16]>)
}

// CODE-LABEL: llvm.func @silent
// CODE-NOT:   mxrt_ready
// CHECK-LABEL: mxrt.program @silent
// CHECK-NOT: mxrt.ready
mxrt.program @silent(%x: !mxrt.buffer<f32[16]>) writes (%g: !mxrt.buffer<f32[16]>, %h: !mxrt.buffer<f32[16]>) {
  mxrt.call @add reads(%x, %x : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%g : !mxrt.buffer<f32[16]>)
  mxrt.call @add reads(%x, %x : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%h : !mxrt.buffer<f32[16]>)
}
