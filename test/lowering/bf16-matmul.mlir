// bf16 matmuls with instructions of the CPU: AMX needs the permission of the operating system, so f32 multiply-adds are the fallback;
// VDPBF16PS needs none. Other types, and CPUs without such instructions, have neither.
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512 bf16=amx" | FileCheck %s --check-prefixes=TILES
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512 bf16=avx512bf16" | FileCheck %s --check-prefixes=VECTORS
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512 bf16=emulated-amx" | FileCheck %s --check-prefixes=EMULATED
// RUN: mxc-opt %s "--mx-lower-kernels=vector-bits=512" | FileCheck %s --check-prefixes=NONE
// RUN: not mxc-opt %s "--mx-lower-kernels=bf16=some"

// TILES-LABEL: llvm.func @halfs
// TILES:         llvm.mlir.constant(18 : i32)
// TILES:         %[[MAY:.*]] = llvm.call @mxrt_may_use_state
// TILES:         llvm.icmp "ne" %[[MAY]]
// TILES:         llvm.cond_br
// TILES:         llvm.call @halfs.bf16gemm32(
// TILES:       llvm.func internal @halfs.part1
// TILES:         llvm.fmul {{.*}} : vector<16xf32>
// TILES:       llvm.func internal @halfs.bf16gemm32({{.*}}no_inline
// TILES-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// TILES-NOT:     tdpbf16ps
// TILES-LABEL: llvm.func @floats
// TILES-NOT:     {{bf16gemm|mxrt_may_use_state}}
// VECTORS-LABEL:  llvm.func @halfs
// VECTORS-NOT:      mxrt_may_use_state
// VECTORS-COUNT-16: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// VECTORS-NOT:      dpbf16ps
// EMULATED-LABEL: llvm.func @halfs
// EMULATED:       llvm.call @mxrt_may_use_state
// EMULATED-NOT:   llvm.x86.
// NONE-NOT:    {{bf16gemm|mxrt_may_use_state|llvm.x86}}
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
