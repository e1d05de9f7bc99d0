// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of primitives (primitives.def) as data.
#pragma once
#include <string_view>
#include <vector>

namespace mx {

/// The shape inference rule of a primitive. `Signature`: the signature determines the shape.
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
  // Builtins with rules of their own, implemented in Sema.
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
  std::string_view signature; ///< in mx syntax
  ShapeRule rule;
  std::string_view effects; ///< "", "print", "file: writes a file"
  Gradient gradient;
  std::string_view doc;
};

const std::vector<PrimitiveInfo> &allPrimitives();

} // namespace mx
