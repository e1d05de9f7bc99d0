// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dependency engine benchmark: op overhead, wake-up latency and parallel_for.

#include "EngineBench.h"

#include "mxrt/engine.h"
#include "mxrt/parallel.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace mx::bench {
namespace {

constexpr int opsPerBlock = 20000;
constexpr int tripsPerBlock = 2000;
constexpr int loopsPerBlock = 1000;

[[noreturn]] void giveUp(mxrt_status status) {
  std::fprintf(stderr, "mxc-bench: %s\n", mxrt_status_message(status));
  std::exit(1);
}
void check(mxrt_status status) {
  if (status)
    giveUp(status);
}

mxrt_status count(mxrt_op_context *, void *payload) {
  ++*static_cast<long *>(payload);
  return nullptr;
}

/// An engine with its variables, and ops on them.
class Ours {
public:
  Ours(int workers, mxrt_engine_kind kind, int spinMicroseconds) {
    mxrt_engine_options options = {};
    options.kind = kind;
    options.workers_per_device = workers;
    options.spin_microseconds = spinMicroseconds;
    check(mxrt_engine_create(&options, &engine));
    vars.resize(counterCount);
    for (mxrt_var &var : vars)
      check(mxrt_engine_new_var(engine, &var));
  }
  ~Ours() { mxrt_engine_destroy(engine); }
  Ours(const Ours &) = delete;

  mxrt_op op(int var, void *payload, mxrt_op_fn run = count) const {
    mxrt_op op = {};
    op.run = run;
    op.payload = payload;
    op.writes = &vars[static_cast<size_t>(var)];
    op.write_count = 1;
    op.name = "bench";
    return op;
  }
  void push(const mxrt_op &op) { check(mxrt_engine_push(engine, &op)); }
  void wait(int var) {
    check(mxrt_engine_wait(engine, vars[static_cast<size_t>(var)], {}));
  }
  bool poll(int var) {
    int32_t idle = 0;
    check(mxrt_engine_poll(engine, vars[static_cast<size_t>(var)], &idle));
    return idle != 0;
  }
  void waitAll() { check(mxrt_engine_wait_all(engine, {})); }
  void pushMany(const std::vector<mxrt_op> &ops) {
    check(mxrt_engine_push_many(engine, ops.data(), ops.size(), nullptr));
  }

private:
  mxrt_engine *engine = nullptr;
  std::vector<mxrt_var> vars;
};

double independent(Ours &ours, long *counters) {
  double begin = now();
  for (int i = 0; i < opsPerBlock; ++i)
    ours.push(ours.op(i % counterCount, &counters[i % counterCount * 8]));
  ours.waitAll();
  return (now() - begin) / opsPerBlock;
}

double batched(Ours &ours, long *counters) {
  std::vector<mxrt_op> batch(32);
  double begin = now();
  for (int i = 0; i < opsPerBlock; i += 32) {
    for (int k = 0; k < 32; ++k)
      batch[static_cast<size_t>(k)] = ours.op(
          (i + k) % counterCount, &counters[(i + k) % counterCount * 8]);
    ours.pushMany(batch);
  }
  ours.waitAll();
  return (now() - begin) / opsPerBlock;
}

double dependent(Ours &ours, long *counter) {
  double begin = now();
  for (int i = 0; i < opsPerBlock; ++i)
    ours.push(ours.op(0, counter));
  ours.waitAll();
  return (now() - begin) / opsPerBlock;
}

double roundTrip(Ours &ours, long *counter, uint32_t flags) {
  double begin = now();
  for (int i = 0; i < tripsPerBlock; ++i) {
    mxrt_op op = ours.op(0, counter);
    op.flags = flags;
    ours.push(op);
    ours.wait(0);
  }
  return (now() - begin) / tripsPerBlock;
}

/// Time from a push until a worker has run the op. The caller only polls, so it does not help with
/// the work.
double wakeUp(Ours &ours, long *counter) {
  double begin = now();
  for (int i = 0; i < tripsPerBlock; ++i) {
    ours.push(ours.op(0, counter));
    while (!ours.poll(0)) {
    }
  }
  return (now() - begin) / tripsPerBlock;
}

/// About `micros` of work that the compiler cannot remove.
struct Burn {
  double micros;
  static mxrt_status run(mxrt_op_context *, void *payload) {
    double until = now() + static_cast<Burn *>(payload)->micros;
    while (now() < until) {
    }
    return nullptr;
  }
};

double burn(Ours &ours, Burn &work, int ops) {
  double begin = now();
  for (int i = 0; i < ops; ++i)
    ours.push(ours.op(i % counterCount, &work, Burn::run));
  ours.waitAll();
  return (now() - begin) / ops;
}

std::vector<EnginePeer> allPeers() {
  std::vector<EnginePeer> peers;
#ifdef MX_BENCH_TBB
  addTbbPeers(peers);
#endif
#ifdef MX_BENCH_OPENMP
  addOpenMpPeers(peers);
#endif
  return peers;
}

/// Ours first, then the peers that have `member`.
template <typename Member, typename Call>
void addPeers(std::vector<Contender> &to, const std::vector<EnginePeer> &peers,
              Member member, int units, Call call) {
  for (const EnginePeer &peer : peers)
    if (peer.*member)
      to.push_back({peer.name, [&peer, units, call] {
                      double begin = now();
                      call(peer);
                      return (now() - begin) / units;
                    }});
}

void compareOps(Report &report, const std::vector<EnginePeer> &peers,
                Ours &one, Ours &two, Ours &naive, long *counters) {
  std::vector<Contender> list = {
      {"mxrt, 1 worker", [&] { return independent(one, counters); }},
      {"mxrt, push_many(32)", [&] { return batched(one, counters); }},
      {"mxrt, 2 workers", [&] { return independent(two, counters); }},
      {"mxrt naive", [&] { return independent(naive, counters); }}};
  addPeers(list, peers, &EnginePeer::independent, opsPerBlock,
           [counters](const EnginePeer &peer) {
             peer.independent(opsPerBlock, counters);
           });
  report.compare("independent op", 0.3, list);

  list = {{"mxrt, 1 worker", [&] { return dependent(one, counters); }},
          {"mxrt, 2 workers", [&] { return dependent(two, counters); }},
          {"mxrt naive", [&] { return dependent(naive, counters); }}};
  addPeers(list, peers, &EnginePeer::dependent, opsPerBlock,
           [counters](const EnginePeer &peer) {
             peer.dependent(opsPerBlock, counters);
           });
  report.compare("dependent op", 0, list);
}

void compareWakeUps(Report &report, const std::vector<EnginePeer> &peers,
                    Ours &spinning, Ours &sleeping, long *counters) {
  std::vector<Contender> list = {
      {"mxrt, spinning", [&] { return roundTrip(spinning, counters, 0); }},
      {"mxrt, sleeping", [&] { return roundTrip(sleeping, counters, 0); }},
      {"mxrt, inline",
       [&] { return roundTrip(spinning, counters, MXRT_OP_INLINE); }}};
  addPeers(list, peers, &EnginePeer::roundTrip, tripsPerBlock,
           [counters](const EnginePeer &peer) {
             for (int i = 0; i < tripsPerBlock; ++i)
               peer.roundTrip(counters);
           });
  report.compare("round trip: push and wait", 1.0, list);
  list = {{"mxrt, spinning", [&] { return wakeUp(spinning, counters); }},
          {"mxrt, sleeping", [&] { return wakeUp(sleeping, counters); }}};
  report.compare("wake-up: push and poll", 0, list);
  report.note("a wait may run the op it waits for on its own thread, here as in "
              "TBB; the rows of wake-ups always need a worker");
}

void compareLoops(Report &report, const std::vector<EnginePeer> &peers,
                  long *counters) {
  mxrt_thread_budget *budget = nullptr;
  mxrt_team *team = nullptr;
  check(mxrt_thread_budget_create(nullptr, 2, &budget));
  check(mxrt_team_create(nullptr, budget, &team));
  mxrt_context context;
  mxrt_context_init(&context);
  context.team = team;
  constexpr int chunks = 8;
  auto loop = [&] {
    check(mxrt_parallel_for(
        &context, chunks, 1,
        [](void *user, int64_t begin, int64_t, int64_t,
           const mxrt_context *) -> mxrt_status {
          ++static_cast<long *>(user)[begin * 8];
          return nullptr;
        },
        counters));
  };
  std::vector<Contender> list = {{"mxrt, 2 threads", [&] {
                                    double begin = now();
                                    for (int i = 0; i < loopsPerBlock; ++i)
                                      loop();
                                    return (now() - begin) / loopsPerBlock;
                                  }}};
  addPeers(list, peers, &EnginePeer::parallelFor, loopsPerBlock,
           [counters](const EnginePeer &peer) {
             for (int i = 0; i < loopsPerBlock; ++i)
               peer.parallelFor(chunks, counters);
           });
  report.compare("parallel_for, 8 empty chunks", 2.0, list);
  mxrt_team_destroy(team);
  mxrt_thread_budget_destroy(budget);
}

void compareScaling(Report &report, Ours &one, Ours &two) {
  for (double micros : {2.0, 20.0, 200.0}) {
    Burn work{micros};
    int ops = static_cast<int>(20000 / micros);
    char title[40];
    std::snprintf(title, sizeof title, "op of %g us", micros);
    // Two workers first, so that the ratio is the speed-up.
    report.compare(title, 0,
                   {{"mxrt, 2 workers", [&] { return burn(two, work, ops); }},
                    {"mxrt, 1 worker", [&] { return burn(one, work, ops); }}});
  }
}

} // namespace
} // namespace mx::bench

int runEngineBench(int argc, char **argv) {
  using namespace mx::bench;
  int blocks = 30;
  const char *json = takeJson(argc, argv);
  for (int i = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--blocks") == 0 && i + 1 < argc) {
      blocks = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "usage: mxc-bench engine [--blocks N] [--json FILE]\n");
      return 2;
    }
  }
  if (blocks < 1)
    blocks = 1;
  std::vector<long> counters(counterCount * 8);
  std::vector<EnginePeer> peers = allPeers();
  // Fifty microseconds bridge the gaps inside a block, so these workers spin.
  Ours one(1, MXRT_ENGINE_THREADED, 50), two(2, MXRT_ENGINE_THREADED, 50);
  Ours sleeping(1, MXRT_ENGINE_THREADED, -1), naive(1, MXRT_ENGINE_NAIVE, 0);
  Report report(blocks);
  compareOps(report, peers, one, two, naive, counters.data());
  compareWakeUps(report, peers, one, sleeping, counters.data());
  compareLoops(report, peers, counters.data());
  compareScaling(report, one, two);
  report.printTable(stdout);
  if (json && !writeJson(json, [&](std::FILE *to) { report.printJson(to); }))
    return 1;
  return report.goalsMet() ? 0 : 3;
}
