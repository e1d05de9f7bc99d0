// RUN: mxc-opt %s --split-input-file --verify-diagnostics
// What the verifiers refuse. Sizes with names may fit by a condition the IR does not know; numbers and
// ranks must fit.

mx.func @f(%x: !mx.tensor<f32[2, 3]>, %y: !mx.tensor<f32[4]>) attributes {sizes = []} {
  // expected-error @+1 {{operand '!mx.tensor<f32[4]>' does not broadcast to '!mx.tensor<f32[2, 3]>'}}
  %0 = mx.add %x, %y : (!mx.tensor<f32[2, 3]>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[1, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{no operand has the size #mx.size<2> of the result}}
  %0 = mx.neg %x : (!mx.tensor<f32[1, 3]>) -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[3]>, %y: !mx.tensor<i32[3]>) attributes {sizes = []} {
  // expected-error @+1 {{operands have different elements, 'f32' and 'i32'}}
  %0 = mx.mul %x, %y : (!mx.tensor<f32[3]>, !mx.tensor<i32[3]>) -> !mx.tensor<f32[3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[3]>) attributes {sizes = []} {
  // expected-error @+1 {{the result has elements 'f32', not 'i1'}}
  %0 = mx.lt %x, %x : (!mx.tensor<f32[3]>, !mx.tensor<f32[3]>) -> !mx.tensor<f32[3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<i64[] on host>) attributes {sizes = []} {
  // expected-error @+1 {{the result is on the host exactly if all operands are}}
  %0 = mx.neg %x : (!mx.tensor<i64[] on host>) -> !mx.tensor<i64[]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{axes must be sorted and lie within the rank}}
  %0 = mx.sum %x over [2] : !mx.tensor<f32[2, 3]> -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{the result does not have the sizes of '!mx.tensor<f32[3]>'}}
  %0 = mx.sum %x over [1] : !mx.tensor<f32[2, 3]> -> !mx.tensor<f32[3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>, %y: !mx.tensor<f32[4, 5]>) attributes {sizes = []} {
  // expected-error @+1 {{the shapes of its operands do not fit}}
  %0 = mx.matmul %x, %y : (!mx.tensor<f32[2, 3]>, !mx.tensor<f32[4, 5]>) -> !mx.tensor<f32[2, 5]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{the shapes of its operands do not fit}}
  %0 = mx.reshape %x : !mx.tensor<f32[2, 3]> -> !mx.tensor<f32[7]>
  mx.return
}

// -----

// Named sizes: the checker knew that N is even.
mx.func @f(%x: !mx.tensor<f32[N]>) -> !mx.tensor<f32[2, N / / 2]> attributes {sizes = ["N"]} {
  %0 = mx.reshape %x : !mx.tensor<f32[N]> -> !mx.tensor<f32[2, N / / 2]>
  mx.return %0 : !mx.tensor<f32[2, N / / 2]>
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>, %i: !mx.tensor<i64[] on host>) attributes {sizes = []} {
  // expected-error @+1 {{needs 1 numbers and has 0}}
  %0 = mx.slice %x ["i", ":"] at () : (!mx.tensor<f32[2, 3]>) -> !mx.tensor<f32[3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>, %i: !mx.tensor<i64[] on host>) attributes {sizes = []} {
  // expected-error @+1 {{has 1 entries for the 2 axes}}
  %0 = mx.slice %x ["i"] at (%i) : (!mx.tensor<f32[2, 3]>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2]>) attributes {sizes = []} {
  // expected-error @+1 {{has a malformed spec}}
  %0 = mx.slice %x ["q"] at () : (!mx.tensor<f32[2]>) -> !mx.tensor<f32[2]>
  mx.return
}

// -----

mx.func @f() attributes {sizes = []} {
  // expected-error @+1 {{its value does not fit '!mx.tensor<f32[2]>'}}
  %0 = mx.constant 1.0 : f32 -> !mx.tensor<f32[2]>
  mx.return
}

// -----

// expected-error @+1 {{declares the size "N" twice}}
mx.func @f() attributes {sizes = ["N", "N"]} {
  mx.return
}

// -----

// expected-error @+1 {{does not return its result types}}
mx.func @f(%x: !mx.tensor<f32[2]>) -> !mx.tensor<f32[3]> attributes {sizes = []} {
  mx.return %x : !mx.tensor<f32[2]>
}

// -----

mx.func @f(%c: !mx.tensor<bool[]>, %x: !mx.tensor<f32[2]>) attributes {sizes = []} {
  // expected-error @+1 {{a block does not yield the types of the results}}
  %0 = mx.if %c : (!mx.tensor<bool[]>) -> !mx.tensor<f32[2]> {
    mx.yield %x : !mx.tensor<f32[2]>
  } else {
    mx.yield
  }
  mx.return
}

// -----

mx.func @f(%x: !mx.aggregate<"P" ["a"] (!mx.tensor<f32[2]>)>) attributes {sizes = []} {
  // expected-error @+1 {{is not a '!mx.tensor<f32[3]>'}}
  %0 = mx.get %x 0 : !mx.aggregate<"P" ["a"] (!mx.tensor<f32[2]>)> -> !mx.tensor<f32[3]>
  mx.return
}

// -----

mx.func @f(%s: !mx.tensor<i64[] on host>) attributes {sizes = []} {
  // expected-error @+1 {{there is no random op `gamma`}}
  %0 = mx.random "gamma"(%s, %s) : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[2]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{of the unknown kind `shuffle`}}
  %0 = mx.routine "shuffle"(%x) : (!mx.tensor<f32[2, 3]>) -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{the result has elements 'f32', not 'i32'}}
  %0 = mx.routine "argsort"(%x) along 1 : (!mx.tensor<f32[2, 3]>) -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{axis 2 is outside of}}
  %0 = mx.routine "cumsum"(%x) along 2 : (!mx.tensor<f32[2, 3]>) -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>, %i: !mx.tensor<i64[4]>, %y: !mx.tensor<f32[3, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{has rows}}
  %0 = mx.routine "scatter_add"(%x, %i, %y) : (!mx.tensor<f32[2, 3]>, !mx.tensor<i64[4]>, !mx.tensor<f32[3, 3]>) -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f32[2, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{needs square matrices}}
  %0 = mx.routine "cholesky"(%x) : (!mx.tensor<f32[2, 3]>) -> !mx.tensor<f32[2, 3]>
  mx.return
}

// -----

mx.func @f(%x: !mx.tensor<f16[3, 3]>) attributes {sizes = []} {
  // expected-error @+1 {{cholesky does not take}}
  %0 = mx.routine "cholesky"(%x) : (!mx.tensor<f16[3, 3]>) -> !mx.tensor<f16[3, 3]>
  mx.return
}

// -----

// expected-error @+1 {{`q32` is not an element type}}
mx.func @f(%x: !mx.tensor<q32[2]>) attributes {sizes = []} {
  mx.return
}

// -----

// expected-error @+1 {{only rank 0 is on the host}}
mx.func @f(%x: !mx.tensor<f32[2] on host>) attributes {sizes = []} {
  mx.return
}
