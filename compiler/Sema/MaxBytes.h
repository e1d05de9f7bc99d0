// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `@max_bytes` before a graph: what its arena may have.
#pragma once
#include "Syntax/Ast.h"
#include <cstdint>
#include <optional>

namespace mx::sema {

/// Nothing if the attribute does not name a number of bytes.
std::optional<int64_t> maxBytesOf(const ast::Attribute &attribute);

} // namespace mx::sema
