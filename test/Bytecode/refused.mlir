// RUN: mxc-opt --mx-emit-bytecode %s -split-input-file -verify-diagnostics -o /dev/null
// What has no bytecode is an error on its op.

!i64 = !mx.tensor<i64[] on host>
// expected-error @+1 {{`outside` has no body}}
mx.func private @outside(!i64) -> !i64

// -----

!i64 = !mx.tensor<i64[] on host>
mx.func @caller(%x: !i64) -> !i64 {
  // expected-error @+1 {{calls `nowhere`, which is not there}}
  %r = mx.call @nowhere(%x) : (!i64) -> !i64
  mx.return %r : !i64
}

// -----

!i64 = !mx.tensor<i64[] on host>
mx.func @callee(%x: !i64) -> !i64 {
  mx.return %x : !i64
}
mx.func @caller() {
  %s = mx.text "a" : !mx.str
  // expected-error @+1 {{operand 0 is not of the type that `callee` takes}}
  %r = mx.call @callee(%s) : (!mx.str) -> !i64
  mx.return
}

// -----

!i64 = !mx.tensor<i64[] on host>
// expected-error @+1 {{does not give its mut argument 0 back as result 0}}
mx.func @lost(%x: !i64 {mx.mut}) {
  mx.return
}

// -----

!i64 = !mx.tensor<i64[] on host>
mx.func @changes(%x: !i64 {mx.mut}) -> !i64 {
  mx.return %x : !i64
}
mx.func @value() {
  // expected-error @+1 {{`changes` has mut parameters, so it cannot be a value}}
  %f = mx.closure @changes() : () -> !mx.fn<(!i64) -> !i64>
  mx.return
}

// -----

!i64 = !mx.tensor<i64[] on host>
mx.func @sizes() -> !i64 {
  // expected-error @+1 {{uses the size Q, which has no value here}}
  %n = mx.size <Q + 1> -> !i64
  mx.return %n : !i64
}

// -----

!i64 = !mx.tensor<i64[] on host>
mx.func @globals(%x: !i64, %s: !mx.str) {
  mx.global_store "g" = %x : !i64
  // expected-error @+1 {{the variable `g` is of another type elsewhere}}
  mx.global_store "g" = %s : !mx.str
  mx.return
}

// -----

!b = !mx.tensor<bool[] on host>
mx.func @bools(%x: !b) -> !b {
  // expected-error @+1 {{is not there for bool on the host}}
  %y = mx.add %x, %x : (!b, !b) -> !b
  mx.return %y : !b
}

// -----

mx.func @kernels(%x: !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  // expected-error @+1 {{has no bytecode}}
  %y = mx.kernel(%x) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    mx.yield %a : !mx.tensor<f32[4]>
  }
  mx.return %y : !mx.tensor<f32[4]>
}
