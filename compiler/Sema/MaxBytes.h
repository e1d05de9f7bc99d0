// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `@max_bytes` of a graph: the size limit of its arena.
#pragma once
#include "Syntax/Ast.h"
#include <cstdint>
#include <optional>

namespace mx::sema {

/// nullopt if the attribute does not name a number of bytes.
std::optional<int64_t> maxBytesOf(const ast::Attribute &attribute);

} // namespace mx::sema
