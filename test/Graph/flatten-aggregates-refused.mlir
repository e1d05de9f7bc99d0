// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(flatten-aggregates{limit=1000}))" --split-input-file --verify-diagnostics
// Elements that are not known when the graph is compiled, and values of too many parts.

!host = !mx.tensor<i64[] on host>
!three = !mx.array<!mx.tensor<f32[]>, <3>>
mx.graph @openLoop(%a: !three, %x: !mx.tensor<f32[]>, %n: !host) -> !mx.tensor<f32[]> {
  %zero = mx.constant 0 : i64 -> !host
  // expected-error@+1 {{the number of iterations must be a constant, because the loop takes elements of an array}}
  %y = mx.for %zero to %n carries (%x) : (!host, !host, !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  ^bb0(%i: !host, %v: !mx.tensor<f32[]>):
    // expected-note@+1 {{it takes one here}}
    %e = mx.at %a[%i] : (!three, !host) -> !mx.tensor<f32[]>
    %s = mx.add %v, %e : (!mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[]>
    mx.yield %s : !mx.tensor<f32[]>
  }
  mx.return %y : !mx.tensor<f32[]>
}

// -----

!host = !mx.tensor<i64[] on host>
!three = !mx.array<!mx.tensor<f32[]>, <3>>
mx.graph @openIndex(%a: !three, %i: !host) -> !mx.tensor<f32[]> {
  // expected-error@+1 {{which element of the array is meant is not known when the graph is compiled}}
  %e = mx.at %a[%i] : (!three, !host) -> !mx.tensor<f32[]>
  mx.return %e : !mx.tensor<f32[]>
}

// -----

!host = !mx.tensor<i64[] on host>
!three = !mx.array<!mx.tensor<f32[]>, <3>>
mx.graph @outside(%a: !three) -> !mx.tensor<f32[]> {
  %i = mx.constant 3 : i64 -> !host
  // expected-error@+1 {{index 3 is out of range for an array of 3 elements}}
  %e = mx.at %a[%i] : (!three, !host) -> !mx.tensor<f32[]>
  mx.return %e : !mx.tensor<f32[]>
}

// -----

!host = !mx.tensor<i64[] on host>
!three = !mx.array<!mx.tensor<f32[]>, <3>>
mx.graph @longLoop(%a: !three, %x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %zero = mx.constant 0 : i64 -> !host
  %n = mx.constant 1000000000000 : i64 -> !host
  // expected-error@+1 {{written out, this loop over array elements has more than 1000 ops}}
  %y = mx.for %zero to %n carries (%x) : (!host, !host, !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  ^bb0(%i: !host, %v: !mx.tensor<f32[]>):
    %e = mx.at %a[%i] : (!three, !host) -> !mx.tensor<f32[]>
    mx.yield %e : !mx.tensor<f32[]>
  }
  mx.return %y : !mx.tensor<f32[]>
}

// -----

// expected-error@+1 {{a value in this graph has more than 1000 parts}}
mx.graph @many(%a: !mx.array<!mx.array<!mx.array<!mx.tensor<f32[]>, <100000>>, <100000>>, <100000>>) {
  mx.return
}

// -----

// expected-error@+1 {{the number of elements of '!mx.array<!mx.tensor<f32[]>, <N>>' is not a constant}}
mx.graph @openCount(%a: !mx.array<!mx.tensor<f32[]>, <N>>) attributes {sizes = ["N"]} {
  mx.return
}

// -----

mx.func private @f(!mx.tensor<f32[]>)
mx.graph @call(%x: !mx.tensor<f32[]>) {
  // expected-error@+1 {{calls have to be inlined before aggregates are flattened}}
  mx.call @f (%x) : (!mx.tensor<f32[]>) -> ()
  mx.return
}
