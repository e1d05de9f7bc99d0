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
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string>

namespace mx::lowering {

/// bf16 matmul instructions: multiply pairs of bf16 and accumulate in f32 (Bf16Kernel.h).
struct Bf16Unit {
  enum Kind : uint8_t {
    None,
    Avx512Bf16, ///< VDPBF16PS, on vectors
    Amx         ///< TDPBF16PS, on tiles of 16 x 16
  } kind = None;
  /// Plain code emulates the documented behaviour of the instructions: for tests on other CPUs.
  bool isEmulated = false;
  /// The permission requested from the operating system before tiles are used (mxrt/cpu.h). For
  /// tests also one that is always granted, and one that never is.
  int32_t state = kTileState;
  static constexpr int32_t kNoState = 0, kTileState = 18, kRefusedState = 63;

  /// none, avx512bf16, amx, emulated-avx512bf16, emulated-amx, refused-amx (emulated, and never
  /// granted); nullopt for another name.
  static std::optional<Bf16Unit> parse(llvm::StringRef name);
  std::string text() const;
};

/// Cache blocking of GEMM, set by autotuning; 0: TiledMatmul chooses. Results have the same bits
/// for any tiling.
struct Tiling {
  int64_t columns = 0; ///< of a panel
  int64_t steps = 0;   ///< of a packed K-block
  bool operator==(const Tiling &) const = default;
  /// Parses `128,256`; nullopt for invalid text, or for sizes that kernels have no room for.
  static std::optional<Tiling> parse(llvm::StringRef text);
  std::string text() const;
};

struct KernelOptions {
  /// Integer division by 0 gives 0 instead of an error.
  bool unchecked = false;
  /// Sums may be reordered; NaN and infinities are assumed not to occur.
  bool fastMath = false;
  /// The target converts between f16 and f32 (F16C). Otherwise integer code does, so that no
  /// function of the compiler's runtime library is needed.
  bool nativeHalf = false;
  /// The widest vectors of the target, in bits. With 512 there are 32 registers, else 16.
  unsigned vectorBits = 128;
  /// The CPU has FMA instructions.
  bool hasFma = false;
  /// The target's bf16 instructions; without them bf16 GEMM uses f32 multiply-adds.
  Bf16Unit bf16{};
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
