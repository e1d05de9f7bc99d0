// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>

namespace mx {

/// Text for an HTML page, also inside of quoted attributes: nothing of it is markup.
std::string escapedForPage(std::string_view text);

} // namespace mx
