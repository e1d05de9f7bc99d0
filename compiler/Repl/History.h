// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of this and earlier sessions, one entry a whole input. The file has one line an entry,
// with
// `\n` for a newline; each input is added at once, so sessions side by side lose nothing.
#pragma once
#include <string>
#include <vector>

namespace mx::repl {

class History {
public:
  /// Reads what is there. An empty path keeps nothing on disk; so does a file that cannot be
  /// written, which is no reason to disturb anybody.
  explicit History(std::string path);

  const std::vector<std::string> &entries() const { return list; }
  /// Adds an input, unless it is empty or the same as the last.
  void add(const std::string &input);

  /// $XDG_STATE_HOME/mx/history, else ~/.local/state/mx/history; empty without a home.
  static std::string defaultPath();

private:
  std::string path;
  std::vector<std::string> list;
};

} // namespace mx::repl
