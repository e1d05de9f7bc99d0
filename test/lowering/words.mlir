// Products of bf16 by instructions of the CPU: with tiles the system is asked, and the product of f32 stands beside them; vectors need no
// permission. Other types, and CPUs without such instructions, have neither.
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512 words=tiles" | FileCheck %s --check-prefixes=TILES
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512 words=dots" | FileCheck %s --check-prefixes=DOTS
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512 words=emulated-amx" | FileCheck %s --check-prefixes=IMITATED
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512" | FileCheck %s --check-prefixes=NONE
// RUN: not mxc-opt %s "--mx-lower-kernels=words=some"

// TILES-LABEL: llvm.func @halfs
// TILES:         llvm.mlir.constant(18 : i32)
// TILES:         %[[MAY:.*]] = llvm.call @mxrt_may_use_state
// TILES:         llvm.icmp "ne" %[[MAY]]
// TILES:         llvm.cond_br
// TILES:         llvm.call @halfs.words32(
// TILES:       llvm.func internal @halfs.part1
// TILES:         llvm.fmul {{.*}} : vector<16xf32>
// TILES:       llvm.func internal @halfs.words32({{.*}}no_inline
// TILES-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// TILES-NOT:     tdpbf16ps
// TILES-LABEL: llvm.func @floats
// TILES-NOT:     {{words|mxrt_may_use_state}}
// DOTS-LABEL:  llvm.func @halfs
// DOTS-NOT:      mxrt_may_use_state
// DOTS-COUNT-16: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// DOTS-NOT:      dpbf16ps
// IMITATED-LABEL: llvm.func @halfs
// IMITATED:       llvm.call @mxrt_may_use_state
// IMITATED-NOT:   llvm.x86.
// NONE-NOT:    {{words|mxrt_may_use_state|llvm.x86}}
mx.func @halfs(%x: !mx.tensor<bf16[64, 96]>, %y: !mx.tensor<bf16[96, 64]>) -> !mx.tensor<bf16[64, 64]> attributes {sizes = []} {
  %k = mx.kernel(%x, %y) attributes {sizes = []} : (!mx.tensor<bf16[64, 96]>, !mx.tensor<bf16[96, 64]>) -> !mx.tensor<bf16[64, 64]> {
  ^bb0(%a: !mx.tensor<bf16[64, 96]>, %b: !mx.tensor<bf16[96, 64]>):
    %0 = mx.matmul %a, %b : (!mx.tensor<bf16[64, 96]>, !mx.tensor<bf16[96, 64]>) -> !mx.tensor<bf16[64, 64]>
    mx.yield %0 : !mx.tensor<bf16[64, 64]>
  }
  mx.return %k : !mx.tensor<bf16[64, 64]>
}
mx.func @floats(%x: !mx.tensor<f32[64, 96]>, %y: !mx.tensor<f32[96, 64]>) -> !mx.tensor<f32[64, 64]> attributes {sizes = []} {
  %k = mx.kernel(%x, %y) attributes {sizes = []} : (!mx.tensor<f32[64, 96]>, !mx.tensor<f32[96, 64]>) -> !mx.tensor<f32[64, 64]> {
  ^bb0(%a: !mx.tensor<f32[64, 96]>, %b: !mx.tensor<f32[96, 64]>):
    %0 = mx.matmul %a, %b : (!mx.tensor<f32[64, 96]>, !mx.tensor<f32[96, 64]>) -> !mx.tensor<f32[64, 64]>
    mx.yield %0 : !mx.tensor<f32[64, 64]>
  }
  mx.return %k : !mx.tensor<f32[64, 64]>
}
