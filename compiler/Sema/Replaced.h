// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marker in the printed name of a type that a session has redefined.
#pragma once
#include <string_view>

namespace mx::sema {

/// Suffix of a type whose name was redefined by a later input.
inline constexpr std::string_view kReplaced = " of an earlier input";

} // namespace mx::sema
