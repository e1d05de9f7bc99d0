// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boundaries of inputs: commands, complete inputs, and pasted transcripts.
#pragma once
#include <string>
#include <string_view>

namespace mx::repl {

/// `:time f(x)`, `?relu`: commands of the prompt, always one line.
bool isCommand(std::string_view text);

/// A marker with the number of lines, which a saved session writes before an input that would be
/// read as several.
std::string markOfOne(const std::string &text);
/// The number of lines that such a marker announces; 0 if the line is not a marker.
size_t linesOfOne(std::string_view line);

/// Whether a text can run as it is: a command, or complete according to the lexer.
bool isComplete(const std::string &text);

/// An input line by line. Brackets and last tokens show that most lines cannot end an input, so
/// that isComplete() need not lex all of it after each line.
class InputLines {
public:
  /// Adds a line; returns whether the input may be complete with it.
  bool mayEnd(std::string_view line);

private:
  std::string open;      ///< open brackets
  bool isUnsure = false; ///< a line does not lex by itself
};

/// Pasted text as it was typed: of a transcript with prompts only the inputs, otherwise unchanged.
/// Line ends become newlines, tabs two spaces.
std::string cleanPaste(std::string_view text);

} // namespace mx::repl
