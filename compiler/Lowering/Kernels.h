// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers one `mx.kernel` to the LLVM dialect.
//
// The resulting function has the C type of mxrt/kernel.h,
//
//   mxrt_status k(const mxrt_context *context, void *const *buffers, const int64_t *sizes)
//
// `buffers` are the addresses of element 0 of the kernel's inputs, then its outputs, then the
// workspace if it has one. `sizes` are the values of the names in the op's `sizes`; then, for each
// input that `strided` marks, its strides in elements. All else is dense in row-major order; a bool
// is a byte, 0 or 1. Outputs never overlap inputs or each other, except that an output has the
// address of the input that `mx.over` names for it.
//
// Besides the runtime's functions in mxrt/abi.def, the code may call fmod of the C library, and fma
// if the CPU has no FMA instruction.
// It allocates nothing: a verifier rejects allocations.
#pragma once
#include "Lowering/cpu/GemmSchedule.h"
#include "Support/TargetInfo.h"
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string>

namespace mx::lowering {

struct KernelOptions {
  /// Integer division by 0 gives 0 instead of an error.
  bool unchecked = false;
  /// Sums may be reordered; NaN and infinities are assumed not to occur.
  bool fastMath = false;
  /// The machine that code is for.
  TargetInfo target{};
  Tiling tiling{};
  /// Work of a thread's chunk, in simple ops on an element: about ten times the cost of
  /// parallel_for.
  int64_t chunkWork = 32768;
};

/// Returns a module of the LLVM dialect with one function `name`; the runtime functions it calls
/// are declared from abi.def. Errors are emitted on the op, and the result is null. `loopText` gets
/// the module as text before it is lowered to the LLVM dialect: loops over scalar code.
mlir::OwningOpRef<mlir::ModuleOp> lowerKernel(ir::KernelOp kernel, llvm::StringRef name,
                                              const KernelOptions &options,
                                              std::string *loopText = nullptr);

/// Why the op's element type is not supported; empty if it is.
llvm::StringRef whyNot(mlir::Operation *op);

/// The dialects that lowered modules pass through.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// `--mx-lower-kernels`: replaces the function around each kernel with the kernel's LLVM function.
/// For mxc-opt.
void registerLowerKernelsPass();

} // namespace mx::lowering
