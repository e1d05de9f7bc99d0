// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Undo of inputs with checkpoints of the session.
#include "Repl/Undo.h"

namespace mx::repl {
namespace {

constexpr size_t kMaxSteps = 16;
/// Above this limit, tensors that only `:undo` could restore are released.
constexpr int64_t kMaxBytes = int64_t(256) << 20;

bool sameNames(const sema::NamesMark &a, const sema::NamesMark &b) { return a.names == b.names; }

} // namespace

void Undo::begin() { steps.push_back({session.checkpoint(keepsValues), succeeded.size()}); }

void Undo::end(bool wasFine, const std::string &text) {
  if (wasFine)
    succeeded.push_back(text);
  // After a failure names may still have changed: those set before it.
  bool changed = wasFine || !sameNames(steps.back().before.names, session.checker().mark());
  if (!changed) {
    session.release(steps.back().before);
    steps.pop_back();
  }
  while (steps.size() > kMaxSteps) {
    session.release(steps.front().before);
    steps.pop_front();
  }
  collect();
  std::vector<driver::Checkpoint *> kept;
  for (Step &step : steps)
    kept.push_back(&step.before);
  session.renew(kept);
}

void Undo::collect() {
  for (;;) {
    std::vector<const driver::Checkpoint *> kept;
    for (const Step &step : steps)
      kept.push_back(&step.before);
    if (session.collect(kept) <= kMaxBytes || steps.empty())
      return;
    session.release(steps.front().before);
    steps.pop_front();
  }
}

bool Undo::undo() {
  if (steps.empty())
    return false;
  session.rewind(steps.back().before);
  succeeded.resize(steps.back().inputs);
  steps.pop_back();
  collect();
  return true;
}

void Undo::forget() {
  for (Step &step : steps)
    session.release(step.before);
  steps.clear();
}

} // namespace mx::repl
