// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(fuse))" | FileCheck %s
// RUN: mxc-opt %s --pass-pipeline="builtin.module(mx.graph(fuse{explain=true}))" 2>&1 >%t | FileCheck %s --check-prefix=WHY
// What stays apart, and why.

!v = !mx.tensor<f32[N]>
!m = !mx.tensor<f32[N, D]>
!c = !mx.tensor<f32[N, 1]>
!q = !mx.tensor<f32[N, N]>
!i = !mx.tensor<i32[N]>

// Nothing connects the two chains, so they may run at once.
// CHECK-LABEL: mx.graph @independent
// CHECK-COUNT-2: mx.kernel
mx.graph @independent(%x: !v, %y: !v) -> (!v, !v) attributes {sizes = ["N"]} {
  %a = mx.exp %x : (!v) -> !v
  %b = mx.sin %y : (!v) -> !v
  %c = mx.neg %a : (!v) -> !v
  %d = mx.neg %b : (!v) -> !v
  mx.return %c, %d : !v, !v
}

// CHECK-LABEL: mx.graph @twoSpaces
// CHECK-COUNT-2: mx.kernel
// WHY: remark: {{.*}} not fused: their iteration spaces differ
// WHY: note: with the kernel that ends here
mx.graph @twoSpaces(%x: !mx.tensor<f32[D]>, %y: !m) -> !m attributes {sizes = ["N", "D"]} {
  %e = mx.exp %x : (!mx.tensor<f32[D]>) -> !mx.tensor<f32[D]>
  %s = mx.add %y, %e : (!m, !mx.tensor<f32[D]>) -> !m
  mx.return %s : !m
}

// CHECK-LABEL: mx.graph @wholeReductionFirst
// CHECK-COUNT-2: mx.kernel
// WHY: remark: {{.*}} not fused: it needs the whole reduction first
mx.graph @wholeReductionFirst(%x: !m) -> !m attributes {sizes = ["N", "D"]} {
  %e = mx.exp %x : (!m) -> !m
  %s = mx.sum %e over [0] keep : !m -> !mx.tensor<f32[1, D]>
  %y = mx.div %e, %s : (!m, !mx.tensor<f32[1, D]>) -> !m
  mx.return %y : !m
}

// CHECK-LABEL: mx.graph @longRows
// CHECK-COUNT-2: mx.kernel
// WHY: remark: {{.*}} not fused: its rows are too long to be kept in the cache
mx.graph @longRows(%x: !mx.tensor<f32[2, 100000]>) -> !mx.tensor<f32[2, 100000]> attributes {sizes = []} {
  %s = mx.sum %x over [1] keep : !mx.tensor<f32[2, 100000]> -> !mx.tensor<f32[2, 1]>
  %y = mx.div %x, %s : (!mx.tensor<f32[2, 100000]>, !mx.tensor<f32[2, 1]>) -> !mx.tensor<f32[2, 100000]>
  mx.return %y : !mx.tensor<f32[2, 100000]>
}

// The number of a row becomes that of a column.
// CHECK-LABEL: mx.graph @alongColumns
// CHECK-COUNT-2: mx.kernel
// WHY: remark: {{.*}} not fused: a result of each row is read along the columns
mx.graph @alongColumns(%x: !q) -> !q attributes {sizes = ["N"]} {
  %s = mx.sum %x over [1] : !q -> !mx.tensor<f32[N]>
  %y = mx.div %x, %s : (!q, !mx.tensor<f32[N]>) -> !q
  mx.return %y : !q
}

// CHECK-LABEL: mx.graph @otherRows
// CHECK: mx.transpose
// WHY: remark: {{.*}} not fused: it reads elements of other rows
mx.graph @otherRows(%x: !q) -> !mx.tensor<f32[N]> attributes {sizes = ["N"]} {
  %s = mx.sum %x over [1] keep : !q -> !mx.tensor<f32[N, 1]>
  %y = mx.div %x, %s : (!q, !mx.tensor<f32[N, 1]>) -> !q
  %t = mx.transpose %y by [1, 0] : !q -> !q
  %z = mx.max %t over [1] : !q -> !mx.tensor<f32[N]>
  mx.return %z : !mx.tensor<f32[N]>
}

// The transposed value is another element of the same kernel's result.
// CHECK-LABEL: mx.graph @transposed
// CHECK-COUNT-2: mx.kernel
// CHECK-NOT: mx.kernel
// WHY: remark: {{.*}} not fused: another op has to run between them
mx.graph @transposed(%x: !q) -> !q attributes {sizes = ["N"]} {
  %e = mx.exp %x : (!q) -> !q
  %t = mx.transpose %e by [1, 0] : !q -> !q
  %s = mx.add %e, %t : (!q, !q) -> !q
  mx.return %s : !q
}

// A matmul needs all of its operand; its result has two uses.
// CHECK-LABEL: mx.graph @matmul
// CHECK: mx.exp
// CHECK: mx.kernel
// CHECK: mx.matmul
// CHECK: mx.kernel
// WHY: remark: {{.*}} not fused: the matmul has more than one use
mx.graph @matmul(%x: !q) -> (!q, !q) attributes {sizes = ["N"]} {
  %e = mx.exp %x : (!q) -> !q
  %p = mx.matmul %e, %x : (!q, !q) -> !q
  %n = mx.neg %p : (!q) -> !q
  mx.return %p, %n : !q, !q
}

// The reshape has to run between the two, so they cannot be one kernel.
// CHECK-LABEL: mx.graph @cycle
// CHECK: mx.kernel(%arg0)
// CHECK: mx.exp
// CHECK: mx.kernel
// CHECK: mx.reshape
// CHECK: mx.kernel
// CHECK: mx.take
// CHECK: mx.kernel
// CHECK: mx.add
// WHY: remark: {{.*}} not fused: {{.*}}
mx.graph @cycle(%x: !v, %j: !i) -> !v attributes {sizes = ["N"]} {
  %e = mx.exp %x : (!v) -> !v
  %r = mx.reshape %e : !v -> !c
  %f = mx.reshape %r : !c -> !v
  %g = mx.take %f, %j along 0 : (!v, !i) -> !v
  %s = mx.add %e, %g : (!v, !v) -> !v
  mx.return %s : !v
}

// An integer division may fail, which is to be seen after the first line and before the second; the
// remainder after that.
// CHECK-LABEL: mx.graph @order
// CHECK: mx.kernel
// CHECK: mx.neg
// CHECK: mx.print
// CHECK: mx.kernel
// CHECK: mx.floordiv
// CHECK: mx.print
// CHECK: mx.kernel
// CHECK: mx.mod
// WHY: remark: {{.*}} not fused: another op has to run between them
mx.graph @order(%x: !i, %y: !i) -> !i attributes {sizes = ["N"]} {
  %a = mx.neg %x : (!i) -> !i
  mx.print %a : !i
  %b = mx.floordiv %a, %y : (!i, !i) -> !i
  mx.print %b : !i
  %c = mx.mod %b, %y : (!i, !i) -> !i
  mx.return %c : !i
}

// A division in a branch stays in the branch.
// CHECK-LABEL: mx.graph @branch
// CHECK: mx.if
// CHECK-NEXT: mx.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: mx.floordiv
// CHECK: mx.kernel
// CHECK: mx.neg
mx.graph @branch(%x: !i, %y: !i, %c: !mx.tensor<bool[]>) -> !i attributes {sizes = ["N"]} {
  %a = mx.if %c : (!mx.tensor<bool[]>) -> !i {
    %b = mx.floordiv %x, %y : (!i, !i) -> !i
    mx.yield %b : !i
  } else {
    mx.yield %x : !i
  }
  %n = mx.neg %a : (!i) -> !i
  mx.return %n : !i
}

// CHECK-LABEL: mx.graph @devices
// CHECK: mx.kernel
// CHECK: mx.to
// CHECK: mx.kernel
mx.graph @devices(%x: !v) -> !mx.tensor<f32[N] on "cpu:1"> attributes {sizes = ["N"]} {
  %a = mx.exp %x : (!v) -> !v
  %b = mx.to %a : !v -> !mx.tensor<f32[N] on "cpu:1">
  %c = mx.neg %b : (!mx.tensor<f32[N] on "cpu:1">) -> !mx.tensor<f32[N] on "cpu:1">
  mx.return %c : !mx.tensor<f32[N] on "cpu:1">
}

// A size that is bound between two kernels stays before the one that uses it.
// CHECK-LABEL: mx.graph @boundSize
// CHECK: mx.kernel
// CHECK: mx.bind_size "K"
// CHECK: mx.kernel({{.*}}) elementwise [K] overwrites {{.*}} attributes {sizes = ["N", "K"]}
// CHECK: mx.slice
mx.graph @boundSize(%x: !v, %k: !mx.tensor<i64[] on host>) -> !mx.tensor<f32[K]> attributes {sizes = ["N"]} {
  %a = mx.exp %x : (!v) -> !v
  mx.bind_size "K" = %k : !mx.tensor<i64[] on host>
  %b = mx.slice %a ["rt"] at (%k) : (!v, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[K]>
  mx.return %b : !mx.tensor<f32[K]>
}
