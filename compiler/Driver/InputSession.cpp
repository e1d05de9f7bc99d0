// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of a session, one by one: each sees the names defined by those before it. An input is a
// transaction until its first op is issued; later failures poison names, and the message lists
// them.
#include "Driver/InputSession.h"
#include "eager/TensorValue.h"
#include "host/Program.h"
#include "mxrt/call.h"
#include "mxrt/engine.h"
#include <algorithm>

namespace mx::driver {
using mxrt::host::Value;

namespace {

std::string globalOf(const sema::Symbol &symbol) {
  return irgen::globalName(symbol, /*keepNames=*/true);
}

bool isVariable(const sema::Symbol &symbol) {
  return symbol.kind == sema::SymbolKind::Variable && symbol.bind != ast::BindKind::Const;
}

constexpr int kDeepest = 200; // nesting limit of shown values

/// Whether an op failed that should have computed a tensor of the value. No op is in flight.
bool isPoisoned(mxrt_runtime *runtime, const Value &value, int nesting = 0) {
  if (mxrt_tensor *tensor = mxrt::eager::tensorOf(value)) {
    mxrt_status status = mxrt_tensor_wait(runtime, tensor, nullptr);
    mxrt_status_release(status);
    return status != nullptr;
  }
  if (!mxrt::host::isAggregate(value.kind) || nesting == kDeepest)
    return false;
  std::span<Value> parts = value.aggregate()->view();
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Value &part) { return isPoisoned(runtime, part, nesting + 1); });
}

/// "`a`, `b` and `c`"
std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "`" : i + 1 == names.size() ? " and `" : ", `") + names[i] + "`";
  return text;
}

} // namespace

int64_t tensorBytes(const Value &value) {
  if (mxrt_tensor *tensor = mxrt::eager::tensorOf(value))
    return mxrt_tensor_bytes(tensor);
  if (!mxrt::host::isAggregate(value.kind))
    return 0;
  int64_t bytes = 0;
  for (const Value &part : value.aggregate()->view())
    bytes += tensorBytes(part);
  return bytes;
}

uint64_t InputSession::pushedSoFar() {
  mxrt_engine *engine = nullptr;
  mxrt_engine_stats stats = {};
  mxrt_status status = mxrt_runtime_engine(runtime, nullptr, &engine);
  if (!status)
    mxrt_engine_get_stats(engine, &stats);
  mxrt_status_release(status);
  return stats.pushed;
}

std::vector<std::pair<std::string, Value>> InputSession::variables() const {
  std::vector<std::pair<std::string, Value>> out;
  if (const sema::ModuleInfo *module = names->sessionModule())
    for (auto &[name, symbol] : module->scope.names)
      if (isVariable(*symbol))
        if (Value value = vm->global(globalOf(*symbol)); value.isSet())
          out.push_back({std::string(name), value});
  std::sort(out.begin(), out.end(), [](auto &a, auto &b) { return a.first < b.first; });
  return out;
}

Checkpoint InputSession::checkpoint(bool withValues) {
  Checkpoint out{names->mark(), {}};
  if (!withValues)
    return out;
  for (auto &[name, symbol] : out.names.names) {
    std::string global = globalOf(*symbol);
    if (Value value = isVariable(*symbol) ? vm->global(global) : Value(); value.isSet()) {
      mxrt::host::retain(value);
      out.values.push_back({std::move(global), value});
    }
  }
  return out;
}

void InputSession::rewind(Checkpoint &to) {
  names->rewind(to.names);
  for (auto &[global, value] : to.values)
    if (mxrt::Status status = vm->setGlobal(global, value); status.ok())
      value = Value(); // ownership passed on
  release(to);
}

void InputSession::release(Checkpoint &point) {
  for (auto &[global, value] : point.values)
    mxrt::host::release(vm->heap(), value);
  point.values.clear();
}

int64_t InputSession::collect(const std::vector<const Checkpoint *> &checkpoints) {
  if (!options.profile.empty()) // the trace still names them
    return 0;
  // Most variables are still bound to their names; only the others need a further search.
  using Names = std::unordered_map<std::string_view, sema::Symbol *>;
  static const Names kNone;
  const sema::ModuleInfo *module = names->sessionModule();
  const Names &now = module ? module->scope.names : kNone;
  auto isNamedIn = [](const Names &scope, const std::string &global, const sema::Symbol *symbol) {
    auto found = scope.find(symbol ? symbol->name : "_"); // results of inputs have no other name
    return found != scope.end() &&
           (symbol ? found->second == symbol : globalOf(*found->second) == global);
  };
  std::vector<std::string> held; // held by checkpoints only
  std::erase_if(kept, [&](auto &entry) {
    const auto &[global, variable] = entry;
    if (isNamedIn(now, global, variable.symbol))
      return false;
    for (const Checkpoint *point : checkpoints)
      if (isNamedIn(point->names.names, global, variable.symbol)) {
        held.push_back(global);
        return false;
      }
    if (variable.isUsed || (variable.symbol && variable.symbol->usedByFunction))
      return false;
    vm->dropGlobal(global);
    elsewhere.erase(global);
    return true;
  });
  std::erase_if(units, [&](Unit &unit) {
    if (!unit.isInput || unit.program->refs > 1)
      return false;
    vm->unload(unit.program);
    host->dropModule(*unit.module);
    return true;
  });
  host->setProgram(units.empty() ? nullptr : units.back().program);
  int64_t bytes = 0;
  for (const std::string &global : held)
    bytes += tensorBytes(vm->global(global));
  for (const Checkpoint *point : checkpoints)
    for (auto &[global, value] : point->values)
      if (value.isSet() && value.object != vm->global(global).object)
        bytes += tensorBytes(value);
  return bytes;
}

void InputSession::renew(const std::vector<Checkpoint *> &checkpoints) {
  constexpr int kInputs = 500;
  if (inputsSinceRenewal < kInputs || !options.profile.empty())
    return;
  inputsSinceRenewal = 0;
  std::vector<sema::NamesMark *> marks;
  for (Checkpoint *point : checkpoints)
    marks.push_back(&point->names);
  std::map<const sema::Symbol *, sema::Symbol *> moved;
  std::set<std::string> used;
  for (auto &[global, variable] : kept)
    if (variable.isUsed || (variable.symbol && variable.symbol->usedByFunction))
      used.insert(global);
  if (!names->renew(marks, moved))
    return;
  for (auto &[global, variable] : kept) {
    auto found = moved.find(variable.symbol);
    variable = {found == moved.end() ? nullptr : found->second, used.count(global) != 0};
  }
  // Modules of functions that are still held keep their context alive.
  if (!elsewhere.empty())
    return;
  context = newContext();
  kernels->useContext(*context);
}

bool InputSession::describeInput(const std::string &name, std::string text, sema::InputSummary &out) {
  ++inputsSinceRenewal;
  const SourceFile &file = sources.add(name, "", std::move(text));
  sema::NamesMark before = names->mark();
  bool complete = true, right = names->checkInput(file, complete, /*isWhole=*/true);
  if (right) {
    out = names->summary();
    names->rewind(before);
  }
  flushDiagnostics();
  return right;
}

mxrt::host::Program *InputSession::compileInput(const std::string &name, const std::string &path,
                                           std::string text, InputResult &result, bool isWhole) {
  ++inputsSinceRenewal;
  const SourceFile &file = sources.add(name, path, std::move(text));
  sema::NamesMark before = names->mark();
  bool right = names->checkInput(file, result.complete, isWhole);
  if (!result.complete)
    return nullptr;
  flushDiagnostics();
  if (!right)
    return nullptr;
  result.summary = names->summary();
  irgen::Options code = options.code;
  code.keepNames = true;
  irgen::Generated generated =
      irgen::generate(*context, names->sema(), *names->sessionModule(), code);
  inputResult = generated.result;
  if (!load(generated)) {
    names->rewind(before);
    return nullptr;
  }
  units.back().isInput = true;
  for (auto &[known, symbol] : names->sessionModule()->scope.names) {
    auto old = before.names.find(known);
    bool isNew = old == before.names.end() || old->second != symbol;
    if (isNew && isVariable(*symbol))
      kept.emplace(globalOf(*symbol), KeptVariable{symbol});
  }
  if (!inputResult.empty())
    kept.emplace(inputResult, KeptVariable());
  return units.back().program;
}

bool InputSession::runCompiled(mxrt::host::Program *program) {
  return finish(vm->run(program).release());
}

/// After an input failed that had issued work: names without a value are restored, and those whose
/// value is poisoned are listed.
std::string InputSession::settleNames(const sema::NamesMark &before,
                                 const std::set<std::string> &stored) {
  auto &scope = names->sema().session->scope.names;
  std::vector<std::string> poisoned, unset;
  for (auto it = scope.begin(); it != scope.end();) {
    const sema::Symbol &symbol = *it->second;
    auto old = before.names.find(it->first);
    bool isNew = old == before.names.end() || old->second != it->second;
    Value value = isVariable(symbol) ? vm->global(globalOf(symbol)) : Value();
    if (isVariable(symbol) && isNew && !value.isSet()) {
      unset.push_back(std::string(it->first));
      if (old == before.names.end()) {
        it = scope.erase(it);
        continue;
      }
      it->second = old->second;
    } else if (value.isSet() && stored.count(globalOf(symbol)) && isPoisoned(runtime, value)) {
      poisoned.push_back(std::string(it->first));
    }
    ++it;
  }
  std::sort(poisoned.begin(), poisoned.end());
  std::sort(unset.begin(), unset.end());
  std::string notes;
  if (!poisoned.empty())
    notes = listed(poisoned) + (poisoned.size() == 1 ? " is" : " are") +
            " poisoned: a use raises this error again, a new value ends that\n";
  if (!unset.empty())
    notes += listed(unset) + (unset.size() == 1 ? " was" : " were") + " not set\n";
  if (!notes.empty())
    notes.pop_back();
  return notes;
}

InputResult InputSession::enter(const std::string &name, const std::string &path, std::string text,
                           bool isWhole) {
  InputResult result;
  Checkpoint before = checkpoint(/*withValues=*/false);
  mxrt::host::Program *program = compileInput(name, path, std::move(text), result, isWhole);
  if (!program)
    return result;
  // Only variables that the input assigns can change.
  std::set<std::string> stored;
  units.back().module->walk([&](ir::GlobalStoreOp op) { stored.insert(op.getName().str()); });
  for (const std::string &global : stored)
    if (Value value = global[0] == '$' ? Value() : vm->global(global); value.isSet()) {
      mxrt::host::retain(value);
      before.values.push_back({global, value});
    }
  uint64_t pushed = pushedSoFar();
  // Once work is issued, old values are no longer held: they may be updated in place.
  bool issued = false;
  host->beforeNextIssue([&] {
    issued = true;
    release(before);
  });
  std::string value = inputResult;
  mxrt_status status = vm->run(program).release();
  host->beforeNextIssue(nullptr);
  result.fine = finish(status, [&]() -> std::string {
    if (issued && pushedSoFar() != pushed)
      return settleNames(before.names, stored);
    rewind(before);
    return "";
  });
  if (result.fine && !value.empty())
    names->keepResult();
  release(before);
  if (!result.fine || value.empty() || result.summary.isMuted)
    return result;
  Value shown = vm->global(value);
  if (!shown.isSet() || shown.kind == mxrt::host::Kind::Unit)
    return result;
  mxrt::host::Text textOf(vm->heap());
  if (mxrt::Status problem = vm->show(shown, textOf); !problem.ok()) {
    report(problem.release());
    result.fine = false;
    return result;
  }
  result.shown = std::string(textOf.view());
  return result;
}

bool InputSession::runInput(const std::string &name, std::string text, bool &complete) {
  InputResult result = enter(name, "", std::move(text));
  complete = result.complete;
  if (result.shown)
    out << *result.shown << "\n";
  if (complete)
    collect({});
  return result.fine || !complete;
}

} // namespace mx::driver
