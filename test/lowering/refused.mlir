// RUN: mxc-opt %s --mx-lower-kernels --split-input-file --verify-diagnostics
// Kernels that cannot be emitted are refused where they are, never half emitted.

mx.func @otherAxes(%x: !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> attributes {sizes = []} {
  %k = mx.kernel(%x) : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    // expected-error @+1 {{is not over the rows of its kernel}}
    %0 = mx.sum %a over [0] keep : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[1, 4]>
    %1 = mx.sub %a, %0 : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[1, 4]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %1 : !mx.tensor<f32[4, 4]>
  }
  mx.return %k : !mx.tensor<f32[4, 4]>
}

// -----

mx.func @alongColumns(%x: !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> attributes {sizes = []} {
  %k = mx.kernel(%x) : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    %0 = mx.sum %a over [1] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4]>
    // expected-error @+1 {{reads results of other rows}}
    %1 = mx.sub %a, %0 : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %1 : !mx.tensor<f32[4, 4]>
  }
  mx.return %k : !mx.tensor<f32[4, 4]>
}

// -----

mx.func @partOfTheRows(%x: !mx.tensor<f32[4, 4, 4]>) -> !mx.tensor<f32[4]> attributes {sizes = []} {
  %k = mx.kernel(%x) : (!mx.tensor<f32[4, 4, 4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4, 4, 4]>):
    %0 = mx.sum %a over [2] : !mx.tensor<f32[4, 4, 4]> -> !mx.tensor<f32[4, 4]>
    // expected-error @+1 {{is neither over a row of its kernel nor over all rows}}
    %1 = mx.max %0 over [1] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4]>
    mx.yield %1 : !mx.tensor<f32[4]>
  }
  mx.return %k : !mx.tensor<f32[4]>
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
