// RUN: mxc-opt %s --segment --split-input-file | FileCheck %s
// What a KVStore averages leaves a graph as rows and factors where the compiler knows them.

!kv = !mx.handle<"kv">
!t = !mx.tensor<f32[1000, 8]>
!s = !mx.tensor<f32[9, 8]>
!g = !mx.aggregate<"Net.grad" ["few", "twice", "most", "tied", "w"](!t, !t, !s, !t, !mx.tensor<f32[8, 4]>)>

// CHECK-LABEL: mx.func @step
// A known index that names few rows:
// CHECK:       %[[YES:.*]] = mx.constant true -> <bool[] on host>
// CHECK:       %[[FEW:.*]] = mx.make(%arg1, %arg2, %arg2, %{{.*}}, %[[YES]]) : {{.*}} -> !mx.aggregate<"mx.rows" ["index", "rows", "dense", "size", "sparse"]
// 2 N rows: the host decides.
// CHECK:       %[[TWICE:.*]] = mx.size <4*N>
// CHECK:       %[[ROWS:.*]] = mx.size <1000>
// CHECK:       %[[SPARSE:.*]] = mx.le %[[TWICE]], %[[ROWS]]
// CHECK:       %[[DENSE:.*]] = mx.if %[[SPARSE]] {mx.of_exchange}
// CHECK-NEXT:    mx.undef
// CHECK:       } else {
// CHECK-NEXT:    mx.call @step.segment(
// CHECK:       %[[CALL:.*]]:5 = mx.call @step.segment_0(
// CHECK:       %[[LIST:.*]] = mx.make(%[[CALL]]#3, %[[CALL]]#4, %[[DENSE]], %{{.*}}, %[[SPARSE]]) : (!mx.tensor<i32[2*N]>, !mx.tensor<f32[2*N, 8]>,
// CHECK-NOT:   mx.exchanged
// CHECK:       mx.native "mx.dist.average"(%arg0, %arg6, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[FEW]], %{{[0-9]+}}, %[[LIST]])
// CHECK:       mx.graph @step.segment_0(
mx.graph @step(%kv: !kv, %i: !mx.tensor<i32[3]>, %y: !mx.tensor<f32[3, 8]>, %n: !mx.tensor<i32[N]>,
               %z: !mx.tensor<f32[N, 8]>, %x: !mx.tensor<f32[N, 4]>, %w: !mx.tensor<f64[] on host>) -> !g attributes {sizes = ["N"]} {
  %zero = mx.constant 0.0 : f32 -> <f32[] on host>
  %zeros = mx.full %zero : !mx.tensor<f32[] on host> -> <f32[1000, 8]>
  %none = mx.full %zero : !mx.tensor<f32[] on host> -> <f32[9, 8]>
  %few = mx.scatter_add %zeros, %i, %y along 0 : (!t, !mx.tensor<i32[3]>, !mx.tensor<f32[3, 8]>) -> !t
  %once = mx.scatter_add %zeros, %n, %z along 0 : (!t, !mx.tensor<i32[N]>, !mx.tensor<f32[N, 8]>) -> !t
  %twice = mx.scatter_add %once, %n, %z along 0 : (!t, !mx.tensor<i32[N]>, !mx.tensor<f32[N, 8]>) -> !t
  %most = mx.scatter_add %none, %i, %y along 0 : (!s, !mx.tensor<i32[3]>, !mx.tensor<f32[3, 8]>) -> !s
  %five = mx.scatter_add %most, %i, %y along 0 : (!s, !mx.tensor<i32[3]>, !mx.tensor<f32[3, 8]>) -> !s
  %tied = mx.add %few, %few : (!t, !t) -> !t
  %u = mx.transpose %z by [1, 0] : <f32[N, 8]> -> <f32[8, N]>
  %dw = mx.matmul %u, %x : (!mx.tensor<f32[8, N]>, !mx.tensor<f32[N, 4]>) -> !mx.tensor<f32[8, 4]>
  %g = mx.make(%few, %twice, %five, %tied, %dw) : (!t, !t, !s, !t, !mx.tensor<f32[8, 4]>) -> !g
  %name = mx.text "net" : !mx.str
  %mean = mx.native "mx.dist.average"(%kv, %w, %name, %g) : (!kv, !mx.tensor<f64[] on host>, !mx.str, !g) -> !mx.aggregate<"" [](!g)>
  %out = mx.get %mean 0 : <"" [](!g)> -> !g
  mx.return %out : !g
}

// -----

// A program that may ask for factors: each product travels as both matrices, or is made by the host.
!kv = !mx.handle<"kv">
!m = !mx.tensor<f32[8, 4]>
// CHECK-LABEL: mx.func @dense
// CHECK:       %[[ALL:.*]] = mx.native "mx.dist.factors"(%arg0, %arg3, %{{.*}}, %arg1, %arg2)
// CHECK:       %[[TRAVEL:.*]] = mx.native "mx.dist.factors_travel"(%[[ALL]], %[[KEY:[0-9]+]])
// CHECK:       mx.if %[[TRAVEL]] {mx.of_exchange}
// CHECK:         mx.native "mx.dist.factor_rows"(%[[ALL]], %[[KEY]], %{{.*}})
// CHECK:         mx.bind_size "kv.rows0"
// CHECK:         mx.native "mx.dist.factor_pair"(%[[ALL]], %[[KEY]], %{{.*}}) : {{.*}}f32[kv.rows0, 8]
// CHECK:         mx.native "mx.dist.weights"(%[[ALL]])
// CHECK:         mx.call @dense.segment
// CHECK:         mx.for {{.*}}mx.of_exchange
// CHECK:           mx.bind_size "kv.rows1"
// CHECK:           mx.call @dense.segment
// CHECK:       } else {
// CHECK-NEXT:    mx.call @dense.segment{{.*}}(%arg1, %arg2)
// CHECK:       mx.make(%{{.*}}, %[[TRAVEL]]) : {{.*}} -> !mx.aggregate<"mx.exchanged" ["value", "done"]
// CHECK:       mx.native "mx.dist.average"
mx.graph @dense(%kv: !kv, %x: !mx.tensor<f32[N, 8]>, %d: !mx.tensor<f32[N, 4]>, %w: !mx.tensor<f64[] on host>) -> !m attributes {sizes = ["N"]} {
  %u = mx.transpose %x by [1, 0] : <f32[N, 8]> -> <f32[8, N]>
  %dw = mx.matmul %u, %d : (!mx.tensor<f32[8, N]>, !mx.tensor<f32[N, 4]>) -> !m
  %name = mx.text "w" : !mx.str
  %mean = mx.native "mx.dist.average"(%kv, %w, %name, %dw) : (!kv, !mx.tensor<f64[] on host>, !mx.str, !m) -> !mx.aggregate<"" [](!m)>
  %out = mx.get %mean 0 : <"" [](!m)> -> !m
  mx.return %out : !m
}
mx.func @factors() -> !mx.str attributes {sizes = []} {
  %name = mx.text "factors" : !mx.str
  mx.return %name : !mx.str
}
