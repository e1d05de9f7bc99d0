// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of this and earlier sessions, one entry per whole input. The file has one line per entry,
// with `\n` for a newline. Each input is appended at once, so concurrent sessions lose nothing.
#pragma once
#include <string>
#include <vector>

namespace mx::repl {

class History {
public:
  /// Reads the file. With an empty path nothing is kept on disk. The same holds for a file that
  /// cannot be written, which is not reported.
  explicit History(std::string path);

  const std::vector<std::string> &entries() const { return list; }
  /// Adds an input, unless it is empty or the same as the last.
  void add(const std::string &input);

  /// $XDG_STATE_HOME/mx/history, otherwise ~/.local/state/mx/history; empty without a home.
  static std::string defaultPath();

private:
  std::string path;
  std::vector<std::string> list;
};

} // namespace mx::repl
