// RUN: mxc-opt %s --differentiate --split-input-file --verify-diagnostics
// What has no gradient is refused where it stands, if a gradient would have to pass through it.

mx.func private @drawn(%x: !mx.tensor<f32[]>, %n: !mx.tensor<i64[]>) -> !mx.tensor<f32[]> {
  // expected-error@+1 {{`random` has no gradient}}
  %r = mx.random "normal" (%n, %n, %x, %x) : (!mx.tensor<i64[]>, !mx.tensor<i64[]>, !mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %r : !mx.tensor<f32[]>
}
mx.func @main(%x: !mx.tensor<f32[]>, %n: !mx.tensor<i64[]>) -> !mx.tensor<f32[]> {
  %r:2 = mx.grad @drawn (%x, %n) wrt [0] : (!mx.tensor<f32[]>, !mx.tensor<i64[]>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[]>)
  mx.return %r#1 : !mx.tensor<f32[]>
}

// -----

mx.func private @itself(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  // expected-error@+1 {{@itself calls itself, which a gradient cannot contain}}
  %r = mx.call @itself (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %r : !mx.tensor<f32[]>
}
mx.func private @body(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %r = mx.call @itself (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %r : !mx.tensor<f32[]>
}
mx.func @main(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %r:2 = mx.grad @body (%x) wrt [0] : (!mx.tensor<f32[]>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[]>)
  mx.return %r#1 : !mx.tensor<f32[]>
}

// -----

// A variable that may be left half way hides what depends on what.
mx.func private @hidden(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  // expected-error@+1 {{`cell` has no gradient}}
  %c = mx.cell %x : (!mx.tensor<f32[]>) -> !mx.cell<!mx.tensor<f32[]>>
  %r = mx.load %c : (!mx.cell<!mx.tensor<f32[]>>) -> !mx.tensor<f32[]>
  mx.return %r : !mx.tensor<f32[]>
}
mx.func @main(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %r:2 = mx.grad @hidden (%x) wrt [0] : (!mx.tensor<f32[]>) -> (!mx.tensor<f32[]>, !mx.tensor<f32[]>)
  mx.return %r#1 : !mx.tensor<f32[]>
}
