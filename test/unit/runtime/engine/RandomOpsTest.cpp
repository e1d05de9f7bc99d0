// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The property both engines are held to: 10,000 random ops over 100 variables,
// each reading 2 to 19 and writing 1 or 2, with random delays, give what a
// serial run gives, bit for bit. Also with failures, cancelled ops, deletions
// while ops are pending, nested and deferred ops, early release, other lanes,
// priorities, batches and waits in between.
//
// MXRT_RANDOM_SEEDS: how many seeds (20). MXRT_RANDOM_FIRST: the first (1).

#include "EngineFixture.h"
#include "base/Os.h"

#include <algorithm>
#include <cstdlib>
#include <random>

using namespace mxrt;
using namespace mxrt::test;

namespace {

long setting(const char *name, long fallback) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : fallback;
}

/// What the pushing thread does after pushing an op.
struct Action {
  enum Kind { Nothing, Wait, Delete, WaitAll } kind = Nothing;
  int var = 0, successor = 0;
};

struct Program {
  std::vector<OpSpec> ops; // the first `top` are pushed by the test
  std::vector<Action> actions;
  size_t top = 0;
  int initial = 0; // variables made at the start
  int variables = 0;
};

class Generator {
public:
  Generator(uint64_t seed, bool everything)
      : random(seed), everything(everything) {}

  Program make(int opCount, int varCount) {
    Program program;
    program.top = static_cast<size_t>(opCount);
    program.ops.resize(program.top);
    program.actions.resize(program.top);
    // Variable v has a partner v + varCount, which only ops nested in writers
    // of v touch: that makes their order known.
    program.initial = program.variables = 2 * varCount;
    current.resize(static_cast<size_t>(varCount));
    for (int v = 0; v < varCount; ++v)
      current[static_cast<size_t>(v)] = v;
    for (size_t i = 0; i < program.top; ++i) {
      fill(program.ops[i], varCount);
      if (everything)
        addVariety(program, i, varCount);
    }
    return program;
  }

private:
  int below(int limit) {
    return static_cast<int>(random() % static_cast<uint64_t>(limit));
  }
  bool oneIn(int n) { return below(n) == 0; }

  void fill(OpSpec &op, int varCount) {
    size_t reads = 2 + static_cast<size_t>(below(18));
    size_t writes = 1 + static_cast<size_t>(below(2));
    std::vector<int> chosen;
    while (chosen.size() < reads + writes) {
      int var = current[static_cast<size_t>(below(varCount))];
      if (std::find(chosen.begin(), chosen.end(), var) == chosen.end())
        chosen.push_back(var);
    }
    op.reads.assign(chosen.begin(), chosen.begin() + static_cast<long>(reads));
    op.writes.assign(chosen.begin() + static_cast<long>(reads), chosen.end());
  }

  void addVariety(Program &program, size_t index, int varCount) {
    OpSpec &op = program.ops[index];
    // With so many reads poison is everywhere after some fifty ops; now and
    // then one op replaces all contents.
    if (index % 128 == 0) {
      op.reads.clear();
      op.writes = current;
      op.flags = MXRT_OP_OVERWRITES;
      drawReleases(op, 2);
      return;
    }
    drawReleases(op, 3);
    op.fails = oneIn(400);
    op.cancelled = oneIn(400);
    if (oneIn(4))
      op.flags |= MXRT_OP_OVERWRITES;
    if (oneIn(8))
      op.flags |= MXRT_OP_ALWAYS_RUN;
    if (oneIn(20))
      op.flags |= MXRT_OP_INLINE;
    op.priority = oneIn(3) ? below(11) - 5 : 0;
    op.device = oneIn(4);
    if (oneIn(10))
      op.lane = oneIn(2) ? MXRT_LANE_COPY : MXRT_LANE_COMMUNICATION;
    op.bytes = oneIn(3) ? static_cast<uint64_t>(below(4 << 20)) : 0;
    op.defers = oneIn(50);
    if (oneIn(30) && op.writes[0] < varCount) {
      // Ops push nested ones after their releases: once the variable is given
      // back, the next writer may push its own first.
      op.releases.erase(std::remove(op.releases.begin(), op.releases.end(), op.writes[0]),
                        op.releases.end());
      OpSpec nested;
      nested.writes = {op.writes[0] + varCount};
      op.nested = {static_cast<int>(program.ops.size())};
      program.ops.push_back(nested); // invalidates op
    }
    Action &action = program.actions[index];
    if (oneIn(200)) {
      action.kind = Action::Wait;
      action.var = current[static_cast<size_t>(below(varCount))];
    } else if (oneIn(100)) {
      auto slot = static_cast<size_t>(below(varCount));
      action.kind = Action::Delete;
      action.var = current[slot];
      action.successor = current[slot] = program.variables++;
    } else if (oneIn(2000)) {
      action.kind = Action::WaitAll;
    }
  }

  /// One in `rarity` ops gives back some or all of what it writes.
  void drawReleases(OpSpec &op, int rarity) {
    if (!oneIn(rarity))
      return;
    for (int v : op.writes)
      if (!oneIn(3))
        op.releases.push_back(v);
    std::shuffle(op.releases.begin(), op.releases.end(), random);
    if (oneIn(2))
      op.flags |= MXRT_OP_RELEASES;
  }

  std::mt19937_64 random;
  const bool everything;
  std::vector<int> current; // live variable of each slot
};

/// Completes deferred ops on a thread of its own, a little later.
class Completer {
public:
  Completer() : thread([this] { run(); }) {}
  ~Completer() {
    stop = true;
    thread.join();
  }
  void add(Subject *subject, int op, mxrt_op_token *token) {
    std::lock_guard<std::mutex> guard(mutex);
    jobs.push_back({subject, op, token});
  }

private:
  struct Job {
    Subject *subject;
    int op;
    mxrt_op_token *token;
  };
  void run() {
    while (!stop) {
      std::vector<Job> taken;
      {
        std::lock_guard<std::mutex> guard(mutex);
        taken.swap(jobs);
      }
      for (const Job &job : taken)
        job.subject->complete(job.op, job.token);
      if (taken.empty())
        std::this_thread::yield();
    }
  }
  std::mutex mutex;
  std::vector<Job> jobs;
  std::atomic<bool> stop{false};
  std::thread thread;
};

class RandomOps : public EngineTest {
protected:
  void SetUp() override {}

  void runSeed(uint64_t seed, bool everything) {
    mxrt_engine_options options = {};
    options.workers_per_device = 1 + static_cast<int>(seed % 3);
    options.max_ops = seed % 4 == 0 ? 16 : 0;
    options.spin_microseconds = seed % 2 ? -1 : 5;
    open(options);
    Program program = Generator(seed, everything).make(10000, 100);
    Model model(program.ops, program.variables);
    std::atomic<bool> good{true};
    std::mutex textMutex;
    auto fail = [&](const std::string &why) {
      std::lock_guard<std::mutex> guard(textMutex);
      if (good.exchange(false)) // the first is the one that counts
        ADD_FAILURE() << "seed " << seed << ": " << why;
    };
    auto delay = [seed](int op) {
      // 1 to 9 us for every fourth op, the same in each run.
      uint64_t draw = mix(seed, static_cast<uint64_t>(op));
      if (draw % 4)
        return;
      int64_t until = os::monotonicNs() + 1000 * (1 + int64_t(draw / 4 % 9));
      while (os::monotonicNs() < until) {
      }
    };
    Completer completer;
    Subject subject(engine, program.ops, program.variables, fail, delay,
                    program.initial);
    subject.onDefer = [&](int op, mxrt_op_token *token) {
      completer.add(&subject, op, token);
    };
    drive(program, model, subject, fail);
    int blamed = Subject::blamed(subject.waitAll());
    if (blamed != model.waitAll())
      fail("wait_all blames " + std::to_string(blamed));
    subject.compare(model);
    if (everything) {
      // The variety is there: much runs, much is skipped.
      auto ran = std::count(model.ran.begin(), model.ran.end(), 1);
      mxrt_engine_stats stats = engine->stats();
      if (ran < 4000 || stats.skipped < 500 || stats.failed < 5)
        fail("a dull program: " + std::to_string(ran) + " ran, " +
             std::to_string(stats.skipped) + " skipped, " +
             std::to_string(stats.failed) + " failed");
    }
    for (int v = 0; v < program.variables; ++v)
      if (!subject.vars[static_cast<size_t>(v)].deleted.load())
        expectBlamed(subject.wait(v), model.wait(v), fail);
    for (auto &run : subject.runs)
      if (run.dropped.load() > 1)
        fail("payload dropped twice");
    for (size_t i = 0; i < program.top; ++i)
      if (subject.runs[i].dropped.load() != 1)
        fail("payload not dropped");
    close();
  }

  void drive(const Program &program, Model &model, Subject &subject,
             const Subject::Fail &fail) {
    std::vector<int> batch;
    auto flush = [&] {
      if (!batch.empty() && subject.pushMany(batch).failed())
        fail("push_many failed");
      batch.clear();
    };
    for (size_t i = 0; i < program.top; ++i) {
      model.push(static_cast<int>(i));
      if (i % 64 < 16) {
        batch.push_back(static_cast<int>(i));
      } else {
        flush();
        if (subject.push(static_cast<int>(i)).failed())
          fail("push failed");
      }
      const Action &action = program.actions[i];
      if (action.kind == Action::Nothing)
        continue;
      flush();
      switch (action.kind) {
      case Action::Wait:
        expectBlamed(subject.wait(action.var), model.wait(action.var), fail);
        break;
      case Action::Delete:
        if (subject.deleteVar(action.var).failed())
          fail("delete failed");
        subject.createVar(action.successor);
        break;
      case Action::WaitAll:
        expectBlamed(subject.waitAll(), model.waitAll(), fail);
        break;
      case Action::Nothing:
        break;
      }
    }
    flush();
  }

  static void expectBlamed(Status status, int wanted,
                           const Subject::Fail &fail) {
    if (Subject::blamed(status) != wanted)
      fail("blames " + std::to_string(Subject::blamed(status)) + ", not " +
           std::to_string(wanted));
  }

  void runSeeds(bool everything) {
    long first = setting("MXRT_RANDOM_FIRST", 1);
    long count = setting("MXRT_RANDOM_SEEDS", 20);
    for (long seed = first; seed < first + count && !HasFailure(); ++seed)
      runSeed(static_cast<uint64_t>(seed), everything);
  }
};

TEST_P(RandomOps, EqualASerialRun) { runSeeds(false); }
TEST_P(RandomOps, WithEverythingThatCanHappen) { runSeeds(true); }

MXRT_BOTH_ENGINES(RandomOps);

} // namespace
