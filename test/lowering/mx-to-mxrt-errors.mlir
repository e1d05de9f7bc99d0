// RUN: mxc-opt %s --mx-to-mxrt --split-input-file --verify-diagnostics
// What is left outside of kernels and has no lowering is an error at its location.

mx.graph @loose(%x: !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  // expected-error@+1 {{'mx.neg' op is not in a kernel and not lowered by itself}}
  %y = mx.neg %x : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
  mx.return %y : !mx.tensor<f32[4]>
}

// -----

mx.graph @prints(%n: !mx.tensor<i64[] on host>) {
  // expected-error@+1 {{'mx.print' op is not in a kernel and not lowered by itself}}
  mx.print %n : !mx.tensor<i64[] on host>
  mx.return
}

// -----

// expected-error@+1 {{the size "N" is neither a number nor bounded}}
mx.graph @open(%x: !mx.tensor<f32[N]>) attributes {sizes = ["N"]} {
  mx.return
}

// -----

mx.graph @huge() -> !mx.tensor<f32[4]> {
  // expected-error@+1 {{the memory for '!mx.tensor<f32[4611686018427387904]>' has no bound that fits in 63 bits}}
  %a, %b = mx.kernel() : () -> (!mx.tensor<f32[4]>, !mx.tensor<f32[4611686018427387904]>) {
    %zero = mx.constant 0.0 : f32 -> !mx.tensor<f32[]>
    %s = mx.full %zero : !mx.tensor<f32[]> -> !mx.tensor<f32[4]>
    %l = mx.full %zero : !mx.tensor<f32[]> -> !mx.tensor<f32[4611686018427387904]>
    mx.yield %s, %l : !mx.tensor<f32[4]>, !mx.tensor<f32[4611686018427387904]>
  }
  mx.return %a : !mx.tensor<f32[4]>
}

// -----

mx.graph @strided(%x: !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  // expected-error@+1 {{has strided inputs, but buffers of programs are dense}}
  %a = mx.kernel(%x) attributes {strided = array<i1: true>} : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%v: !mx.tensor<f32[4]>):
    mx.yield %v : !mx.tensor<f32[4]>
  }
  mx.return %a : !mx.tensor<f32[4]>
}

// -----

// expected-error@+1 {{an argument is a '!mx.aggregate<"" [](!mx.tensor<f32[4]>)>', not a tensor}}
mx.graph @aggregate(%x: !mx.aggregate<"" [] (!mx.tensor<f32[4]>)>) {
  mx.return
}
