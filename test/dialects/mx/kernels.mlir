// RUN: mxc-opt %s --split-input-file | FileCheck %s
// The kind, the iteration space and the inputs that may be overwritten follow from the body; text that leaves them out gets
// them when it is parsed.

!m = !mx.tensor<f32[4, 8]>
!r = !mx.tensor<f32[4, 1]>
!i = !mx.tensor<i64[2]>

mx.func @f(%x: !m, %y: !m, %w: !mx.tensor<f32[8, 8]>, %i: !i, %v: !mx.tensor<f32[2, 8]>) attributes {sizes = []} {
  // Either input may be overwritten by either output.
  // CHECK: mx.kernel(%arg0, %arg1) elementwise [4, 8] overwrites {{\[\[}}0, 1], [0, 1]] :
  %0:2 = mx.kernel(%x, %y) : (!m, !m) -> (!m, !m) {
  ^bb0(%a: !m, %b: !m):
    %s = mx.add %a, %b : (!m, !m) -> !m
    %t = mx.neg %s : (!m) -> !m
    mx.yield %s, %t : !m, !m
  }
  // Its twin: the elements of one input are read at other indices.
  // CHECK: mx.kernel(%arg2) elementwise [8, 8] overwrites {{\[\[}}]] :
  %1 = mx.kernel(%w) : (!mx.tensor<f32[8, 8]>) -> !mx.tensor<f32[8, 8]> {
  ^bb0(%a: !mx.tensor<f32[8, 8]>):
    %s = mx.transpose %a by [1, 0] : !mx.tensor<f32[8, 8]> -> !mx.tensor<f32[8, 8]>
    %t = mx.add %a, %s : (!mx.tensor<f32[8, 8]>, !mx.tensor<f32[8, 8]>) -> !mx.tensor<f32[8, 8]>
    mx.yield %t : !mx.tensor<f32[8, 8]>
  }
  // CHECK: mx.kernel(%arg0) reduce [4, 8] overwrites {{\[\[}}], []] :
  %2:2 = mx.kernel(%x) : (!m) -> (!m, !r) {
  ^bb0(%a: !m):
    %s = mx.neg %a : (!m) -> !m
    %t = mx.sum %s over [1] keep : !m -> !r
    mx.yield %s, %t : !m, !r
  }
  // CHECK: mx.kernel(%arg0) rows [4, 8] overwrites {{\[\[}}0]] :
  %3 = mx.kernel(%x) : (!m) -> !m {
  ^bb0(%a: !m):
    %s = mx.sum %a over [1] keep : !m -> !r
    %t = mx.div %a, %s : (!m, !r) -> !m
    mx.yield %t : !m
  }
  // The epilogue's operand, but not the matmul's.
  // CHECK: mx.kernel(%arg0, %arg2, %arg1) matmul [4, 8] overwrites {{\[\[}}2]] :
  %4 = mx.kernel(%x, %w, %y) : (!m, !mx.tensor<f32[8, 8]>, !m) -> !m {
  ^bb0(%a: !m, %b: !mx.tensor<f32[8, 8]>, %c: !m):
    %s = mx.matmul %a, %b : (!m, !mx.tensor<f32[8, 8]>) -> !m
    %t = mx.add %s, %c : (!m, !m) -> !m
    mx.yield %t : !m
  }
  // CHECK: mx.kernel(%arg0, %arg3) gather [2, 8] overwrites {{\[\[}}]] :
  %5 = mx.kernel(%x, %i) : (!m, !i) -> !mx.tensor<f32[2, 8]> {
  ^bb0(%a: !m, %b: !i):
    %s = mx.take %a, %b along 0 : (!m, !i) -> !mx.tensor<f32[2, 8]>
    mx.yield %s : !mx.tensor<f32[2, 8]>
  }
  // CHECK: mx.kernel(%arg0, %arg3, %arg4) scatter [4, 8] overwrites {{\[\[}}0]] :
  %6 = mx.kernel(%x, %i, %v) : (!m, !i, !mx.tensor<f32[2, 8]>) -> !m {
  ^bb0(%a: !m, %b: !i, %c: !mx.tensor<f32[2, 8]>):
    %s = mx.scatter_add %a, %b, %c along 0 : (!m, !i, !mx.tensor<f32[2, 8]>) -> !m
    mx.yield %s : !m
  }
  // The rest of what is updated stays, so it is written in place; but not if the new part is computed from it.
  // CHECK: mx.kernel(%arg0, %arg1) move [4, 8] overwrites {{\[\[}}0]] :
  %7 = mx.kernel(%x, %y) : (!m, !m) -> !m {
  ^bb0(%a: !m, %b: !m):
    %s = mx.update %a, %b [":", ":"] at () : (!m, !m) -> !m
    mx.yield %s : !m
  }
  // CHECK: mx.kernel(%arg0) move [4, 8] overwrites {{\[\[}}]] :
  %8 = mx.kernel(%x) : (!m) -> !m {
  ^bb0(%a: !m):
    %s = mx.neg %a : (!m) -> !m
    %t = mx.update %a, %s [":", ":"] at () : (!m, !m) -> !m
    mx.yield %t : !m
  }
  // Inputs with strides of their own never share memory with an output.
  // CHECK: mx.kernel(%arg0) elementwise [4, 8] overwrites {{\[\[}}]] attributes {strided = array<i1: true>} :
  %9 = mx.kernel(%x) attributes {strided = array<i1: true>} : (!m) -> !m {
  ^bb0(%a: !m):
    %s = mx.neg %a : (!m) -> !m
    mx.yield %s : !m
  }
  // A kernel may say less than its body allows.
  // CHECK: mx.kernel(%arg0) elementwise [4, 8] overwrites {{\[\[}}]] :
  %10 = mx.kernel(%x) elementwise [4, 8] overwrites [[]] : (!m) -> !m {
  ^bb0(%a: !m):
    %s = mx.neg %a : (!m) -> !m
    mx.yield %s : !m
  }
  mx.return
}

// -----

// Open sizes; no outputs; no axes.
mx.func @g(%x: !mx.tensor<f32[N, N - 1]>, %y: !mx.tensor<f32[]>) attributes {sizes = ["N"]} {
  // CHECK: mx.kernel(%arg0) elementwise [N, N - 1] overwrites {{\[\[}}0]] attributes {sizes = ["N"]} :
  %0 = mx.kernel(%x) attributes {sizes = ["N"]} : (!mx.tensor<f32[N, N - 1]>) -> !mx.tensor<f32[N, N - 1]> {
  ^bb0(%a: !mx.tensor<f32[N, N - 1]>):
    %s = mx.neg %a : (!mx.tensor<f32[N, N - 1]>) -> !mx.tensor<f32[N, N - 1]>
    mx.yield %s : !mx.tensor<f32[N, N - 1]>
  }
  // CHECK: mx.kernel() elementwise [] overwrites [] :
  mx.kernel() : () -> () {
    mx.yield
  }
  // CHECK: mx.kernel(%arg1) elementwise [] overwrites {{\[\[}}0]] :
  %1 = mx.kernel(%y) : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]> {
  ^bb0(%a: !mx.tensor<f32[]>):
    %s = mx.neg %a : (!mx.tensor<f32[]>) -> !mx.tensor<f32[]>
    mx.yield %s : !mx.tensor<f32[]>
  }
  mx.return
}
