// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources of inputs: an editable terminal or plain lines.
#pragma once
#include "Repl/History.h"
#include "Sema/Assist.h"
#include <functional>
#include <memory>
#include <optional>
#include <ostream>

namespace mx::repl {

/// Callbacks from a reader to the prompt.
struct ReaderHooks {
  /// Completions at the end of a text.
  std::function<sema::Completion(const std::string &before)> complete;
  /// Whether Ctrl-C was pressed; clears the flag.
  std::function<bool()> takeInterrupt;
};

class LineReader {
public:
  virtual ~LineReader() = default;
  /// Reads one whole input with its newlines; nothing at the end of all input. An input cut short
  /// by Ctrl-C or an empty line is incomplete.
  virtual std::optional<std::string> readInput() = 0;
  /// Reads one line, whatever it is, after its own prompt.
  virtual std::optional<std::string> readLine(const std::string &prompt) = 0;
  /// Why the inputs ended; empty at the regular end.
  virtual std::string problem() const { return ""; }
};

/// Lines of standard input, with prompts if a person sees them. No escape codes.
std::unique_ptr<LineReader> makePlainReader(std::ostream &out, bool showsPrompts,
                                            ReaderHooks hooks);
/// A terminal: editing, history, completion, bracketed paste. Null if unavailable.
std::unique_ptr<LineReader> makeEditReader(History &history, ReaderHooks hooks);

} // namespace mx::repl
