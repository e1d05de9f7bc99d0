// RUN: mxc-opt %s --tile-chains="min-bytes=1 tile-bytes=256 min-rows=1" | FileCheck %s
// RUN: mxc-opt %s --tile-chains | FileCheck %s --check-prefix=SMALL
// Matrices between two products are computed in blocks of rows; not if they are small, if others read them, or if rows
// are not along the last axis.

!q = !mx.tensor<f32[2, 8, 4]>
!k = !mx.tensor<f32[2, 4, 16]>
!s = !mx.tensor<f32[2, 8, 16]>
!r = !mx.tensor<f32[2, 8, 1]>
!v = !mx.tensor<f32[2, 16, 4]>
!t = !mx.tensor<f32[2, 16, 8]>
!w = !mx.tensor<f32[2, 1, 4]>

// SMALL-NOT: mx.for

// 4 rows of 16 are 256 bytes.
// CHECK-LABEL: mx.graph @attention
// CHECK: mx.for
// CHECK: mx.slice %arg1 ["i", ":", ":"]
// CHECK: mx.for
// CHECK: mx.slice %arg0 ["i", "rft", ":"]{{.*}} -> !mx.tensor<f32[4, 4]>
// CHECK: mx.matmul {{.*}} -> !mx.tensor<f32[4, 16]>
// CHECK: mx.max {{.*}} over [1] keep
// CHECK: mx.update {{.*}} ["i", "rft", ":"]
// CHECK-NOT: f32[2, 8, 16]
// CHECK: mx.return
mx.graph @attention(%q: !q, %k: !k, %v: !v) -> !q {
  %s = mx.matmul %q, %k : (!q, !k) -> !s
  %m = mx.max %s over [2] keep : !s -> !r
  %d = mx.sub %s, %m : (!s, !r) -> !s
  %e = mx.exp %d : (!s) -> !s
  %t = mx.sum %e over [2] keep : !s -> !r
  %p = mx.div %e, %t : (!s, !r) -> !s
  %o = mx.matmul %p, %v : (!s, !v) -> !q
  mx.return %o : !q
}

// Sums over rows go on from block to block, and are stored after the last.
// CHECK-LABEL: mx.graph @sums
// CHECK: mx.for
// CHECK: %[[Z:.*]] = mx.full
// CHECK: mx.for {{.*}}carries(%[[Z]])
// CHECK: mx.matmul {{.*}} from
// CHECK: mx.yield
// CHECK: mx.update
mx.graph @sums(%q: !q, %k: !k) -> !v {
  %s = mx.matmul %q, %k : (!q, !k) -> !s
  %e = mx.tanh %s : (!s) -> !s
  %t = mx.transpose %e by [0, 2, 1] : !s -> !t
  %o = mx.matmul %t, %q : (!t, !q) -> !v
  mx.return %o : !v
}

// The second matmul needs what the first gives: rows are computed again, but not their largest element.
// CHECK-LABEL: mx.graph @twice
// CHECK: mx.for
// CHECK: mx.max
// CHECK: mx.add
// CHECK: mx.for
// CHECK: mx.matmul
// CHECK-NOT: mx.max
// CHECK: mx.return
mx.graph @twice(%q: !q, %k: !k, %v: !v) -> !q {
  %s = mx.matmul %q, %k : (!q, !k) -> !s
  %m = mx.max %s over [2] keep : !s -> !r
  %d = mx.sub %s, %m : (!s, !r) -> !s
  %e = mx.exp %d : (!s) -> !s
  %o = mx.matmul %e, %v : (!s, !v) -> !q
  %w = mx.sum %o over [1] keep : !q -> !w
  %u = mx.add %v, %w : (!v, !w) -> !v
  %n = mx.matmul %e, %u : (!s, !v) -> !q
  mx.return %n : !q
}

// The matrix is a result.
// CHECK-LABEL: mx.graph @read
// CHECK-NOT: mx.for
mx.graph @read(%q: !q, %k: !k, %v: !v) -> (!q, !s) {
  %s = mx.matmul %q, %k : (!q, !k) -> !s
  %e = mx.exp %s : (!s) -> !s
  %o = mx.matmul %e, %v : (!s, !v) -> !q
  mx.return %o, %e : !q, !s
}

// Columns are summed up.
// CHECK-LABEL: mx.graph @columns
// CHECK-NOT: mx.for
!c = !mx.tensor<f32[2, 1, 16]>
mx.graph @columns(%q: !q, %k: !k, %v: !v) -> !q {
  %s = mx.matmul %q, %k : (!q, !k) -> !s
  %m = mx.max %s over [1] keep : !s -> !c
  %d = mx.sub %s, %m : (!s, !c) -> !s
  %o = mx.matmul %d, %v : (!s, !v) -> !q
  mx.return %o : !q
}

// Nothing takes the matrix in.
// CHECK-LABEL: mx.graph @alone
// CHECK-NOT: mx.for
mx.graph @alone(%q: !q, %k: !k) -> !r {
  %s = mx.matmul %q, %k : (!q, !k) -> !s
  %m = mx.max %s over [2] keep : !s -> !r
  mx.return %m : !r
}

// Sums of 16 bits are rounded at their end: rows stay together.
!h = !mx.tensor<bf16[2, 8, 4]>
!g = !mx.tensor<bf16[2, 4, 16]>
!x = !mx.tensor<bf16[2, 8, 16]>
!y = !mx.tensor<bf16[2, 16, 8]>
!z = !mx.tensor<bf16[2, 16, 4]>
// CHECK-LABEL: mx.graph @short
// CHECK-NOT: from
// CHECK: mx.return
mx.graph @short(%q: !h, %k: !g) -> !z {
  %s = mx.matmul %q, %k : (!h, !g) -> !x
  %e = mx.tanh %s : (!x) -> !x
  %t = mx.transpose %e by [0, 2, 1] : !x -> !y
  %o = mx.matmul %t, %q : (!y, !h) -> !z
  mx.return %o : !z
}
