// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuning: which of a few ways to cut a product into pieces is fastest on this machine is found out
// by running them. What was found is kept where compiled code is, and used from then on. Every way
// gives the same bits (TileProduct.h), so tuning changes nothing but time.
#pragma once
#include "Pipeline/Pipeline.h"

namespace mx::pipeline {

/// Runs kernels on the machine that they are made for.
class KernelClock {
public:
  virtual ~KernelClock() = default;

  /// Memory of a kernel: floats are numbers that take no longer than others, all else is zeros.
  struct Room {
    int64_t bytes;
    bool isFloat;
  };
  /// The least microseconds that a call of the object's function took; nothing if it failed.
  virtual std::optional<double> time(const std::string &object, const std::string &name,
                                     llvm::ArrayRef<Room> buffers) = 0;

  /// What came of a kernel.
  struct Found {
    std::string place;
    lowering::Tiling tiling;
    double before, now; ///< microseconds; before: as TileProduct chooses
  };
  virtual void found(const Found &kernel) = 0;
};

/// What a kernel is to be lowered with: as it was found before (`key` tells one from another); with
/// a clock in `options`, as it is found now; else nothing special. Only products and convolutions
/// of known sizes are tuned.
lowering::Tiling tilingOf(ir::KernelOp kernel, const std::string &key, const std::string &place,
                          const lowering::KernelOptions &how, const target::TargetCpu &cpu,
                          target::ObjectCache &cache, const Options &options);

} // namespace mx::pipeline
