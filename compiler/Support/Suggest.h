// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "did you mean …?"
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mx {

/// Edits (insert, delete, replace, swap neighbours) that turn one word into the other.
int editDistance(std::string_view a, std::string_view b);
/// True if a reader could take one word for the other: close for their length, or equal but for
/// case.
bool looksLike(std::string_view typed, std::string_view known);
/// The closest of the known words, or an empty string if none looks like it.
std::string nearest(std::string_view typed, const std::vector<std::string> &known);

} // namespace mx
