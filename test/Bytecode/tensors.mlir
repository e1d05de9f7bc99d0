// RUN: mxc-opt --mx-emit-bytecode %s -o /dev/null | FileCheck %s
// Tensor ops by name; CHECK-DAG lines are the imports.

!f = !mx.tensor<f32[4, 3]>
!h = !mx.tensor<f16[4, 3]>
!i64 = !mx.tensor<i64[] on host>
!f32 = !mx.tensor<f32[] on host>

// CHECK: tensor "add:f32"(tensor, f32) -> tensor
// CHECK-NEXT: tensor "lt:f32"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor "and:bool"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor "select:f32"(tensor, tensor, f32) -> tensor
// CHECK-NEXT: tensor "cast:f32:f16"(tensor) -> tensor
// CHECK-NEXT: tensor "sum:f32(axes=1,keep=0)"(tensor) -> tensor
// CHECK-NEXT: tensor "argmax:f32(axes=0,keep=1)"(tensor) -> tensor
// CHECK-NEXT: tensor "max:f32(axes=0/1,keep=0)"(tensor) -> tensor
// CHECK-NEXT: tensor "transpose(order=1/0)"(tensor) -> tensor
// CHECK-NEXT: tensor "matmul:f32"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor "concat(axis=1)"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor reshape(tensor, i64) -> tensor
// CHECK-NEXT: tensor broadcast(tensor, i64, i64) -> tensor
// CHECK-NEXT: tensor "full:f32"(f32, i64, i64) -> tensor
// CHECK-NEXT: tensor "index(i/n/:)"(tensor, i64) -> tensor
// CHECK-NEXT: tensor "index(rft/rs)"(tensor, i64, i64, i64) -> tensor
// CHECK-NEXT: tensor "index(t/i)"(tensor, tensor, i64) -> tensor
// CHECK-NEXT: tensor "index(:/t)"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor "update(i/:)"(mut tensor, i64, f32)
// CHECK-NEXT: tensor "update(i/i)"(mut tensor, i64, i64, f32)
// CHECK-NEXT: tensor "to(device=cpu:1)"(tensor) -> tensor
// CHECK-NEXT: tensor "add:f32@cpu:1"(tensor, tensor) -> tensor
// CHECK-NEXT: tensor "sum:f32(axes=0/1,keep=0)@cpu:1"(tensor) -> tensor
// CHECK-NEXT: tensor "full:f32@cpu:1"(f32) -> tensor
// CHECK-NEXT: tensor "to(device=cpu:0)"(tensor) -> tensor

// CHECK-LABEL: func elementwise(tensor, tensor, f32) -> tensor {
// CHECK-NEXT: reg tensor
// CHECK-NEXT: tensor r3, "add:f32", [r0, r2]
// CHECK-NEXT: tensor r0, "lt:f32", [r3, r0]
// CHECK-NEXT: tensor r1, "and:bool", [r0, r1]
// CHECK-NEXT: drop r0
// CHECK-NEXT: tensor r3, "select:f32", [r1, r3, r2]
// CHECK-NEXT: drop r1
// CHECK-NEXT: tensor r3, "cast:f32:f16", [r3]
// CHECK-NEXT: ret r3
// CHECK-NEXT: }
mx.func @elementwise(%x: !f, %c: !mx.tensor<bool[4, 3]>, %s: !f32) -> !h {
  %a = mx.add %x, %s : (!f, !f32) -> !f
  %b = mx.lt %a, %x : (!f, !f) -> !mx.tensor<bool[4, 3]>
  %d = mx.and %b, %c : (!mx.tensor<bool[4, 3]>, !mx.tensor<bool[4, 3]>) -> !mx.tensor<bool[4, 3]>
  %e = mx.select %d, %a, %s : (!mx.tensor<bool[4, 3]>, !f, !f32) -> !f
  %r = mx.cast %e : (!f) -> !h
  mx.return %r : !h
}

// CHECK-LABEL: func reductions(tensor) -> tuple {
// CHECK-NEXT: reg tensor, tensor, tuple
// CHECK-NEXT: tensor r1, "sum:f32(axes=1,keep=0)", [r0]
// CHECK-NEXT: tensor r2, "argmax:f32(axes=0,keep=1)", [r0]
// CHECK-NEXT: tensor r0, "max:f32(axes=0/1,keep=0)", [r0]
// CHECK-NEXT: tuple r3, [r1, r2, r0]
// CHECK-NEXT: ret r3
// CHECK-NEXT: }
mx.func @reductions(%x: !f) -> (!mx.tensor<f32[4]>, !mx.tensor<i32[1, 3]>, !mx.tensor<f32[]>) {
  %a = mx.sum %x over [1] : !f -> !mx.tensor<f32[4]>
  %b = mx.argmax %x over [0] keep : !f -> !mx.tensor<i32[1, 3]>
  %c = mx.max %x over [0, 1] : !f -> !mx.tensor<f32[]>
  mx.return %a, %b, %c : !mx.tensor<f32[4]>, !mx.tensor<i32[1, 3]>, !mx.tensor<f32[]>
}

// CHECK-LABEL: func shapes(tensor, f32) -> tensor {
// CHECK-NEXT: reg tensor, i64, i64, i64, i64
// CHECK-NEXT: tensor r2, "transpose(order=1/0)", [r0]
// CHECK-NEXT: tensor r0, "matmul:f32", [r0, r2]
// CHECK-NEXT: print [r0]
// CHECK-NEXT: drop r0
// CHECK-NEXT: tensor r2, "concat(axis=1)", [r2, r2]
// CHECK-NEXT: int r3, 24
// CHECK-NEXT: tensor r2, reshape, [r2, r3]
// CHECK-NEXT: int r4, 2
// CHECK-NEXT: tensor r2, broadcast, [r2, r4, r3]
// CHECK-NEXT: print [r2]
// CHECK-NEXT: drop r2
// CHECK-NEXT: int r5, 3
// CHECK-NEXT: int r6, 8
// CHECK-NEXT: tensor r2, "full:f32", [r1, r5, r6]
// CHECK-NEXT: ret r2
// CHECK-NEXT: }
mx.func @shapes(%x: !f, %s: !f32) -> !mx.tensor<f32[3, 8]> {
  %m = mx.transpose %x by [1, 0] : !f -> !mx.tensor<f32[3, 4]>
  %p = mx.matmul %x, %m : (!f, !mx.tensor<f32[3, 4]>) -> !mx.tensor<f32[4, 4]>
  mx.print %p : !mx.tensor<f32[4, 4]>
  %c = mx.concat %m, %m along 1 : (!mx.tensor<f32[3, 4]>, !mx.tensor<f32[3, 4]>) -> !mx.tensor<f32[3, 8]>
  %r = mx.reshape %c : !mx.tensor<f32[3, 8]> -> !mx.tensor<f32[24]>
  %b = mx.broadcast %r : !mx.tensor<f32[24]> -> !mx.tensor<f32[2, 24]>
  mx.print %b : !mx.tensor<f32[2, 24]>
  // A number of the host is broadcast by making it.
  %q = mx.broadcast %s : !f32 -> !mx.tensor<f32[3, 8]>
  mx.return %q : !mx.tensor<f32[3, 8]>
}

// CHECK-LABEL: func indexing(tensor, i64, tensor, tensor) -> tensor {
// CHECK-NEXT: reg tensor, tensor
// CHECK-NEXT: tensor r4, "index(i/n/:)", [r0, r1]
// CHECK-NEXT: tensor r5, "index(rft/rs)", [r0, r1, r1, r1]
// CHECK-NEXT: read r1, r2
// CHECK-NEXT: tensor r2, "index(t/i)", [r0, r2, r1]
// CHECK-NEXT: print [r4, r5, r2]
// CHECK-NEXT: drop r2
// CHECK-NEXT: drop r4
// CHECK-NEXT: drop r5
// CHECK-NEXT: tensor r3, "index(:/t)", [r0, r3]
// CHECK-NEXT: ret r3
// CHECK-NEXT: }
mx.func @indexing(%x: !f, %i: !i64, %d: !mx.tensor<i32[]>, %t: !mx.tensor<i64[5]>) -> !mx.tensor<f32[4, 5]> {
  %a = mx.slice %x ["i", "n", ":"] at (%i) : (!f, !i64) -> !mx.tensor<f32[1, 3]>
  %b = mx.slice %x ["rft", "rs"] at (%i, %i, %i) : (!f, !i64, !i64, !i64) -> !mx.tensor<f32[2, 2]>
  // One index may be a tensor; a second one is read.
  %c = mx.slice %x ["i", "i"] at (%d, %d) : (!f, !mx.tensor<i32[]>, !mx.tensor<i32[]>) -> !mx.tensor<f32[]>
  mx.print %a, %b, %c : !mx.tensor<f32[1, 3]>, !mx.tensor<f32[2, 2]>, !mx.tensor<f32[]>
  %r = mx.take %x, %t along 1 : (!f, !mx.tensor<i64[5]>) -> !mx.tensor<f32[4, 5]>
  mx.return %r : !mx.tensor<f32[4, 5]>
}

// In place where x ends, else in a copy.
// CHECK-LABEL: func updates(tensor, i64, tensor, f32) -> tuple {
// CHECK-NEXT: reg tensor, i64, tuple
// CHECK-NEXT: copy r4, r0
// CHECK-NEXT: tensor _, "update(i/:)", [mut r4, r1, r3]
// CHECK-NEXT: read r5, r2
// CHECK-NEXT: tensor _, "update(i/i)", [mut r0, r1, r5, r3]
// CHECK-NEXT: tuple r6, [r4, r0]
// CHECK-NEXT: ret r6
// CHECK-NEXT: }
mx.func @updates(%x: !f, %i: !i64, %d: !mx.tensor<i32[]>, %s: !f32) -> (!f, !f) {
  %a = mx.update %x, %s ["i", ":"] at (%i) : (!f, !f32, !i64) -> !f
  %b = mx.update %x, %s ["i", "i"] at (%i, %d) : (!f, !f32, !i64, !mx.tensor<i32[]>) -> !f
  mx.return %a, %b : !f, !f
}

// CHECK-LABEL: func devices(tensor, f32) -> f32 {
// CHECK-NEXT: reg tensor
// CHECK-NEXT: tensor r0, "to(device=cpu:1)", [r0]
// CHECK-NEXT: tensor r0, "add:f32@cpu:1", [r0, r0]
// CHECK-NEXT: tensor r0, "sum:f32(axes=0/1,keep=0)@cpu:1", [r0]
// CHECK-NEXT: tensor r2, "full:f32@cpu:1", [r1]
// CHECK-NEXT: tensor r2, "add:f32@cpu:1", [r0, r2]
// CHECK-NEXT: drop r0
// CHECK-NEXT: tensor r2, "to(device=cpu:0)", [r2]
// CHECK-NEXT: read r1, r2
// CHECK-NEXT: ret r1
// CHECK-NEXT: }
mx.func @devices(%x: !f, %s: !f32) -> !mx.tensor<f32[] on host> {
  %a = mx.to %x : !f -> !mx.tensor<f32[4, 3] on "cpu:1">
  %b = mx.add %a, %a : (!mx.tensor<f32[4, 3] on "cpu:1">, !mx.tensor<f32[4, 3] on "cpu:1">) -> !mx.tensor<f32[4, 3] on "cpu:1">
  %c = mx.sum %b over [0, 1] : !mx.tensor<f32[4, 3] on "cpu:1"> -> !mx.tensor<f32[] on "cpu:1">
  %d = mx.to %s : !f32 -> !mx.tensor<f32[] on "cpu:1">
  %e = mx.add %c, %d : (!mx.tensor<f32[] on "cpu:1">, !mx.tensor<f32[] on "cpu:1">) -> !mx.tensor<f32[] on "cpu:1">
  %g = mx.to %e : !mx.tensor<f32[] on "cpu:1"> -> !mx.tensor<f32[]>
  %r = mx.read %g : !mx.tensor<f32[]> -> !f32
  mx.return %r : !f32
}
