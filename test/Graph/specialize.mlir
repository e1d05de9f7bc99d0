// RUN: mxc-opt %s --specialize=sizes=N=128,H=4 | FileCheck %s
// RUN: mxc-opt %s --specialize="sizes=N=128,H=4 graph=plain suffix=.v1" | FileCheck %s --check-prefix=COPY
// RUN: not mxc-opt %s --specialize=sizes=N=128 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not mxc-opt %s --specialize=sizes=N=128,H=9223372036854775807 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not mxc-opt %s --specialize=sizes=N 2>&1 | FileCheck %s --check-prefix=FORM
// Numbers stand where names stood; what they decide is folded.

// MISSING: specialize.mlir:[[#@LINE+17]]:1: error: the size "H" has no value
// LARGE: error: R0103 the size #mx.size<2*H> is too large or divides by 0 here
// FORM: error: `N` is not of the form N=128

// CHECK-LABEL: mx.graph @plain(%arg0: !mx.tensor<f32[128, 8]>) -> (!mx.tensor<f32[128]>, !mx.tensor<i64[] on host>) attributes {sizes = []}
// CHECK-NOT: mx.size
// CHECK-NOT: mx.if
// CHECK-NOT: mx.bind_size
// CHECK: %[[N:.*]] = mx.constant 130 : i64
// CHECK: mx.call @f(%arg0) sizes [#mx.size<128>, #mx.size<16>]
// CHECK: mx.slice {{.*}} -> !mx.tensor<f32[130, 8]>
// CHECK: mx.return {{.*}}, %[[N]]

// COPY: mx.graph @plain(%arg0: !mx.tensor<f32[N, 2*H]>)
// COPY: mx.graph @plain.v1(%arg0: !mx.tensor<f32[128, 8]>)
// COPY: mx.graph @open(%arg0: !mx.tensor<f32[N, H]>)
mx.func private @f(!mx.tensor<f32[A, B]>) -> !mx.tensor<f32[A, B]> attributes {sizes = ["A", "B"]}
mx.graph @plain(%x: !mx.tensor<f32[N, 2*H]>) -> (!mx.tensor<f32[N]>, !mx.tensor<i64[] on host>) attributes {sizes = ["N", "H"]} {
  %n = mx.size <N> -> !mx.tensor<i64[] on host>
  %two = mx.constant 2 : i64 -> !mx.tensor<i64[] on host>
  %m = mx.add %n, %two : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>) -> !mx.tensor<i64[] on host>
  mx.bind_size "K" = %m : !mx.tensor<i64[] on host>
  %less = mx.lt %n, %m : (!mx.tensor<i64[] on host>, !mx.tensor<i64[] on host>) -> !mx.tensor<bool[] on host>
  %y = mx.if %less : (!mx.tensor<bool[] on host>) -> !mx.tensor<f32[N, 2*H]> {
    %c = mx.call @f (%x) sizes [#mx.size<N>, #mx.size<4*H>] : (!mx.tensor<f32[N, 2*H]>) -> !mx.tensor<f32[N, 2*H]>
    mx.yield %c : !mx.tensor<f32[N, 2*H]>
  } else {
    mx.yield %x : !mx.tensor<f32[N, 2*H]>
  }
  %p = mx.slice %y ["rt", ":"] at (%m) : (!mx.tensor<f32[N, 2*H]>, !mx.tensor<i64[] on host>) -> !mx.tensor<f32[K, 2*H]>
  mx.print %p : !mx.tensor<f32[K, 2*H]>
  %s = mx.sum %y over [1] : !mx.tensor<f32[N, 2*H]> -> !mx.tensor<f32[N]>
  mx.return %s, %m : !mx.tensor<f32[N]>, !mx.tensor<i64[] on host>
}

// CHECK-LABEL: mx.graph @open(%arg0: !mx.tensor<f32[N, 4]>) -> !mx.tensor<f32[N, 4]>
// CHECK-SAME: attributes {mx.dyn = {N = 1024 : i64}, sizes = ["N"]}
mx.graph @open(%x: !mx.tensor<f32[N, H]>) -> !mx.tensor<f32[N, H]> attributes {sizes = ["N", "H"], mx.dyn = {N = 1024}} {
  %y = mx.neg %x : (!mx.tensor<f32[N, H]>) -> !mx.tensor<f32[N, H]>
  mx.return %y : !mx.tensor<f32[N, H]>
}
