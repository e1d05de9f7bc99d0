// RUN: mxc-opt %s --recompute=budget=192 --reuse-in-place --pack-arena --verify-plan --split-input-file | FileCheck %s
// RUN: mxc-opt %s --reuse-in-place --pack-arena --verify-plan --split-input-file | FileCheck %s --check-prefix=OFF
// RUN: mxc-opt %s --recompute=budget=128 --split-input-file 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: mxc-opt %s --recompute=percent=15 --reuse-in-place --pack-arena --verify-plan --split-input-file | FileCheck %s --check-prefix=CHEAP
// RUN: mxc-opt %s --recompute=percent=5 --split-input-file | FileCheck %s --check-prefix=DEAR
// Values are rematerialised so that less is in use at once; beside each, a twin where they must not be.

mxrt.kernel @step(%x: !mx.tensor<f32[16]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[16]>) -> !mx.tensor<f32[16]> {
  ^bb0(%v: !mx.tensor<f32[16]>):
    %s = mx.exp %v : (!mx.tensor<f32[16]>) -> !mx.tensor<f32[16]>
    mx.yield %s : !mx.tensor<f32[16]>
  }
}
mxrt.kernel @join(%x: !mx.tensor<f32[16]>, %y: !mx.tensor<f32[16]>) {
  %r = mx.kernel(%x, %y) : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]> {
  ^bb0(%v: !mx.tensor<f32[16]>, %w: !mx.tensor<f32[16]>):
    %s = mx.mul %v, %w : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]>
    mx.yield %s : !mx.tensor<f32[16]>
  }
}

// Four layers, and back: the first is rematerialised.
// CHECK-LABEL: mxrt.program @chain
// CHECK-SAME: arenas [#mxrt.arena<"" 192>]
// CHECK-COUNT-4: call @step
// CHECK: mxrt.recomputed
// CHECK: mxrt.return
// OFF-LABEL: mxrt.program @chain
// OFF-SAME: arenas [#mxrt.arena<"" 256>]
// OFF-NOT: mxrt.recomputed
// NONE: remark: no way was found to use at most 128 bytes at once
// One call of eight may run again, for a tenth of the time.
// CHEAP-LABEL: mxrt.program @chain
// CHEAP-SAME: arenas [#mxrt.arena<"" 192>]
// CHEAP: mxrt.recomputed
// CHEAP: mxrt.return
// DEAR-LABEL: mxrt.program @chain
// DEAR-NOT: mxrt.recomputed
// DEAR: mxrt.return
mxrt.program @chain(%x: !mxrt.buffer<f32[16]>) writes (%out: !mxrt.buffer<f32[16]>) arenas [#mxrt.arena<"" 448>] {
  %a = mxrt.slice 0 bytes 64 : <f32[16]>
  %b = mxrt.slice 64 bytes 64 : <f32[16]>
  %c = mxrt.slice 128 bytes 64 : <f32[16]>
  %d = mxrt.slice 192 bytes 64 : <f32[16]>
  %gd = mxrt.slice 256 bytes 64 : <f32[16]>
  %gc = mxrt.slice 320 bytes 64 : <f32[16]>
  %gb = mxrt.slice 384 bytes 64 : <f32[16]>
  mxrt.call @step reads(%x : !mxrt.buffer<f32[16]>) writes(%a : !mxrt.buffer<f32[16]>)
  mxrt.call @step reads(%a : !mxrt.buffer<f32[16]>) writes(%b : !mxrt.buffer<f32[16]>)
  mxrt.call @step reads(%b : !mxrt.buffer<f32[16]>) writes(%c : !mxrt.buffer<f32[16]>)
  mxrt.call @step reads(%c : !mxrt.buffer<f32[16]>) writes(%d : !mxrt.buffer<f32[16]>)
  mxrt.call @step reads(%d : !mxrt.buffer<f32[16]>) writes(%gd : !mxrt.buffer<f32[16]>)
  mxrt.call @join reads(%gd, %c : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%gc : !mxrt.buffer<f32[16]>)
  mxrt.call @join reads(%gc, %b : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%gb : !mxrt.buffer<f32[16]>)
  mxrt.call @join reads(%gb, %a : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%out : !mxrt.buffer<f32[16]>)
}

// -----

mxrt.kernel @step(%x: !mx.tensor<f32[16]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[16]>) -> !mx.tensor<f32[16]> {
  ^bb0(%v: !mx.tensor<f32[16]>):
    %s = mx.exp %v : (!mx.tensor<f32[16]>) -> !mx.tensor<f32[16]>
    mx.yield %s : !mx.tensor<f32[16]>
  }
}
mxrt.kernel @join(%x: !mx.tensor<f32[16]>, %y: !mx.tensor<f32[16]>) {
  %r = mx.kernel(%x, %y) : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]> {
  ^bb0(%v: !mx.tensor<f32[16]>, %w: !mx.tensor<f32[16]>):
    %s = mx.mul %v, %w : (!mx.tensor<f32[16]>, !mx.tensor<f32[16]>) -> !mx.tensor<f32[16]>
    mx.yield %s : !mx.tensor<f32[16]>
  }
}

// Its twin: what the first value is made of is written over later, so it cannot be rematerialised.
// CHECK-LABEL: mxrt.program @changed
// CHECK-NOT: reads(%0 {{.*}}mxrt.recomputed
// CHECK: mxrt.return
// NONE: remark: no way was found to use at most 128 bytes at once
mxrt.program @changed(%x: !mxrt.buffer<f32[16]>) writes (%out: !mxrt.buffer<f32[16]>) arenas [#mxrt.arena<"" 320>] {
  %s = mxrt.slice 0 bytes 64 : <f32[16]>
  %a = mxrt.slice 64 bytes 64 : <f32[16]>
  %b = mxrt.slice 128 bytes 64 : <f32[16]>
  %c = mxrt.slice 192 bytes 64 : <f32[16]>
  %d = mxrt.slice 256 bytes 64 : <f32[16]>
  mxrt.copy %x to %s : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>
  mxrt.call @step reads(%s : !mxrt.buffer<f32[16]>) writes(%a : !mxrt.buffer<f32[16]>)
  mxrt.call @step reads(%a : !mxrt.buffer<f32[16]>) writes(%s : !mxrt.buffer<f32[16]>)
  mxrt.call @step reads(%s : !mxrt.buffer<f32[16]>) writes(%b : !mxrt.buffer<f32[16]>)
  mxrt.call @step reads(%b : !mxrt.buffer<f32[16]>) writes(%c : !mxrt.buffer<f32[16]>)
  mxrt.call @join reads(%c, %b : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%d : !mxrt.buffer<f32[16]>)
  mxrt.call @join reads(%d, %a : !mxrt.buffer<f32[16]>, !mxrt.buffer<f32[16]>) writes(%out : !mxrt.buffer<f32[16]>)
}

// -----

mxrt.kernel @step(%x: !mx.tensor<f32[64, 64]>) {
  %r = mx.kernel(%x) : (!mx.tensor<f32[64, 64]>) -> !mx.tensor<f32[64, 64]> {
  ^bb0(%v: !mx.tensor<f32[64, 64]>):
    %s = mx.matmul %v, %v : (!mx.tensor<f32[64, 64]>, !mx.tensor<f32[64, 64]>) -> !mx.tensor<f32[64, 64]>
    mx.yield %s : !mx.tensor<f32[64, 64]>
  }
}
mxrt.kernel @join(%x: !mx.tensor<f32[64, 64]>, %y: !mx.tensor<f32[64, 64]>) {
  %r = mx.kernel(%x, %y) : (!mx.tensor<f32[64, 64]>, !mx.tensor<f32[64, 64]>) -> !mx.tensor<f32[64, 64]> {
  ^bb0(%v: !mx.tensor<f32[64, 64]>, %w: !mx.tensor<f32[64, 64]>):
    %s = mx.mul %v, %w : (!mx.tensor<f32[64, 64]>, !mx.tensor<f32[64, 64]>) -> !mx.tensor<f32[64, 64]>
    mx.yield %s : !mx.tensor<f32[64, 64]>
  }
}

// The twin of cheap ones: matmuls compute for longer than they move bytes.
// CHEAP-LABEL: mxrt.program @matmuls
// CHEAP-NOT: mxrt.recomputed
// CHEAP: mxrt.return
mxrt.program @matmuls(%x: !mxrt.buffer<f32[64, 64]>) writes (%out: !mxrt.buffer<f32[64, 64]>) arenas [#mxrt.arena<"" 114688>] {
  %a = mxrt.slice 0 bytes 16384 : <f32[64, 64]>
  %b = mxrt.slice 16384 bytes 16384 : <f32[64, 64]>
  %c = mxrt.slice 32768 bytes 16384 : <f32[64, 64]>
  %d = mxrt.slice 49152 bytes 16384 : <f32[64, 64]>
  %gd = mxrt.slice 65536 bytes 16384 : <f32[64, 64]>
  %gc = mxrt.slice 81920 bytes 16384 : <f32[64, 64]>
  %gb = mxrt.slice 98304 bytes 16384 : <f32[64, 64]>
  mxrt.call @step reads(%x : !mxrt.buffer<f32[64, 64]>) writes(%a : !mxrt.buffer<f32[64, 64]>)
  mxrt.call @step reads(%a : !mxrt.buffer<f32[64, 64]>) writes(%b : !mxrt.buffer<f32[64, 64]>)
  mxrt.call @step reads(%b : !mxrt.buffer<f32[64, 64]>) writes(%c : !mxrt.buffer<f32[64, 64]>)
  mxrt.call @step reads(%c : !mxrt.buffer<f32[64, 64]>) writes(%d : !mxrt.buffer<f32[64, 64]>)
  mxrt.call @step reads(%d : !mxrt.buffer<f32[64, 64]>) writes(%gd : !mxrt.buffer<f32[64, 64]>)
  mxrt.call @join reads(%gd, %c : !mxrt.buffer<f32[64, 64]>, !mxrt.buffer<f32[64, 64]>) writes(%gc : !mxrt.buffer<f32[64, 64]>)
  mxrt.call @join reads(%gc, %b : !mxrt.buffer<f32[64, 64]>, !mxrt.buffer<f32[64, 64]>) writes(%gb : !mxrt.buffer<f32[64, 64]>)
  mxrt.call @join reads(%gb, %a : !mxrt.buffer<f32[64, 64]>, !mxrt.buffer<f32[64, 64]>) writes(%out : !mxrt.buffer<f32[64, 64]>)
}
