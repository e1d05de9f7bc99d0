// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TargetInfo: what the compiler knows of the machine it compiles for. Every size of a cache, a panel
// or a register tile that graph passes, memory planning and lowering decide by stands here; none of
// them asks the machine. compiler/Target makes one from a CPU's name.
//
// Sizes that results depend on are not facts of a machine: the lanes of a sum (Sweep.h) are part of
// its definition.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mx {

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
  static std::optional<Bf16Unit> parse(std::string_view name);
  std::string text() const;
};

/// A set-associative cache.
struct CacheInfo {
  int64_t sets, ways, line;
  constexpr int64_t bytes() const { return sets * ways * line; }
};

/// Cache blocking of matmuls and convolutions, in elements.
struct GemmInfo {
  int64_t tileRows = 6;       ///< rows of a register tile
  int64_t blockRows = 288;    ///< rows of a block whose sums need scratch memory
  int64_t minRows = 48;       ///< of a block that is lowered to give every thread one
  int64_t manyRows = 384;     ///< with so many rows, packing that serves all of them pays off
  int64_t fewRows = 12;       ///< with up to so many, packing columns costs more than it saves
  int64_t panelColumns = 256; ///< columns of a panel
  int64_t minColumns = 64;    ///< of a panel that is narrowed to give every thread one
  int64_t maxColumns = 448;   ///< of a panel whose columns do not fit into L1 anyway
  int64_t prepackedColumns = 64; ///< of a prepacked panel: a multiple of every tile's columns
  int64_t panelBytes = 512 << 10; ///< of a packed panel, on the stack
};

/// Of a GPU; all 0 for a CPU.
struct GpuInfo {
  unsigned architecture = 0; ///< 80: sm_80
  unsigned warp = 0;         ///< threads
  int64_t registers = 0, sharedBytes = 0; ///< of a multiprocessor
  unsigned multiprocessors = 0;
};

struct TargetInfo {
  // ---- instructions
  /// The widest vectors worth using, in bits.
  unsigned vectorBits = 128;
  bool hasFma = false;
  /// Converts between f16 and f32 (F16C).
  bool hasHalf = false;
  Bf16Unit bf16{};

  constexpr int64_t lanes(unsigned elementBits) const {
    return std::max<int64_t>(1, vectorBits / elementBits);
  }
  /// 512-bit vectors: 32 registers instead of 16, masks, and larger caches.
  constexpr bool isWide() const { return vectorBits >= 512; }
  constexpr int64_t vectorRegisters() const { return isWide() ? 32 : 16; }

  // ---- memory
  CacheInfo firstCache{64, 8, 64};
  constexpr CacheInfo secondCache() const {
    return isWide() ? CacheInfo{2048, 16, 64} : CacheInfo{1024, 8, 64};
  }
  int64_t pageBytes = 4096;
  /// What may be kept in L2 from one loop over it to the next, beside whatever else passes.
  int64_t keptBytes = 256 << 10;
  /// Inputs up to this size stay in a cache between kernels and are not prefetched.
  int64_t residentBytes = 1 << 20;
  /// Elements of zero-padded images, which are read once for each filter tap.
  int64_t imageElements = 98304;
  /// Matrices between matmuls up to this size are not computed in blocks.
  int64_t matrixBytes = 4 << 20;
  /// An arena up to this size fits into the last cache: a smaller one gains nothing.
  int64_t arenaBytes = 64 << 20;
  /// Operations in the time of moving one byte.
  double operationsPerByte = 8;

  // ---- matmuls
  GemmInfo gemm{};
  constexpr int64_t tileVectors() const { return isWide() ? 4 : 2; }
  /// Steps of k in a packed panel.
  constexpr int64_t panelSteps() const { return isWide() ? 512 : 256; }
  /// With bf16 instructions, whose tiles are their own (Bf16Kernel.h).
  GemmInfo bf16Gemm{.blockRows = 256, .minRows = 64};
  int64_t bf16Steps = 512;

  // ---- threads
  /// Chunks of a kernel's work that keep all threads busy: of blocks, and of loop iterations.
  int64_t parallelBlocks = 4, parallelIterations = 32;

  GpuInfo gpu{};
  constexpr bool isGpu() const { return gpu.architecture != 0; }
};

} // namespace mx
