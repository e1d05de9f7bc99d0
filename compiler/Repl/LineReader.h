// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where inputs come from.
#pragma once
#include "Repl/History.h"
#include "Sema/Assist.h"
#include <functional>
#include <memory>
#include <optional>
#include <ostream>

namespace mx::repl {

/// What a reader asks of the prompt.
struct ReaderHooks {
  /// What may stand at the end of a text.
  std::function<sema::Completion(const std::string &before)> complete;
  /// Whether Ctrl-C was pressed; forgets it.
  std::function<bool()> takeInterrupt;
};

class LineReader {
public:
  virtual ~LineReader() = default;
  /// One whole input with its newlines; nothing at the end of all input. An input that Ctrl-C or an
  /// empty line ended too early is not complete.
  virtual std::optional<std::string> readInput() = 0;
  /// One line, whatever it is, after a prompt of its own.
  virtual std::optional<std::string> readLine(const std::string &prompt) = 0;
};

/// Lines of standard input, with prompts if somebody sees them. No escape codes.
std::unique_ptr<LineReader> makePlainReader(std::ostream &out, bool showsPrompts,
                                            ReaderHooks hooks);
/// A terminal: editing, history, completion, bracketed paste. Null if it cannot be had.
std::unique_ptr<LineReader> makeEditReader(History &history, ReaderHooks hooks);

} // namespace mx::repl
