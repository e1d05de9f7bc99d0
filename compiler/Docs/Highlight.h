// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax highlighting of code that is not mx: comments, strings and keywords, as HTML.
#pragma once
#include <string>
#include <string_view>

namespace mx::docs {

/// The text of a code block; plain text if the language is not known. Linear in the text.
std::string highlighted(std::string_view text, std::string_view language);

} // namespace mx::docs
