// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs from a pipe, a file or a terminal without editing.
#include "Repl/Inputs.h"
#include "Repl/LineReader.h"
#include "Run/Interrupt.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace mx::repl {
namespace {

class PlainReader final : public LineReader {
public:
  PlainReader(std::ostream &out, bool showsPrompts, ReaderHooks hooks)
      : out(out), isTerminal(showsPrompts), hooks(std::move(hooks)) {}

  std::optional<std::string> readInput() override {
    std::string input;
    InputLines lines;
    for (;;) {
      std::optional<std::string> line = readLine(input.empty() ? "mx> " : "... ");
      if (!line && wasInterrupted) {
        input.clear();
        lines = InputLines();
        continue;
      }
      if (!line)
        return input.empty() ? std::nullopt : std::optional(input);
      if (input.empty() && line->find_first_not_of(" \t\r") == std::string::npos)
        continue;
      if (size_t count = input.empty() ? linesOfOne(*line) : 0) {
        while (count-- > 0 && (line = readLine("... ")))
          input += *line + "\n";
        return input.empty() ? std::nullopt : std::optional(input);
      }
      input += *line + "\n";
      // At a terminal an empty line ends an input with unbalanced brackets; a file may contain
      // empty lines.
      bool mayEnd = lines.mayEnd(*line) || isCommand(input);
      if ((mayEnd && isComplete(input)) || (isTerminal && line->empty()))
        return input;
    }
  }

  std::optional<std::string> readLine(const std::string &prompt) override {
    if (isTerminal)
      out << prompt << std::flush;
    wasInterrupted = false;
    for (;;) {
      if (size_t end = buffer.find('\n'); end != std::string::npos) {
        std::string line = buffer.substr(0, end);
        buffer.erase(0, end + 1);
        if (!line.empty() && line.back() == '\r')
          line.pop_back();
        return line;
      }
      if (!run::Interruptible::waitForInput(STDIN_FILENO, hooks.takeInterrupt)) {
        if (!isTerminal)
          continue; // nothing was running or being typed
        out << "\n";
        buffer.clear();
        wasInterrupted = true;
        return std::nullopt;
      }
      char bytes[4096];
      ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
      if (got > 0) {
        buffer.append(bytes, static_cast<size_t>(got));
        continue;
      }
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        failure = std::strerror(errno);
      if (buffer.empty())
        return std::nullopt;
      std::string rest;
      rest.swap(buffer);
      return rest;
    }
  }

  std::string problem() const override { return failure; }

private:
  std::ostream &out;
  bool isTerminal, wasInterrupted = false;
  ReaderHooks hooks;
  std::string buffer, failure;
};

} // namespace

std::unique_ptr<LineReader> makePlainReader(std::ostream &out, bool showsPrompts,
                                            ReaderHooks hooks) {
  return std::make_unique<PlainReader>(out, showsPrompts, std::move(hooks));
}

} // namespace mx::repl
