// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of primitives (primitives.def) as data.
#pragma once
#include <string_view>
#include <vector>

namespace mx {

/// How a primitive's result shape is found. `Signature`: the signature says it all.
enum class ShapeRule {
  Signature,
  Broadcast,
  Select,
  Reduce,
  Axis,
  Reshape,
  Permute,
  Concat,
  Stack,
  Split,
  Take,
  TopK,
  Nonzero,
  Unique,
  Einsum,
  Rearrange,
  Squeeze,
  Pad,
  Tile,
  Cast,
  Like,
  // Builtins with rules of their own, worded in Sema.
  Print,
  Len,
  Option,
  DeviceOf,
  Save,
  Restore,
  Leaves,
  Progress,
  Loader,
  Log,
  Wait,
  Map,
  SameData,
  Rows,
  Pictures,
  Sequences,
  File,
};

enum class Gradient { Yes, Zero, None }; ///< Zero: piecewise constant or integer

struct PrimitiveInfo {
  std::string_view name;
  std::string_view family;    ///< heading in the docs
  std::string_view signature; ///< in mx itself
  ShapeRule rule;
  std::string_view effects; ///< "", "print", "file: writes a file"
  Gradient gradient;
  std::string_view doc;
};

const std::vector<PrimitiveInfo> &allPrimitives();

} // namespace mx
