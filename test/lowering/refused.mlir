// RUN: mxc-opt %s --mx-lower-kernels --split-input-file --verify-diagnostics
// Kernels that cannot be emitted are refused where they are, never half emitted.

mx.func @twice(%x: !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[]> attributes {sizes = []} {
  %k = mx.kernel(%x) : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[]> {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    %0 = mx.sum %a over [1] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4]>
    // expected-error @+1 {{cannot be in one kernel with the mx.sum it is computed from}}
    %1 = mx.max %0 over [0] : !mx.tensor<f32[4]> -> !mx.tensor<f32[]>
    mx.yield %1 : !mx.tensor<f32[]>
  }
  mx.return %k : !mx.tensor<f32[]>
}

// -----

mx.func @wider(%x: !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> attributes {sizes = []} {
  %k = mx.kernel(%x) : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    // expected-error @+1 {{is followed by an op of another shape}}
    %0 = mx.sum %a over [1] keep : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4, 1]>
    %1 = mx.sub %a, %0 : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4, 1]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %1 : !mx.tensor<f32[4, 4]>
  }
  mx.return %k : !mx.tensor<f32[4, 4]>
}

// -----

mx.func @unknown(%x: !mx.tensor<f32[N]>) -> !mx.tensor<f32[N]> attributes {sizes = ["N"]} {
  // expected-error @+1 {{uses the size N, which the kernel does not have}}
  %k = mx.kernel(%x) : (!mx.tensor<f32[N]>) -> !mx.tensor<f32[N]> {
  ^bb0(%a: !mx.tensor<f32[N]>):
    %0 = mx.neg %a : (!mx.tensor<f32[N]>) -> !mx.tensor<f32[N]>
    mx.yield %0 : !mx.tensor<f32[N]>
  }
  mx.return %k : !mx.tensor<f32[N]>
}

// -----

mx.func @printed(%x: !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> attributes {sizes = []} {
  %k = mx.kernel(%x) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    // expected-error @+1 {{cannot be in a kernel}}
    mx.print %a : !mx.tensor<f32[4]>
    mx.yield %a : !mx.tensor<f32[4]>
  }
  mx.return %k : !mx.tensor<f32[4]>
}
