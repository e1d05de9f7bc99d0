// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upper bounds of dynamic sizes, by interval arithmetic: memory is planned for these.
#pragma once
#include "dialects/mx/Mx.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace mx::rt {

/// Maps names of dynamic sizes to their upper bounds. Each is at least 0.
using SizeBounds = llvm::StringMap<int64_t>;

/// An upper bound of `size` over all calls. Exact if the size is monotonic in each of its names;
/// else it may be larger than any reached value. Nothing if a name has no bound, or on int64
/// overflow.
std::optional<int64_t> largest(ir::SizeAttr size, const SizeBounds &bounds);

/// An upper bound of the bytes of a dense tensor of this type, for all values of the dynamic sizes.
std::optional<int64_t> largestBytes(ir::TensorType type, const SizeBounds &bounds);

} // namespace mx::rt
