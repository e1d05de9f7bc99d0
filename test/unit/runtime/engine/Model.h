// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for engines, and a reference model of their results. A Program is a list
// of ops over numbered variables; Model runs it serially in plain code that shares
// nothing with the engines; Subject runs it on an engine and checks, at every op,
// that no conflicting access runs at the same time.

#ifndef MXRT_TEST_ENGINE_MODEL_H
#define MXRT_TEST_ENGINE_MODEL_H

#include "engine/Engine.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mxrt::test {

struct OpSpec {
  std::vector<int> reads = {}, writes = {};
  bool fails = false;
  bool cancelled = false; // pushed with a token that is already cancelled
  uint32_t flags = 0;     // MXRT_OP_*
  int priority = 0;
  mxrt_lane lane = MXRT_LANE_COMPUTE;
  int device = 0; // cpu:0, cpu:1
  uint64_t bytes = 0;
  bool defers = false;      // completes from elsewhere; see Subject::onDefer
  std::vector<int> nested = {}; // ops that it pushes while it runs
  /// Of its writes: given back in this order, each as soon as it is written. An
  /// op that fails does so afterwards.
  std::vector<int> releases = {};
  bool abuses = false; // also tries releases that must be refused

  // For lists of specs that read like a sentence.
  OpSpec failing() { return fails = true, std::move(*this); }
  OpSpec deferring() { return defers = true, std::move(*this); }
  OpSpec flagged(uint32_t f) { return flags = f, std::move(*this); }
  OpSpec urgent(int p) { return priority = p, std::move(*this); }
  OpSpec holding(uint64_t b) { return bytes = b, std::move(*this); }
  OpSpec releasing(std::vector<int> vars) {
    flags |= MXRT_OP_RELEASES;
    return releases = std::move(vars), std::move(*this);
  }
  OpSpec abusing() { return abuses = true, std::move(*this); }
  OpSpec pushing(std::vector<int> ops) {
    return nested = std::move(ops), std::move(*this);
  }
};

/// State of one variable, as a run must leave it.
struct VarState {
  uint64_t value = 0;
  uint64_t version = 0;
  int poison = -1; // index of the op that failed; -1: clean
};

/// The number an op writes: a hash of everything that it may depend on.
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x7F4A7C15u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return x ^ (x >> 32);
}

/// Serial run in push order.
class Model {
public:
  Model(const std::vector<OpSpec> &ops, int variables)
      : vars(static_cast<size_t>(variables)), ran(ops.size()), ops(ops) {}

  /// Runs op `index`, its nested ops included.
  void push(int index);
  /// Op whose error wait_all returns; -1 if none. Marks all as noticed.
  int waitAll();
  /// Op whose error a wait on `var` returns; -1 if clean.
  int wait(int var);

  std::vector<VarState> vars;
  std::vector<char> ran; // the function was called

private:
  const std::vector<OpSpec> &ops;
  std::vector<int> unnoticed; // failed ops, in push order
};

/// A Program on an engine.
class Subject {
public:
  using Fail = std::function<void(const std::string &)>;

  /// `delay` is called in the middle of each op. `fail` reports a violation.
  /// Of `variables` the first `initial` are made now (-1: all).
  Subject(mxrt_engine *engine, const std::vector<OpSpec> &ops, int variables,
          Fail fail, std::function<void(int op)> delay = {}, int initial = -1);
  ~Subject();

  Status push(int index) { return engine->push(describe(index)); }
  Status pushMany(const std::vector<int> &indices, size_t *pushed = nullptr);
  Status wait(int var) { return engine->wait(handles[at(var)], waitLocation); }
  Status waitAll() { return engine->waitAll(waitLocation); }
  void createVar(int var);
  /// After this the variable must not be used.
  Status deleteVar(int var);
  /// The op that a status blames; -1 for success, -2 if it has no location.
  static int blamed(const Status &status) {
    if (status.ok())
      return -1;
    return status.location().line ? status.location().line - 1 : -2;
  }
  /// Compares values, versions, runs and payloads with a finished model run.
  /// Deleted variables are left out.
  void compare(const Model &model, bool compareValues = true);

  mxrt_op describe(int index);

  static constexpr mxrt_location waitLocation = {"wait.mx", 77, 7};

  struct Var {
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<int> deleted{0};
    uint64_t value = 0; // guarded by the engine: that is the test
  };
  struct Run {
    std::atomic<int> started{0};
    std::atomic<int> finished{0};
    std::atomic<int> dropped{0};
    std::atomic<uint64_t> order{0};
  };

  std::vector<Var> vars;
  std::vector<Run> runs;
  std::vector<mxrt_var> handles;
  std::atomic<uint64_t> clock{0};
  /// Gets the token of a deferred op, on the thread that runs it. Must see to
  /// it that complete(op, token) is called.
  std::function<void(int op, mxrt_op_token *token)> onDefer;
  void complete(int op, mxrt_op_token *token);
  /// Called by an op that releases, after the last release and before it writes
  /// the rest. May be empty.
  std::function<void(int op)> onReleased;
  mxrt_engine *const engine;
  /// A switch that is on, for OpSpec::cancelled.
  mxrt_cancel *cancelledSwitch = nullptr;
  /// Instead of the one above, for all ops. Not owned.
  mxrt_cancel *commonSwitch = nullptr;
  /// Where the errors of failing ops come from; null: the system.
  const mxrt_allocator *errorAllocator = nullptr;

private:
  struct Payload {
    Subject *subject;
    int op;
  };
  static size_t at(int index) { return static_cast<size_t>(index); }
  static mxrt_status runOp(mxrt_op_context *context, void *payload);
  static void dropOp(void *payload);
  static void dropVar(void *payload);
  mxrt_status run(mxrt_op_context *context, int index);
  /// Marks the op's variables as in use; a violation if another op conflicts.
  void begin(int index);
  void end(int index);
  void endWrite(int var);
  void release(mxrt_op_context *context, int index, uint64_t sum);
  /// Releases that must be refused and change nothing.
  void abuse(mxrt_op_context *context, int index);
  void expectRefused(mxrt_op_context *context, mxrt_var var, const char *what);

  const std::vector<OpSpec> &ops;
  Fail fail;
  std::function<void(int)> delay;
  std::vector<Payload> payloads; // one per op, for drop counting
  std::vector<Payload> varPayloads;
};

} // namespace mxrt::test

#endif // MXRT_TEST_ENGINE_MODEL_H
