// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Undo, input by input. A step records the meaning of names. Old values of assigned variables are
// recorded only while snapshots are on, because that keeps two copies of tensors that would
// otherwise be updated in place.
#pragma once
#include "Driver/InputSession.h"
#include <deque>

namespace mx::repl {

class Undo {
public:
  explicit Undo(driver::InputSession &session) : session(session) {}
  ~Undo() { forget(); }
  Undo(const Undo &) = delete;
  Undo &operator=(const Undo &) = delete;

  /// Before an input: takes a checkpoint.
  void begin();
  /// After an input: records a step that can be undone if the input changed anything. Frees
  /// everything unreachable.
  void end(bool succeeded, const std::string &text);
  /// Undoes the last step. False if there is none.
  bool undo();
  /// Inputs that succeeded and were not undone, in order.
  const std::vector<std::string> &inputs() const { return succeeded; }

  bool keepsValues = false; ///< snapshots are on

private:
  void forget();
  void collect();

  struct Step {
    driver::Checkpoint before;
    size_t inputs; ///< number of inputs before
  };
  driver::InputSession &session;
  std::deque<Step> steps;
  std::vector<std::string> succeeded;
};

} // namespace mx::repl
