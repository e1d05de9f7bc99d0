// RUN: not mxc-opt %s --verify-locations 2>&1 | FileCheck %s
// An op that names no file and line is refused; constants may have lost theirs.

// CHECK-NOT: error
// CHECK: error: 'mx.neg' op has no location in the source
// CHECK: error: 'mx.exp' op has no location in the source
// CHECK-NOT: error

mx.graph @locations(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %two = mx.constant 2.0 : f32 -> !mx.tensor<f32[]> loc(unknown)
  %a = mx.add %x, %two : (!mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[]> loc("net.mx":3:4)
  %b = mx.neg %a : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]> loc("gradient of"("net.mx":3:4))
  %c = mx.neg %b : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]> loc(callsite("net.mx":3:4 at "net.mx":9:1))
  %d = mx.neg %c : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]> loc(fused[unknown, "net.mx":3:4])
  %e = mx.neg %d : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]> loc(unknown)
  %f = mx.exp %e : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]> loc(callsite(unknown at "net.mx":9:1))
  mx.return %f : !mx.tensor<f32[]>
}
