// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(flatten-aggregates))" | FileCheck %s
// Aggregates and arrays become their leaves, at every border and through every region.

!dense = !mx.aggregate<"Dense" ["w", "b"] (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>)>
!net = !mx.aggregate<"Net" ["fc", "t"] (!dense, !mx.aggregate<"" [] (!mx.tensor<f32[]>, !mx.tensor<i32[]>)>)>
!host = !mx.tensor<i64[] on host>

// CHECK-LABEL: mx.graph @borders(
// CHECK-SAME: %arg0: !mx.tensor<f32[4, 4]> {mx.mut, mx.name = "net.fc.w"}
// CHECK-SAME: %arg1: !mx.tensor<f32[4]> {mx.mut, mx.name = "net.fc.b"}
// CHECK-SAME: %arg2: !mx.tensor<f32[]> {mx.mut, mx.name = "net.t.0"}
// CHECK-SAME: %arg3: !mx.tensor<i32[]> {mx.mut, mx.name = "net.t.1"}
// CHECK-SAME: %arg4: !mx.tensor<f32[4]>)
// CHECK-SAME: -> (!mx.tensor<f32[4, 4]> {mx.name = "net.fc.w"}, !mx.tensor<f32[4]> {mx.name = "net.fc.b"}, !mx.tensor<f32[]> {mx.name = "net.t.0"}, !mx.tensor<i32[]> {mx.name = "net.t.1"}, !mx.tensor<f32[4]>)
// CHECK-NEXT: %[[B:.*]] = mx.add %arg1, %arg4
// CHECK-NEXT: mx.return %arg0, %[[B]], %arg2, %arg3, %arg4
mx.graph @borders(%net: !net {mx.mut, mx.name = "net"}, %x: !mx.tensor<f32[4]>) -> (!net {mx.name = "net"}, !mx.tensor<f32[4]>) {
  %fc = mx.get %net 0 : !net -> !dense
  %b = mx.get %fc 1 : !dense -> !mx.tensor<f32[4]>
  %c = mx.add %b, %x : (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
  %fd = mx.set %fc 1 = %c : (!dense, !mx.tensor<f32[4]>) -> !dense
  %out = mx.set %net 0 = %fd : (!net, !dense) -> !net
  %pair = mx.make (%x, %c) : (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>) -> !mx.aggregate<"" [] (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>)>
  %y = mx.get %pair 0 : !mx.aggregate<"" [] (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>)> -> !mx.tensor<f32[4]>
  mx.return %out, %y : !net, !mx.tensor<f32[4]>
}

// CHECK-LABEL: mx.graph @regions(
// CHECK: mx.while carries(%arg0, %arg1) : ({{.*}}) -> (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>) {
// CHECK: ^bb0(%{{.*}}: !mx.tensor<f32[4, 4]>, %{{.*}}: !mx.tensor<f32[4]>):
// CHECK: do
// CHECK: mx.if %{{.*}} : (!mx.tensor<bool[]>) -> (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>)
// CHECK: mx.yield %{{.*}}, %{{.*}} : !mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>
// CHECK: mx.yield %{{.*}}, %{{.*}} : !mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>
// CHECK-NOT: mx.{{make|get|set}}
mx.graph @regions(%d: !dense, %c: !mx.tensor<bool[]>) -> !dense {
  %out = mx.while carries (%d) : (!dense) -> !dense {
  ^bb0(%v: !dense):
    mx.yield %c : !mx.tensor<bool[]>
  } do {
  ^bb0(%v: !dense):
    %w = mx.get %v 0 : !dense -> !mx.tensor<f32[4, 4]>
    %b = mx.get %v 1 : !dense -> !mx.tensor<f32[4]>
    %next = mx.if %c : (!mx.tensor<bool[]>) -> !dense {
      %n = mx.neg %w : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]>
      %m = mx.make (%n, %b) : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>) -> !dense
      mx.yield %m : !dense
    } else {
      mx.yield %v : !dense
    }
    mx.yield %next : !dense
  }
  mx.return %out : !dense
}

// The loop picks elements, so it is written out: three matmuls, from the first to the last.
// CHECK-LABEL: mx.graph @layers(
// CHECK-SAME: %arg0: !mx.tensor<f32[4, 4]> {mx.name = "layers.0.w"}, %arg1: !mx.tensor<f32[4]> {mx.name = "layers.0.b"}
// CHECK-SAME: %arg4: !mx.tensor<f32[4, 4]> {mx.name = "layers.2.w"}
// CHECK-NOT: mx.for
// CHECK: %[[A:.*]] = mx.matmul %arg6, %arg0
// CHECK: %[[B:.*]] = mx.matmul %[[A]], %arg2
// CHECK: %[[C:.*]] = mx.matmul %[[B]], %arg4
// CHECK: mx.return %[[C]]
mx.graph @layers(%layers: !mx.array<!dense, <3>> {mx.name = "layers"}, %x: !mx.tensor<f32[2, 4]>) -> !mx.tensor<f32[2, 4]> {
  %zero = mx.constant 0 : i64 -> !host
  %n = mx.length %layers : !mx.array<!dense, <3>> -> !host
  %y = mx.for %zero to %n carries (%x) : (!host, !host, !mx.tensor<f32[2, 4]>) -> !mx.tensor<f32[2, 4]> {
  ^bb0(%i: !host, %v: !mx.tensor<f32[2, 4]>):
    %layer = mx.at %layers[%i] : (!mx.array<!dense, <3>>, !host) -> !dense
    %w = mx.get %layer 0 : !dense -> !mx.tensor<f32[4, 4]>
    %p = mx.matmul %v, %w : (!mx.tensor<f32[2, 4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[2, 4]>
    mx.yield %p : !mx.tensor<f32[2, 4]>
  }
  mx.return %y : !mx.tensor<f32[2, 4]>
}

// The twin: a loop that carries an array but does not index it with the iteration number stays a loop.
// CHECK-LABEL: mx.graph @carried(
// CHECK: mx.for %{{.*}} to %arg2 carries(%arg0, %arg1) : ({{.*}}) -> (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>)
// CHECK: ^bb0(%{{.*}}: {{.*}} on host>, %[[X:.*]]: !mx.tensor<f32[4]>, %[[Y:.*]]: !mx.tensor<f32[4]>):
// CHECK: %[[E:.*]] = mx.exp %[[Y]]
// CHECK: mx.yield %[[E]], %[[Y]]
mx.graph @carried(%a: !mx.array<!mx.tensor<f32[4]>, <2>>, %n: !host) -> !mx.array<!mx.tensor<f32[4]>, <2>> {
  %zero = mx.constant 0 : i64 -> !host
  %last = mx.constant -1 : i64 -> !host
  %y = mx.for %zero to %n carries (%a) : (!host, !host, !mx.array<!mx.tensor<f32[4]>, <2>>) -> !mx.array<!mx.tensor<f32[4]>, <2>> {
  ^bb0(%i: !host, %v: !mx.array<!mx.tensor<f32[4]>, <2>>):
    %e = mx.at %v[%last] : (!mx.array<!mx.tensor<f32[4]>, <2>>, !host) -> !mx.tensor<f32[4]>
    %f = mx.exp %e : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    %w = mx.set_at %v[%zero] = %f : (!mx.array<!mx.tensor<f32[4]>, <2>>, !host, !mx.tensor<f32[4]>) -> !mx.array<!mx.tensor<f32[4]>, <2>>
    mx.yield %w : !mx.array<!mx.tensor<f32[4]>, <2>>
  }
  mx.return %y : !mx.array<!mx.tensor<f32[4]>, <2>>
}

// Nested: the inner bound and the index depend on both loops. Names bound in the body are renewed.
// CHECK-LABEL: mx.graph @nested(
// CHECK-NOT: mx.for
// CHECK: mx.add %arg3, %arg0
// CHECK: mx.add %{{.*}}, %arg0
// CHECK: mx.add %{{.*}}, %arg1
// CHECK-NOT: mx.add
mx.graph @nested(%a: !mx.array<!mx.tensor<f32[]>, <3>>, %x: !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  %zero = mx.constant 0 : i64 -> !host
  %three = mx.constant 3 : i64 -> !host
  %y = mx.for %zero to %three carries (%x) : (!host, !host, !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  ^bb0(%i: !host, %v: !mx.tensor<f32[]>):
    %z = mx.for %zero to %i carries (%v) : (!host, !host, !mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
    ^bb0(%j: !host, %u: !mx.tensor<f32[]>):
      mx.bind_size "J" = %j : !host
      %e = mx.at %a[%j] : (!mx.array<!mx.tensor<f32[]>, <3>>, !host) -> !mx.tensor<f32[]>
      %s = mx.add %u, %e : (!mx.tensor<f32[]>, !mx.tensor<f32[]>) -> !mx.tensor<f32[]>
      mx.yield %s : !mx.tensor<f32[]>
    }
    mx.yield %z : !mx.tensor<f32[]>
  }
  mx.return %y : !mx.tensor<f32[]>
}

// An aggregate that is printed is rebuilt just before.
// CHECK-LABEL: mx.graph @shown(
// CHECK: %[[M:.*]] = mx.make(%arg0, %arg1)
// CHECK: mx.print %[[M]]
mx.graph @shown(%d: !dense) {
  mx.print %d : !dense
  mx.return
}

// CHECK-LABEL: mx.graph @undefined(
// CHECK: mx.undef : !mx.tensor<f32[4, 4]>
// CHECK: mx.undef : !mx.tensor<f32[4]>
mx.graph @undefined() -> !dense {
  %u = mx.undef : !dense
  mx.return %u : !dense
}

// CHECK-LABEL: mx.graph @nothing() attributes
// CHECK-NEXT: mx.return
mx.graph @nothing(%a: !mx.array<!mx.tensor<f32[]>, <0>>, %t: !mx.aggregate<"" []>) -> !mx.aggregate<"" []> {
  mx.return %t : !mx.aggregate<"" []>
}
