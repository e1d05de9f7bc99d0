// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML escaping.
#pragma once
#include <string>
#include <string_view>

namespace mx {

/// Escapes text for an HTML page, also for quoted attributes.
std::string escapedForPage(std::string_view text);

} // namespace mx
