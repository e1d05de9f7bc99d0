// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What GraphCalls.cpp and GraphValues.cpp share: a graph that can be called, and a call on its way.
#pragma once
#include "Driver/GraphCalls.h"

namespace mx::driver {

/// The compiled forms of a graph. Inputs of a session that call the same graph share them.
struct GraphHost::Variants {
  std::map<std::vector<int64_t>, std::unique_ptr<LoadedVariant>> loaded;
  std::map<std::vector<int64_t>, std::unique_ptr<BoundVariant>> bound; ///< by all sizes
  std::vector<std::pair<std::string, int64_t>> first;                  ///< sizes of the first one
  uint64_t lastUse = 0;
};

struct GraphHost::Graph {
  ir::GraphOp op;
  std::string name;
  std::string identity; ///< of its text, once it was needed
  std::vector<std::string> sizes;
  std::vector<bool> open; ///< of each size: declared `dyn`
  std::vector<int64_t> bounds;
  std::shared_ptr<Variants> variants; ///< null until it is called
};

/// "cpu:1"; no name is the default device.
mxrt_device deviceNamed(llvm::StringRef name);

/// An error for want of memory with what a graph needs, if that is known. Takes `status` over.
mxrt::Status explain(mxrt_runtime *runtime, const std::string &needs, mxrt_status status);

/// One call on its way: leaves of the arguments in order.
struct GraphHost::Call {
  llvm::SmallVector<GraphInput, 16> inputs; ///< tensors are borrowed
  /// Of each leaf: the object through which alone its tensor can be reached, or null.
  llvm::SmallVector<mxrt::host::ForeignObject *, 16> owners;
  llvm::SmallVector<mxrt_tensor *, 16> made; ///< dense copies, and outputs: owned
  llvm::SmallVector<mxrt_tensor *, 8> outputs;
  ~Call() {
    for (mxrt_tensor *tensor : made)
      mxrt_tensor_release(tensor);
  }
};

} // namespace mx::driver
