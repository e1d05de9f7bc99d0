// RUN: mxc-opt %s --reuse-in-place --pack-arena --verify-plan --split-input-file | FileCheck %s
// RUN: mxc-opt %s --pack-arena --verify-plan --split-input-file | FileCheck %s --check-prefix=OFF
// Who may write over what it reads, and, beside each, a twin that must not.

// One buffer is enough for a chain of elementwise kernels; without the pass it is two.
// CHECK: mxrt.kernel @neg_over_0(
// CHECK-NEXT: mx.kernel(%arg0) elementwise [32] overwrites {{\[\[}}0]] attributes {mx.over = array<i64: 0>}
// CHECK-LABEL: mxrt.program @chain
// CHECK-SAME: arenas [#mxrt.arena<"" 128>]
// CHECK-COUNT-3: mxrt.slice 0 bytes 128
// CHECK: mxrt.call @neg reads(%arg0
// CHECK: mxrt.call @neg_over_0
// CHECK: mxrt.call @neg_over_0
// CHECK: mxrt.call @neg reads({{.*}} writes(%arg1
// OFF-LABEL: mxrt.program @chain
// OFF-SAME: arenas [#mxrt.arena<"" 256>]
mxrt.kernel @neg(%x: !mx.tensor<f32[32]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[32]>) -> !mx.tensor<f32[32]> {
  ^bb0(%v: !mx.tensor<f32[32]>):
    %s = mx.neg %v : (!mx.tensor<f32[32]>) -> !mx.tensor<f32[32]>
    mx.yield %s : !mx.tensor<f32[32]>
  }
}
mxrt.program @chain(%x: !mxrt.buffer<f32[32]>) writes (%y: !mxrt.buffer<f32[32]>) arenas [#mxrt.arena<"" 384>] {
  %a = mxrt.slice 0 bytes 128 : <f32[32]>
  %b = mxrt.slice 128 bytes 128 : <f32[32]>
  %c = mxrt.slice 256 bytes 128 : <f32[32]>
  mxrt.call @neg reads(%x : !mxrt.buffer<f32[32]>) writes(%a : !mxrt.buffer<f32[32]>)
  mxrt.call @neg reads(%a : !mxrt.buffer<f32[32]>) writes(%b : !mxrt.buffer<f32[32]>)
  mxrt.call @neg reads(%b : !mxrt.buffer<f32[32]>) writes(%c : !mxrt.buffer<f32[32]>)
  mxrt.call @neg reads(%c : !mxrt.buffer<f32[32]>) writes(%y : !mxrt.buffer<f32[32]>)
}
// Its twin: the first buffer is read again later.
// CHECK-LABEL: mxrt.program @read_later
// CHECK-SAME: arenas [#mxrt.arena<"" 256>]
// CHECK-NOT: @neg_over
// CHECK: mxrt.return
mxrt.program @read_later(%x: !mxrt.buffer<f32[32]>)
    writes (%y: !mxrt.buffer<f32[32]>, %z: !mxrt.buffer<f32[32]>) arenas [#mxrt.arena<"" 256>] {
  %a = mxrt.slice 0 bytes 128 : <f32[32]>
  %b = mxrt.slice 128 bytes 128 : <f32[32]>
  mxrt.call @neg reads(%x : !mxrt.buffer<f32[32]>) writes(%a : !mxrt.buffer<f32[32]>)
  mxrt.call @neg reads(%a : !mxrt.buffer<f32[32]>) writes(%b : !mxrt.buffer<f32[32]>)
  mxrt.call @neg reads(%b : !mxrt.buffer<f32[32]>) writes(%y : !mxrt.buffer<f32[32]>)
  mxrt.call @neg reads(%a : !mxrt.buffer<f32[32]>) writes(%z : !mxrt.buffer<f32[32]>)
}

// -----

// A kernel that reads elements at other indices keeps its memory apart.
// CHECK-LABEL: mxrt.program @transposed
// CHECK-SAME: arenas [#mxrt.arena<"" 128>]
// CHECK: mxrt.call @flip reads
mxrt.kernel @flip(%x: !mx.tensor<f32[4, 4]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%v: !mx.tensor<f32[4, 4]>):
    %s = mx.transpose %v by [1, 0] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4, 4]>
    %t = mx.add %v, %s : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %t : !mx.tensor<f32[4, 4]>
  }
}
mxrt.program @transposed(%x: !mxrt.buffer<f32[4, 4]>) writes (%y: !mxrt.buffer<f32[4, 4]>) arenas [#mxrt.arena<"" 128>] {
  %a = mxrt.slice 0 bytes 64 : <f32[4, 4]>
  %b = mxrt.slice 64 bytes 64 : <f32[4, 4]>
  mxrt.copy %x to %a : <f32[4, 4]>, <f32[4, 4]>
  mxrt.call @flip reads(%a : !mxrt.buffer<f32[4, 4]>) writes(%b : !mxrt.buffer<f32[4, 4]>)
  mxrt.copy %b to %y : <f32[4, 4]>, <f32[4, 4]>
}

// -----

// Of two operands that die the first that fits is taken; a broadcast one does not fit.
// CHECK-LABEL: mxrt.program @broadcast
// CHECK: mxrt.call @add_over_1
mxrt.kernel @add(%x: !mx.tensor<f32[4]>, %y: !mx.tensor<f32[4, 4]>) {
  %r = mx.kernel(%x, %y) : (!mx.tensor<f32[4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%v: !mx.tensor<f32[4]>, %w: !mx.tensor<f32[4, 4]>):
    %s = mx.add %v, %w : (!mx.tensor<f32[4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %s : !mx.tensor<f32[4, 4]>
  }
}
mxrt.program @broadcast(%x: !mxrt.buffer<f32[4]>, %z: !mxrt.buffer<f32[4, 4]>) writes (%y: !mxrt.buffer<f32[4, 4]>) arenas [#mxrt.arena<"" 192>] {
  %a = mxrt.slice 0 bytes 16 : <f32[4]>
  %b = mxrt.slice 64 bytes 64 : <f32[4, 4]>
  %c = mxrt.slice 128 bytes 64 : <f32[4, 4]>
  mxrt.copy %x to %a : <f32[4]>, <f32[4]>
  mxrt.copy %z to %b : <f32[4, 4]>, <f32[4, 4]>
  mxrt.call @add reads(%a, %b : !mxrt.buffer<f32[4]>, !mxrt.buffer<f32[4, 4]>) writes(%c : !mxrt.buffer<f32[4, 4]>)
  mxrt.copy %c to %y : <f32[4, 4]>, <f32[4, 4]>
}

// -----

// A row is written after all sweeps over it: the input is overwritten.
// CHECK: mxrt.kernel @soft_over_0(
// CHECK-LABEL: mxrt.program @rows
// CHECK-SAME: arenas [#mxrt.arena<"" 128>]
mxrt.kernel @soft(%x: !mx.tensor<f32[4, 8]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[4, 8]>) -> !mx.tensor<f32[4, 8]> {
  ^bb0(%v: !mx.tensor<f32[4, 8]>):
    %t = mx.sum %v over [1] keep : !mx.tensor<f32[4, 8]> -> !mx.tensor<f32[4, 1]>
    %s = mx.div %v, %t : (!mx.tensor<f32[4, 8]>, !mx.tensor<f32[4, 1]>) -> !mx.tensor<f32[4, 8]>
    mx.yield %s : !mx.tensor<f32[4, 8]>
  }
}
mxrt.program @rows(%x: !mxrt.buffer<f32[4, 8]>) writes (%y: !mxrt.buffer<f32[4, 8]>) arenas [#mxrt.arena<"" 256>] {
  %a = mxrt.slice 0 bytes 128 : <f32[4, 8]>
  %b = mxrt.slice 128 bytes 128 : <f32[4, 8]>
  mxrt.call @soft reads(%x : !mxrt.buffer<f32[4, 8]>) writes(%a : !mxrt.buffer<f32[4, 8]>)
  mxrt.call @soft reads(%a : !mxrt.buffer<f32[4, 8]>) writes(%b : !mxrt.buffer<f32[4, 8]>)
  mxrt.call @soft reads(%b : !mxrt.buffer<f32[4, 8]>) writes(%y : !mxrt.buffer<f32[4, 8]>)
}

// -----

// Its twin: the sum of rows of one element has the sizes of its input, but it is stored before the other sweep.
// CHECK-LABEL: mxrt.program @short_rows
// CHECK-NOT: _over
mxrt.kernel @short(%x: !mx.tensor<f32[1]>) {
  %r:2 = mx.kernel(%x) : (!mx.tensor<f32[1]>) -> (!mx.tensor<f32[1]>, !mx.tensor<f32[1]>) {
  ^bb0(%v: !mx.tensor<f32[1]>):
    %m = mx.max %v over [0] : !mx.tensor<f32[1]> -> !mx.tensor<f32[]>
    %s = mx.mul %v, %m : (!mx.tensor<f32[1]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[1]>
    %t = mx.sum %s over [0] keep : !mx.tensor<f32[1]> -> !mx.tensor<f32[1]>
    mx.yield %s, %t : !mx.tensor<f32[1]>, !mx.tensor<f32[1]>
  }
}
mxrt.program @short_rows(%x: !mxrt.buffer<f32[1]>) writes (%y: !mxrt.buffer<f32[1]>, %z: !mxrt.buffer<f32[1]>)
    arenas [#mxrt.arena<"" 128>] {
  %a = mxrt.slice 0 bytes 4 : <f32[1]>
  %b = mxrt.slice 64 bytes 4 : <f32[1]>
  mxrt.call @short reads(%x : !mxrt.buffer<f32[1]>) writes(%y, %a : !mxrt.buffer<f32[1]>, !mxrt.buffer<f32[1]>)
  mxrt.call @short reads(%a : !mxrt.buffer<f32[1]>) writes(%z, %b : !mxrt.buffer<f32[1]>, !mxrt.buffer<f32[1]>)
}

// -----

// Its twin: the sum and the other output have loops of their own, one after the other.
// CHECK-LABEL: mxrt.program @two_nests
// CHECK-NOT: _over
mxrt.kernel @both(%x: !mx.tensor<f32[4, 8]>) {
  %r:2 = mx.kernel(%x) : (!mx.tensor<f32[4, 8]>) -> (!mx.tensor<f32[4, 8]>, !mx.tensor<f32[4, 1]>) {
  ^bb0(%v: !mx.tensor<f32[4, 8]>):
    %s = mx.neg %v : (!mx.tensor<f32[4, 8]>) -> !mx.tensor<f32[4, 8]>
    %t = mx.sum %s over [1] keep : !mx.tensor<f32[4, 8]> -> !mx.tensor<f32[4, 1]>
    mx.yield %s, %t : !mx.tensor<f32[4, 8]>, !mx.tensor<f32[4, 1]>
  }
}
mxrt.program @two_nests(%x: !mxrt.buffer<f32[4, 8]>) writes (%y: !mxrt.buffer<f32[4, 8]>, %z: !mxrt.buffer<f32[4, 1]>) arenas [#mxrt.arena<"" 288>] {
  %a = mxrt.slice 0 bytes 128 : <f32[4, 8]>
  %b = mxrt.slice 128 bytes 128 : <f32[4, 8]>
  mxrt.call @both reads(%x : !mxrt.buffer<f32[4, 8]>) writes(%a, %z : !mxrt.buffer<f32[4, 8]>, !mxrt.buffer<f32[4, 1]>)
  mxrt.call @both reads(%a : !mxrt.buffer<f32[4, 8]>) writes(%b, %z : !mxrt.buffer<f32[4, 8]>, !mxrt.buffer<f32[4, 1]>)
  mxrt.call @both reads(%b : !mxrt.buffer<f32[4, 8]>) writes(%y, %z : !mxrt.buffer<f32[4, 8]>, !mxrt.buffer<f32[4, 1]>)
}
