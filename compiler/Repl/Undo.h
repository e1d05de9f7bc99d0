// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Going back, input by input. A step remembers what names meant; what a variable held before it was
// assigned to is remembered only while snapshots are on, because that keeps two copies of tensors
// that would else be changed in place.
#pragma once
#include "Driver/Session.h"
#include <deque>

namespace mx::repl {

class Undo {
public:
  explicit Undo(driver::Session &session) : session(session) {}
  ~Undo() { forget(); }
  Undo(const Undo &) = delete;
  Undo &operator=(const Undo &) = delete;

  /// Before an input: what to come back to.
  void begin();
  /// After it: a step that can be undone if it changed anything, else nothing. Frees what nothing
  /// can reach any more.
  void end(bool succeeded, const std::string &text);
  /// Takes the last step back. False if there is none.
  bool undo();
  /// Inputs that succeeded and were not taken back, in order.
  const std::vector<std::string> &inputs() const { return succeeded; }

  bool keepsValues = false; ///< snapshots are on

private:
  void forget();
  void collect();

  struct Step {
    driver::Checkpoint before;
    size_t inputs; ///< how many there were
  };
  driver::Session &session;
  std::deque<Step> steps;
  std::vector<std::string> succeeded;
};

} // namespace mx::repl
