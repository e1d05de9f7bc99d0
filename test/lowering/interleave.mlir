// RUN: mxc-opt %s --mx-lower-kernels=vector-bits=256 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: mxc-opt %s --mx-lower-kernels=vector-bits=512 | FileCheck %s --check-prefixes=CHECK,AVX512
// Loops over polynomials interleave four vectors; with 16 registers their coefficients are loaded where
// they are used. Sums interleave eight vectors (four of 512 bits), all lanes of them.

// CHECK: #[[FOUR:.*]] = #llvm.loop_interleave<count = 4 : i32>
// AVX2: #[[EIGHT:.*]] = #llvm.loop_interleave<count = 8 : i32>
// CHECK: #[[POLYNOMIAL:.*]] = #llvm.loop_annotation<interleave = #[[FOUR]]>
// AVX2: #[[LANES:.*]] = #llvm.loop_annotation<interleave = #[[EIGHT]]>

!m = !mx.tensor<f32[4, 1024]>

// CHECK-LABEL: llvm.func @polynomial(
// AVX2-SAME: passthrough = ["mx-loads-constants"]
// AVX512-NOT: passthrough
// CHECK: llvm.br {{.*}} {loop_annotation = #[[POLYNOMIAL]]}
// CHECK-NOT: annotation
// CHECK: llvm.return
mx.func @polynomial(%x: !m) -> !m {
  %k = mx.kernel(%x) attributes {sizes = []} : (!m) -> !m {
  ^bb0(%a: !m):
    %0 = mx.exp %a : (!m) -> !m
    mx.yield %0 : !m
  }
  mx.return %k : !m
}

// Few ops: LLVM decides.
// CHECK-LABEL: llvm.func @few(
// CHECK-NOT: passthrough
// CHECK-NOT: annotation
// CHECK: llvm.return
mx.func @few(%x: !m) -> !m {
  %k = mx.kernel(%x) attributes {sizes = []} : (!m) -> !m {
  ^bb0(%a: !m):
    %0 = mx.mul %a, %a : (!m, !m) -> !m
    mx.yield %0 : !m
  }
  mx.return %k : !m
}

!short = !mx.tensor<f32[4, 10]>

// No four vectors: most elements would be computed one by one.
// CHECK-LABEL: llvm.func @short(
// CHECK-NOT: passthrough
// CHECK-NOT: annotation
// CHECK: llvm.return
mx.func @short(%x: !short) -> !short {
  %k = mx.kernel(%x) attributes {sizes = []} : (!short) -> !short {
  ^bb0(%a: !short):
    %0 = mx.exp %a : (!short) -> !short
    mx.yield %0 : !short
  }
  mx.return %k : !short
}

!v = !mx.tensor<f32[4]>

// All 64 lanes.
// CHECK-LABEL: llvm.func @sum(
// CHECK-NOT: passthrough
// CHECK: llvm.fadd
// AVX2: {loop_annotation = #[[LANES]]}
// AVX512: {loop_annotation = #[[POLYNOMIAL]]}
// CHECK: llvm.return
mx.func @sum(%x: !m) -> !v {
  %k = mx.kernel(%x) attributes {sizes = []} : (!m) -> !v {
  ^bb0(%a: !m):
    %0 = mx.sum %a over [1] : !m -> !v
    mx.yield %0 : !v
  }
  mx.return %k : !v
}

// The largest element is found without looking at signs of zeros, which all signs together tell in the end.
// CHECK-LABEL: llvm.func @largest(
// CHECK: llvm.intr.maximum({{.*}}) {fastmathFlags = #llvm.fastmath<nsz>}
// CHECK: llvm.and
// CHECK: llvm.intr.copysign
// CHECK: llvm.intr.maximum({{.*}}) : (f32, f32) -> f32
// CHECK: llvm.return
mx.func @largest(%x: !m) -> !v {
  %k = mx.kernel(%x) attributes {sizes = []} : (!m) -> !v {
  ^bb0(%a: !m):
    %0 = mx.max %a over [1] : !m -> !v
    mx.yield %0 : !v
  }
  mx.return %k : !v
}
