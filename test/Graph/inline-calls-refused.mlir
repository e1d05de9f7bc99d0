// RUN: mxc-opt %s --inline-calls=limit=52 --split-input-file --verify-diagnostics
// What a graph cannot contain is refused at the call.

mx.func private @even(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %y = mx.call @odd (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %y : !mx.tensor<f32[]>
}
mx.func private @odd(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  // expected-error@+1 {{@even calls itself, which a graph cannot contain}}
  %y = mx.call @even (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %y : !mx.tensor<f32[]>
}
mx.graph @recursion(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %y = mx.call @even (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %y : !mx.tensor<f32[]>
}

// -----

mx.func private @counter() -> !mx.tensor<i64[]> {
  // expected-note@+1 {{it is here}}
  %n = mx.global_load "count" : !mx.tensor<i64[]>
  mx.return %n : !mx.tensor<i64[]>
}
mx.graph @host() -> !mx.tensor<i64[]> {
  // expected-error@+1 {{@counter cannot be part of a graph: it contains `mx.global_load`, which only the host does}}
  %n = mx.call @counter () : () -> !mx.tensor<i64[]>
  mx.return %n : !mx.tensor<i64[]>
}

// -----

mx.func private @declared() -> !mx.tensor<i64[]>
mx.graph @external() -> !mx.tensor<i64[]> {
  // expected-error@+1 {{@declared has no body that the graph could contain}}
  %n = mx.call @declared () : () -> !mx.tensor<i64[]>
  mx.return %n : !mx.tensor<i64[]>
}

// -----

mx.graph @unknownFunction(%f: !mx.fn<() -> !mx.tensor<i64[]>>) -> !mx.tensor<i64[]> {
  // expected-error@+1 {{which function is called here is not known in the graph}}
  %n = mx.call_value %f () : (!mx.fn<() -> !mx.tensor<i64[]>>) -> !mx.tensor<i64[]>
  mx.return %n : !mx.tensor<i64[]>
}

// -----

// Few words, many ops.
mx.func private @a(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %0 = mx.neg %x : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  %1 = mx.exp %0 : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  %2 = mx.neg %1 : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %2 : !mx.tensor<f32[]>
}
mx.func private @b(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %0 = mx.call @a (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  %1 = mx.call @a (%0) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  %2 = mx.call @a (%1) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  // expected-error@+1 {{the graph grows beyond 52 ops here}}
  %3 = mx.call @a (%2) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %3 : !mx.tensor<f32[]>
}
mx.func private @c(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %0 = mx.call @b (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  %1 = mx.call @b (%0) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  %2 = mx.call @b (%1) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %2 : !mx.tensor<f32[]>
}
mx.graph @grows(%x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %0 = mx.call @c (%x) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
  mx.return %0 : !mx.tensor<f32[]>
}
