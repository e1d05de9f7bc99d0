// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large a size can become when the open sizes in it have bounds: what memory is planned for.
#pragma once
#include "dialects/mx/Mx.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace mx::rt {

/// From names of open sizes to their bounds. Each is at least 0.
using SizeBounds = llvm::StringMap<int64_t>;

/// No call gives `size` a larger value. Exact where the size grows with each name in it; else it
/// may be more than is ever reached. Nothing if a name has no bound, or past int64.
std::optional<int64_t> largest(ir::SizeAttr size, const SizeBounds &bounds);

/// Bytes for a dense tensor of this type, whatever the open sizes are.
std::optional<int64_t> largestBytes(ir::TensorType type, const SizeBounds &bounds);

} // namespace mx::rt
