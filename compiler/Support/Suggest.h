// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spelling suggestions: "did you mean …?"
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mx {

/// Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbours.
int editDistance(std::string_view a, std::string_view b);
/// Whether one word may be a typo of the other: close relative to their length, or equal except for
/// case.
bool looksLike(std::string_view typed, std::string_view known);
/// The most similar known word, or an empty string if none is similar.
std::string nearest(std::string_view typed, const std::vector<std::string> &known);

} // namespace mx
