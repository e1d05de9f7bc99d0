// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Autotuning: measures which of a few tilings (cache blocking) of a GEMM or convolution is fastest
// on this machine. The result is stored in the object cache, and used from then on. Every tiling
// gives the same bits (TiledMatmul.h), so tuning changes nothing but time.
#pragma once
#include "Pipeline/Pipeline.h"

namespace mx::pipeline {

/// Runs and times kernels on the machine that they are compiled for.
class KernelClock {
public:
  virtual ~KernelClock() = default;

  /// A buffer of a kernel: floats are filled with numbers of usual speed, all else with zeros.
  struct Room {
    int64_t bytes;
    bool isFloat;
  };
  /// The min time of a call of the object's function, in microseconds; nullopt if it failed.
  virtual std::optional<double> time(const std::string &object, const std::string &name,
                                     llvm::ArrayRef<Room> buffers) = 0;

  /// The result of tuning a kernel.
  struct Found {
    std::string location;
    lowering::Tiling tiling;
    double before, now; ///< microseconds; before: with TiledMatmul's default
  };
  virtual void found(const Found &kernel) = 0;
};

/// The tiling of a kernel: the stored result (identified by `key`); with a clock in `options`, the
/// result of tuning it now; else the default. Only matmuls and convolutions of known sizes are
/// tuned.
lowering::Tiling tilingOf(ir::KernelOp kernel, const std::string &key, const std::string &location,
                          const lowering::KernelOptions &how, const target::TargetCpu &cpu,
                          target::ObjectCache &cache, const Options &options);

} // namespace mx::pipeline
