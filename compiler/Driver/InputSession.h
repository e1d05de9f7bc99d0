// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The session of a prompt: inputs, one by one, whose names persist; their checkpoints; and a look
// at their code and their plans.
#pragma once
#include "Driver/PlanSession.h"
#include <set>

namespace mx::driver {

/// Result of an input of the REPL.
struct InputResult {
  bool complete = true; ///< false: the input is incomplete; nothing happened
  bool fine = false;
  sema::InputSummary summary;
  std::optional<std::string> shown; ///< its value as text; none if it has no value or is muted
};

/// The names of a session and their values, to rewind to.
struct Checkpoint {
  sema::NamesMark names;
  std::vector<std::pair<std::string, mxrt::host::Value>> values; ///< retained, by the VM's names
};

/// Total bytes of all tensors in a value.
int64_t tensorBytes(const mxrt::host::Value &value);

class InputSession : public PlanSession {
public:
  using PlanSession::PlanSession;

  /// Runs one input of the REPL and shows its value. `complete` is false if the input is
  /// incomplete.
  bool runInput(const std::string &name, std::string text, bool &complete);
  /// Runs one input of the REPL, or a file that is read like one. It is a transaction until its
  /// first op is issued; later failures poison names, and the message lists them. `isWhole`: no
  /// more lines will follow, so an incomplete input is an error.
  InputResult enter(const std::string &name, const std::string &path, std::string text,
                    bool isWhole = false);
  /// Checks and compiles an input; null on an error, which has been reported. Nothing has run, but
  /// names are as if it had. The session owns the program until collect().
  mxrt::host::Program *compileInput(const std::string &name, const std::string &path,
                                    std::string text, InputResult &result, bool isWhole = true);
  /// Runs the result of compileInput and waits for it; errors have been reported.
  bool runCompiled(mxrt::host::Program *program);
  /// Describes an input without changing names. False on an error, which has been reported.
  bool describeInput(const std::string &name, std::string text, sema::InputSummary &out);
  Checkpoint checkpoint(bool withValues);
  /// Rewinds to a checkpoint; newer ones become invalid. Takes its values.
  void rewind(Checkpoint &to);
  void release(Checkpoint &point);
  /// Garbage collection: frees programs that nothing can call any more, and variables without a
  /// name now or at one of the checkpoints. Returns the bytes of tensors that only checkpoints
  /// name.
  int64_t collect(const std::vector<const Checkpoint *> &kept);
  /// Periodically drops the compiler's state about inputs that no name comes from any more.
  /// The checkpoints stay valid.
  void renew(const std::vector<Checkpoint *> &checkpoints);
  /// Variables of the session by name, with their values (borrowed), in order.
  std::vector<std::pair<std::string, mxrt::host::Value>> variables() const;

  // ---- Inspect.cpp
  /// Prints the plan of a graph of the session, as above.
  bool planGraph(const PlanRequest &request);
  /// Prints a stage of a function of the session: `mx`, `bytecode`, or of a graph one of
  /// pipeline::kPhases for these sizes; without any, for those it was called with last.
  bool showStage(const std::string &function, const std::string &stage, const PlanRequest &sizes);

private:
  irgen::Generated generateFunction(const std::string &name);
  std::string settleNames(const sema::NamesMark &before, const std::set<std::string> &stored);
  uint64_t pushedSoFar();

  /// Variables of inputs, by the VM's names. Those that functions use are never dropped.
  struct KeptVariable {
    const sema::Symbol *symbol = nullptr; ///< null: it has none, or lost it
    bool isUsed = false;                  ///< by a function, when its symbol was released
  };
  std::map<std::string, KeptVariable> kept;
  int inputsSinceRenewal = 0;
  std::string inputResult; ///< the variable with the result of the last compiled input; or empty
};

} // namespace mx::driver
