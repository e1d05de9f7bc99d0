// RUN: mxc-opt %s --reuse-in-place --pack-arena --verify-plan --split-input-file | FileCheck %s
// An output that a caller gives an argument up for is written where that is; beside each, a twin
// where it must not be.

mxrt.kernel @less(%w: !mx.tensor<f32[16]>, %g: !mx.tensor<f32[16]>) {
  %r = mx.kernel(%w, %g) : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]> {
  ^bb0(%v: !mx.tensor<f32[16]>, %h: !mx.tensor<f32[16]>):
    %s = mx.sub %v, %h : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]>
    mx.yield %s : !mx.tensor<f32[16]>
  }
}
mxrt.kernel @flip(%w: !mx.tensor<f32[4, 4]>) {
  %r = mx.kernel(%w) : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%v: !mx.tensor<f32[4, 4]>):
    %s = mx.transpose %v by [1, 0] : <f32[4, 4]> -> <f32[4, 4]>
    mx.yield %s : !mx.tensor<f32[4, 4]>
  }
}
mxrt.kernel @matmul(%x: !mx.tensor<f32[4, 8]>, %y: !mx.tensor<f32[8, 4]>, %w: !mx.tensor<f32[4, 4]>) {
  %r = mx.kernel(%x, %y, %w) : (!mx.tensor<f32[4, 8]>, !mx.tensor<f32[8, 4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%a: !mx.tensor<f32[4, 8]>, %b: !mx.tensor<f32[8, 4]>, %v: !mx.tensor<f32[4, 4]>):
    %p = mx.matmul %a, %b : (!mx.tensor<f32[4, 8]>, !mx.tensor<f32[8, 4]>) -> !mx.tensor<f32[4, 4]>
    %s = mx.sub %v, %p : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %s : !mx.tensor<f32[4, 4]>
  }
}

// CHECK-LABEL: mxrt.program @update
// CHECK-SAME: mxrt.over = array<i64: 0>
// CHECK: call @less_over_0 reads(%arg0
mxrt.program @update(%w: !mxrt.buffer<f32[16]>, %g: !mxrt.buffer<f32[16]>) writes (%n: !mxrt.buffer<f32[16]>) attributes {mxrt.given = array<i64: 0>} {
  mxrt.call @less reads(%w, %g : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%n : !mxrt.buffer<f32[16]>)
}

// The caller keeps it.
// CHECK-LABEL: mxrt.program @kept
// CHECK-NOT: mxrt.over
// CHECK: call @less reads
mxrt.program @kept(%w: !mxrt.buffer<f32[16]>, %g: !mxrt.buffer<f32[16]>) writes (%n: !mxrt.buffer<f32[16]>) {
  mxrt.call @less reads(%w, %g : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%n : !mxrt.buffer<f32[16]>)
}

// The old one is read once more.
// CHECK-LABEL: mxrt.program @later
// CHECK-NOT: mxrt.over
// CHECK: mxrt.return
mxrt.program @later(%w: !mxrt.buffer<f32[16]>, %g: !mxrt.buffer<f32[16]>) writes (%n: !mxrt.buffer<f32[16]>, %m: !mxrt.buffer<f32[16]>) attributes {mxrt.given = array<i64: 0, -1>} {
  mxrt.call @less reads(%w, %g : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%n : !mxrt.buffer<f32[16]>)
  mxrt.call @less reads(%g, %w : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%m : !mxrt.buffer<f32[16]>)
}

// The kernel reads other indices than it writes.
// CHECK-LABEL: mxrt.program @turned
// CHECK-NOT: mxrt.over
// CHECK: call @flip reads
mxrt.program @turned(%w: !mxrt.buffer<f32[4, 4]>) writes (%n: !mxrt.buffer<f32[4, 4]>) attributes {mxrt.given = array<i64: 0>} {
  mxrt.call @flip reads(%w : !mxrt.buffer<f32[4, 4]>) writes(%n : !mxrt.buffer<f32[4, 4]>)
}

// What a matmul is subtracted from, each element at its index.
// CHECK-LABEL: mxrt.program @epilogue
// CHECK-SAME: mxrt.over = array<i64: 2>
// CHECK: call @matmul_over_2
mxrt.program @epilogue(%x: !mxrt.buffer<f32[4, 8]>, %y: !mxrt.buffer<f32[8, 4]>, %w: !mxrt.buffer<f32[4, 4]>) writes (%n: !mxrt.buffer<f32[4, 4]>) attributes {mxrt.given = array<i64: 2>} {
  mxrt.call @matmul reads(%x, %y, %w : !mxrt.buffer<f32[4, 8]>, !mxrt.buffer<f32[8, 4]>, !mxrt.buffer<f32[4, 4]>) writes(%n : !mxrt.buffer<f32[4, 4]>)
}

// What does not change is not copied.
// CHECK-LABEL: mxrt.program @same
// CHECK-SAME: mxrt.over = array<i64: 0>
// CHECK-NOT: mxrt.copy
// CHECK: mxrt.return
mxrt.program @same(%w: !mxrt.buffer<f32[16]>) writes (%n: !mxrt.buffer<f32[16]>) attributes {mxrt.given = array<i64: 0>} {
  mxrt.copy %w to %n : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>
}
