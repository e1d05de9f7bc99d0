// RUN: mxc-opt %s --split-input-file --verify-diagnostics
// A kernel whose kind, iteration space or overwritten inputs are not those of its body is refused.

!m = !mx.tensor<f32[4, 4]>

mx.func @wrong_kind(%x: !m) attributes {sizes = []} {
  // expected-error @+1 {{is of the kind reduce, but its body is of the kind elementwise}}
  %0 = mx.kernel(%x) reduce [4, 4] overwrites [[]] : (!m) -> !m {
  ^bb0(%a: !m):
    %s = mx.neg %a : (!m) -> !m
    mx.yield %s : !m
  }
  mx.return
}

// -----

// The order of stores of a reduction is not that of rows.
mx.func @not_rows(%x: !mx.tensor<f32[4, 4]>) attributes {sizes = []} {
  // expected-error @+1 {{is of the kind rows, but its body is of the kind reduce}}
  %0:2 = mx.kernel(%x) rows [4, 4] overwrites [[0], []] : (!mx.tensor<f32[4, 4]>) -> (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>) {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    %s = mx.neg %a : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]>
    %t = mx.sum %a over [1] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4]>
    mx.yield %s, %t : !mx.tensor<f32[4, 4]>, !mx.tensor<f32[4]>
  }
  mx.return
}

// -----

mx.func @wrong_space(%x: !mx.tensor<f32[4, 4]>) attributes {sizes = []} {
  // expected-error @+1 {{does not have the iteration space of its body}}
  %0 = mx.kernel(%x) reduce [4] overwrites [[]] : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    %t = mx.sum %a over [1] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4]>
    mx.yield %t : !mx.tensor<f32[4]>
  }
  mx.return
}

// -----

mx.func @read_after_store(%x: !mx.tensor<f32[4, 4]>) attributes {sizes = []} {
  // expected-error @+1 {{reads input 0 after it stored output 0, which must not overwrite it}}
  %0 = mx.kernel(%x) elementwise [4, 4] overwrites [[0]] : (!mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    %s = mx.transpose %a by [1, 0] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4, 4]>
    mx.yield %s : !mx.tensor<f32[4, 4]>
  }
  mx.return
}

// -----

mx.func @operand_of_matmul(%x: !mx.tensor<f32[4, 4]>, %y: !mx.tensor<f32[4, 4]>) attributes {sizes = []} {
  // expected-error @+1 {{reads input 1 after it stored output 0, which must not overwrite it}}
  %0 = mx.kernel(%x, %y) matmul [4, 4] overwrites [[1]] : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]> {
  ^bb0(%a: !mx.tensor<f32[4, 4]>, %b: !mx.tensor<f32[4, 4]>):
    %s = mx.matmul %a, %b : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %s : !mx.tensor<f32[4, 4]>
  }
  mx.return
}

// -----

mx.func @unknown_input(%x: !mx.tensor<f32[4]>) attributes {sizes = []} {
  // expected-error @+1 {{reads input 3 after it stored output 0, which must not overwrite it}}
  %0 = mx.kernel(%x) elementwise [4] overwrites [[3]] : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    %s = mx.neg %a : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
  mx.return
}

// -----

mx.func @too_many_lists(%x: !mx.tensor<f32[4]>) attributes {sizes = []} {
  // expected-error @+1 {{has 1 outputs, but `overwrites` lists 2}}
  %0 = mx.kernel(%x) elementwise [4] overwrites [[], []] : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    %s = mx.neg %a : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
  mx.return
}

// -----

mx.func @mixed(%x: !mx.tensor<f32[4, 4]>) attributes {sizes = []} {
  %0:2 = mx.kernel(%x) : (!mx.tensor<f32[4, 4]>) -> (!mx.tensor<f32[4]>, !mx.tensor<f32[4, 4]>) {
  ^bb0(%a: !mx.tensor<f32[4, 4]>):
    %s = mx.sum %a over [1] : !mx.tensor<f32[4, 4]> -> !mx.tensor<f32[4]>
    // expected-error @+1 {{is in one kernel with ops of the kind reduce}}
    %t = mx.matmul %a, %a : (!mx.tensor<f32[4, 4]>, !mx.tensor<f32[4, 4]>) -> !mx.tensor<f32[4, 4]>
    mx.yield %s, %t : !mx.tensor<f32[4]>, !mx.tensor<f32[4, 4]>
  }
  mx.return
}

// -----

// In place, but not over an input that the kernel lists.
mx.func @over(%x: !mx.tensor<f32[4]>) attributes {sizes = []} {
  // expected-error @+1 {{stores output 0 over input 0, which `overwrites` does not list}}
  %0 = mx.kernel(%x) elementwise [4] overwrites [[]] attributes {mx.over = array<i64: 0>} : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]> {
  ^bb0(%a: !mx.tensor<f32[4]>):
    %s = mx.neg %a : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }
  mx.return
}

// -----

mx.func @twice(%x: !mx.tensor<f32[4]>) attributes {sizes = []} {
  // expected-error @+1 {{stores two outputs over input 0}}
  %0:2 = mx.kernel(%x) attributes {mx.over = array<i64: 0, 0>} : (!mx.tensor<f32[4]>) -> (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>) {
  ^bb0(%a: !mx.tensor<f32[4]>):
    %s = mx.neg %a : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    %t = mx.exp %a : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s, %t : !mx.tensor<f32[4]>, !mx.tensor<f32[4]>
  }
  mx.return
}

// -----

// The generic form is as it is written.
mx.func @unclassified(%x: !mx.tensor<f32[4]>) attributes {sizes = []} {
  // expected-error @+1 {{is not classified}}
  %0 = "mx.kernel"(%x) ({
  ^bb0(%a: !mx.tensor<f32[4]>):
    %s = mx.neg %a : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
    mx.yield %s : !mx.tensor<f32[4]>
  }) : (!mx.tensor<f32[4]>) -> !mx.tensor<f32[4]>
  mx.return
}
