// RUN: mxc-opt %s --simplify | FileCheck %s
// The gradient of a table that is read twice is one scatter of both indices, while few rows are named.

!w = !mx.tensor<f32[40, 8]>
!i = !mx.tensor<i32[4]>
!m = !mx.tensor<i32[2, 3]>
!g = !mx.tensor<f32[4, 8]>
!gm = !mx.tensor<f32[2, 3, 8]>
!h = !mx.tensor<f32[] on host>

// CHECK-LABEL: mx.graph @twice
// CHECK: %[[ZEROS:.*]] = mx.full
// CHECK: %[[MANY:.*]] = mx.reshape %arg1 : {{.*}} -> <i32[6]>
// CHECK: %[[INDEX:.*]] = mx.concat %arg0, %[[MANY]] along 0 : {{.*}} -> !mx.tensor<i32[10]>
// CHECK: %[[FLAT:.*]] = mx.reshape %arg3 : {{.*}} -> <f32[6, 8]>
// CHECK: %[[ROWS:.*]] = mx.concat %arg2, %[[FLAT]] along 0 : {{.*}} -> !mx.tensor<f32[10, 8]>
// CHECK: %[[SUM:.*]] = mx.scatter_add %[[ZEROS]], %[[INDEX]], %[[ROWS]] along 0
// CHECK-NOT: mx.scatter_add
// CHECK: mx.return %[[SUM]]
mx.graph @twice(%i: !i, %m: !m, %g: !g, %gm: !gm) -> !w {
  %nothing = mx.constant 0.0 : f32 -> !h
  %zeros = mx.full %nothing : !h -> !w
  %a = mx.scatter_add %zeros, %i, %g along 0 : (!w, !i, !g) -> !w
  %b = mx.scatter_add %a, %m, %gm along 0 : (!w, !m, !gm) -> !w
  mx.return %b : !w
}

// Not where half of the rows are named, where the first sum has another use, where the table is not zero, or where the index has other
// elements.
// CHECK-LABEL: mx.graph @kept
// CHECK-NOT: mx.concat
// CHECK: mx.return
!v = !mx.tensor<f32[14, 8]>
!l = !mx.tensor<i64[4]>
mx.graph @kept(%x: !w, %i: !i, %l: !l, %g: !g) -> (!v, !w, !w, !w, !w) {
  %nothing = mx.constant 0.0 : f32 -> !h
  %few = mx.full %nothing : !h -> !v
  %f1 = mx.scatter_add %few, %i, %g along 0 : (!v, !i, !g) -> !v
  %f2 = mx.scatter_add %f1, %i, %g along 0 : (!v, !i, !g) -> !v
  %zeros = mx.full %nothing : !h -> !w
  %a1 = mx.scatter_add %zeros, %i, %g along 0 : (!w, !i, !g) -> !w
  %a2 = mx.scatter_add %a1, %i, %g along 0 : (!w, !i, !g) -> !w
  %x1 = mx.scatter_add %x, %i, %g along 0 : (!w, !i, !g) -> !w
  %x2 = mx.scatter_add %x1, %i, %g along 0 : (!w, !i, !g) -> !w
  %l1 = mx.scatter_add %zeros, %i, %g along 0 : (!w, !i, !g) -> !w
  %l2 = mx.scatter_add %l1, %l, %g along 0 : (!w, !l, !g) -> !w
  mx.return %f2, %a1, %a2, %x2, %l2 : !v, !w, !w, !w, !w
}
