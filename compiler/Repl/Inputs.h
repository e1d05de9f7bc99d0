// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>

namespace mx::repl {

/// `:time f(x)`, `?relu`: for the prompt itself, always one line.
bool isCommand(std::string_view text);

/// Whether a text can be run as it is: a command, or what the lexer says is complete.
bool isComplete(const std::string &text);

/// Pasted text as it was typed: of a transcript with prompts the inputs alone, else as it is. Line
/// ends become newlines, tabs two spaces.
std::string cleanPaste(std::string_view text);

} // namespace mx::repl
