// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of one `mx.kernel` to code of the LLVM dialect.
//
// The function that comes out has the C type of mxrt/kernel.h,
//
//   mxrt_status k(const mxrt_context *context, void *const *buffers, const int64_t *sizes)
//
// `buffers` are the addresses of element 0 of the kernel's inputs, then its outputs, then the
// workspace if it has one. `sizes` are the values of the names in the op's `sizes`; then, for each
// input that `strided` marks, its strides in elements. All else is dense in row-major order; a bool
// is a byte, 0 or 1. Outputs never overlap inputs or each other, except that an output has the address
// of the input that `mx.over` names for it.
//
// Besides the runtime's functions in mxrt/abi.def the code may call these of the C library:
// exp log log1p expm1 sin cos tan tanh erf atan2 pow fmod, and the same with an `f` at the end.
// It allocates nothing: a verifier refuses it.
#pragma once
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string>

namespace mx::lowering {

/// Instructions that multiply words of two bf16 and add up in f32 (WordKernel.h).
struct WordUnit {
  enum Kind : uint8_t {
    None,
    Dots, ///< on vectors: AVX512_BF16
    Tiles ///< on matrices of 16 x 16: AMX
  } kind = None;
  /// Plain code computes what the instructions are documented to: for tests on other CPUs.
  bool isImitated = false;
  /// What the operating system is asked for before tiles are used (mxrt/cpu.h). For tests also what
  /// it always grants, and what it never does.
  int32_t state = kTileState;
  static constexpr int32_t kNoState = 0, kTileState = 18, kRefusedState = 63;

  /// none, dots, tiles, imitated-dots, imitated-tiles, refused-tiles (imitated ones that nobody may
  /// use); nothing for another word.
  static std::optional<WordUnit> parse(llvm::StringRef name);
  std::string text() const;
};

/// How products are cut into pieces that fit into caches; 0: as TileProduct chooses. Whatever it is,
/// results have the same bits.
struct Tiling {
  int64_t columns = 0; ///< of a panel
  int64_t steps = 0;   ///< for which a panel is copied
  bool operator==(const Tiling &) const = default;
  /// `128,256`; nothing for text that is none, or for sizes that kernels have no room for.
  static std::optional<Tiling> parse(llvm::StringRef text);
  std::string text() const;
};

struct KernelOptions {
  /// Division of integers by 0 gives 0 instead of an error.
  bool unchecked = false;
  /// Sums may be reordered; NaN and infinities are taken not to occur.
  bool fastMath = false;
  /// The target converts between f16 and f32 (F16C). Otherwise it is done with integers, so that no
  /// function of the compiler's runtime library is needed.
  bool nativeHalf = false;
  /// The widest vectors of the target, in bits. With 512 there are 32 registers, else 16.
  unsigned vectorBits = 128;
  /// The CPU has an instruction for a product and a sum.
  bool hasFma = false;
  /// What the target has for products of bf16; without it they are products of f32.
  WordUnit words{};
  Tiling tiling{};
  /// How much work a thread takes at a time, in simple ops on an element: about ten times what
  /// parallel_for costs.
  int64_t chunkWork = 32768;
};

/// A module of the LLVM dialect with one function `name`; the runtime functions it calls are
/// declared from abi.def. Errors are emitted on the op, and the result is null. `loopText` gets the
/// module as text before it becomes the LLVM dialect: loops over scalar code.
mlir::OwningOpRef<mlir::ModuleOp> lowerKernel(ir::KernelOp kernel, llvm::StringRef name,
                                              const KernelOptions &options,
                                              std::string *loopText = nullptr);

/// Why there is no code for the op's element type; empty if there is.
llvm::StringRef whyNot(mlir::Operation *op);

/// The dialects that lowered modules pass through.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// `--mx-lower-kernels`: puts the LLVM function of each kernel in the place of the function around
/// it. For mxc-opt.
void registerLowerKernelsPass();

} // namespace mx::lowering
