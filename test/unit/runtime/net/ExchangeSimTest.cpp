// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collective calls in the simulator: datagrams are lost, doubled, damaged and
// reordered, ranks push their buckets in random order and at random times, run
// other programs, crash or are cut off. A bucket that succeeds has the bits of the
// reference, a failure has a reason, nobody waits for ever.

#include "SimCalls.h"
#include "kvstore/Reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace mxrt::test {
namespace {

using namespace kvstore;
using namespace net;

constexpr int64_t lostAfter = 2 * second, limit = 60 * second;
constexpr size_t calls = 3;
const mxrt_allocator *const alloc = mxrt_system_allocator();

enum class Event { None, Crash, OtherModel, Leaves, Fails };

struct Scenario {
  uint64_t seed;
  int ranks;
  Layout layout;
  SimFaults faults;
  Event event;
  int victim;
  int64_t eventAt;
  std::vector<std::vector<int64_t>> keys; // sizes, the same for all calls
  Action actions[calls];
};

Scenario scenarioOf(uint64_t seed) {
  SimRandom random(seed * 0x9E3779B97F4A7C15 + 17);
  Scenario s = {};
  s.seed = seed;
  s.ranks = int(1 + random.below(6));
  s.layout.topology = Topology(random.below(4));
  s.layout.outer = Topology(random.below(3));
  s.layout.inner = int(1 + random.below(3));
  s.layout.pieceBytes = size_t(64) << random.below(6);
  if (random.chance(0.6)) {
    s.faults.drop = 0.2 * double(random.below(100)) / 100;
    s.faults.duplicate = 0.1;
    s.faults.damage = 0.05;
    s.faults.reorder = 0.2;
    s.faults.jitterNs = millisecond;
  }
  s.event = s.ranks > 1 ? Event(std::max<int64_t>(0, int64_t(random.below(9)) - 4)) : Event::None;
  s.victim = int(random.below(uint64_t(s.ranks)));
  s.eventAt = int64_t(random.below(6 * millisecond));
  for (size_t i = 0, count = 1 + random.below(5); i < count; ++i)
    s.keys.push_back({int64_t(random.below(3) == 0 ? random.below(2) : random.below(150))});
  for (Action &action : s.actions)
    action = random.chance(0.5) ? Action::Average : Action::Sum;
  return s;
}

float element(const Scenario &s, size_t call, int rank, size_t bucket, size_t i) {
  SimRandom random(s.seed ^ call << 56 ^ uint64_t(rank) << 48 ^ bucket << 40 ^ i);
  return float(std::ldexp(double(random.next() >> 11) * 0x1p-53 - 0.5, int(random.below(30)) - 15));
}
double weightOf(int rank) { return rank == 1 ? 0 : 1 + 2 * rank; }

struct Process {
  std::unique_ptr<Session> session;
  std::unique_ptr<Exchange> exchange;
  std::vector<std::unique_ptr<KeyTable>> tables;
  Calls calls;
  Pushes pushes;
  bool left = false;
  bool done() const { return allDone(pushes, calls); }
};

class Job {
public:
  explicit Job(const Scenario &scenario)
      : s(scenario), sim(alloc, scenario.seed, scenario.ranks) {}
  std::string go();
  int succeeded = 0, failed = 0;
  uint64_t digest() const { return sim.digest(); }

private:
  void start(int rank);
  void pushDue(int rank);
  void happen();
  std::string judge(int rank);
  std::vector<float> reference(size_t call, size_t bucket);

  const Scenario &s;
  Sim sim;
  std::vector<Process> processes;
};

void Job::start(int rank) {
  Process &process = processes[size_t(rank)];
  SessionOptions options;
  options.fragmentBytes = 256;
  options.retryNs = 5 * millisecond;
  options.lostAfterNs = lostAfter;
  options.verifyBuffers = true;
  process.session =
      std::make_unique<Session>(alloc, rank, s.ranks, sim.datagrams(rank), sim, options);
  ASSERT_TRUE(process.session->open().ok());
  process.exchange = std::make_unique<Exchange>(*process.session);
  SimRandom random(s.seed + 31 * uint64_t(rank));
  for (size_t c = 0; c < calls; ++c) {
    std::vector<std::vector<int64_t>> shapes = s.keys;
    if (s.event == Event::OtherModel && rank == s.victim && c == 1)
      shapes[0][0] += 1;
    std::vector<std::string> names;
    std::vector<KeySpec> specs;
    for (size_t i = 0; i < shapes.size(); ++i)
      names.push_back("key" + std::to_string(i));
    for (size_t i = 0; i < shapes.size(); ++i)
      specs.push_back({names[i], MXRT_F32, shapes[i], Form::Dense});
    auto table = std::make_unique<KeyTable>(alloc);
    ASSERT_TRUE(table->make(s.actions[c], specs, s.layout, rank, s.ranks, {256, 512}).ok());
    auto call = std::make_unique<Call>(alloc, *table, weightOf(rank));
    process.pushes.emplace_back();
    for (size_t b = 0; b < table->buckets.size(); ++b) {
      auto push = std::make_unique<Push>();
      for (size_t i = 0; i < table->buckets[b].elements(); ++i)
        push->memory.push_back(element(s, c, rank, b, i));
      push->at = int64_t(random.below(5 * millisecond));
      process.pushes.back().push_back(std::move(push));
    }
    process.tables.push_back(std::move(table));
    process.calls.push_back(std::move(call));
  }
  for (auto &call : process.calls)
    process.exchange->begin(*call);
}

void Job::pushDue(int rank) {
  Process &process = processes[size_t(rank)];
  for (size_t c = 0; c < calls; ++c)
    for (size_t b = 0; b < process.pushes[c].size(); ++b) {
      Push &push = *process.pushes[c][b];
      if (push.pushed || push.at > sim.now())
        continue;
      push.pushed = true;
      auto done = [](void *user, Status status) {
        auto &push = *static_cast<Push *>(user);
        EXPECT_FALSE(push.done) << "told twice";
        push.done = true;
        push.status = std::move(status);
      };
      process.exchange->push(*process.calls[c], uint32_t(b), push.memory.data(), {done, &push});
    }
}

void Job::happen() {
  Process &victim = processes[size_t(s.victim)];
  if (s.event == Event::Crash) {
    sim.crash(s.victim);
  } else if (s.event == Event::Leaves) {
    victim.calls.clear(); // a session has no word for it: it is silent from now on
    victim.exchange.reset();
    victim.session.reset();
    victim.left = true;
  } else if (s.event == Event::Fails) {
    victim.exchange->fail(error(alloc, MXRT_NAN_FOUND, noLocation, "a gradient is not a number"));
  }
}

std::vector<float> Job::reference(size_t c, size_t b) {
  size_t count = processes[0].tables.empty() ? 0 : processes[0].tables[c]->buckets[b].elements();
  std::vector<std::vector<float>> inputs(size_t(s.ranks), std::vector<float>(count));
  std::vector<const float *> rows;
  std::vector<double> weights;
  for (int rank = 0; rank < s.ranks; ++rank) {
    for (size_t i = 0; i < count; ++i)
      inputs[size_t(rank)][i] = element(s, c, rank, b, i);
    rows.push_back(inputs[size_t(rank)].data());
    weights.push_back(weightOf(rank));
  }
  std::vector<float> out(count);
  if (s.actions[c] == Action::Average)
    referenceMean(s.layout, s.ranks, rows.data(), weights.data(), count, out.data());
  else
    referenceSum(s.layout, s.ranks, rows.data(), count, out.data());
  return out;
}

std::string Job::judge(int rank) {
  Process &process = processes[size_t(rank)];
  std::string who = "rank " + std::to_string(rank);
  if (!process.done())
    return who + " hangs";
  for (size_t c = 0; c < calls; ++c)
    for (size_t b = 0; b < process.pushes[c].size(); ++b) {
      Push &push = *process.pushes[c][b];
      std::string where = who + ", call " + std::to_string(c) + ", bucket " + std::to_string(b);
      if (push.status.ok()) {
        ++succeeded;
        if (s.event == Event::OtherModel && c >= 1)
          return where + " succeeded in spite of another model";
        std::vector<float> wanted = reference(c, b);
        if (wanted.size() != push.memory.size() ||
            (!wanted.empty() &&
             std::memcmp(wanted.data(), push.memory.data(), wanted.size() * sizeof(float)) != 0))
          return where + " has other bits than the reference";
        continue;
      }
      ++failed;
      std::string text = push.status.message();
      std::string victim = "rank " + std::to_string(s.victim);
      bool expected = false;
      if (s.event == Event::OtherModel)
        expected = push.status.code() == MXRT_KVSTORE_MISMATCH && c >= 1 &&
                   text.find(victim) != text.npos;
      else if (s.event == Event::Fails && rank == s.victim)
        expected = push.status.code() == MXRT_NAN_FOUND;
      else if (s.event != Event::None)
        expected = push.status.code() == MXRT_KVSTORE && text.find(victim + " is lost") == 0;
      if (!expected)
        return where + " failed: " + text;
    }
  return "";
}

std::string Job::go() {
  sim.faults = s.faults;
  processes.resize(size_t(s.ranks));
  EXPECT_TRUE(sim.open().ok());
  for (int rank = 0; rank < s.ranks; ++rank) {
    start(rank);
    sim.wake(rank, sim.now());
  }
  bool happened = s.event == Event::None || s.event == Event::OtherModel;
  for (;;) {
    int rank = sim.next(happened ? limit : s.eventAt);
    if (rank < 0) {
      if (happened)
        break;
      happen();
      happened = true;
      continue;
    }
    Process &process = processes[size_t(rank)];
    if (!process.session)
      continue;
    process.session->progress();
    pushDue(rank);
    // As a rank that is about to leave.
    if (process.exchange->failure().failed())
      process.exchange->abandon();
    sim.wake(rank, nextDue(*process.session, process.pushes));
    bool all = happened;
    for (int r = 0; r < s.ranks && all; ++r)
      all = !sim.alive(r) || processes[size_t(r)].left || processes[size_t(r)].done();
    if (all)
      break;
  }
  std::string mistake;
  for (int rank = 0; rank < s.ranks && mistake.empty(); ++rank)
    if (sim.alive(rank) && !processes[size_t(rank)].left)
      mistake = judge(rank);
  for (Process &process : processes) {
    process.calls.clear();
    process.exchange.reset();
    process.session.reset();
  }
  return mistake;
}

TEST(ExchangeSim, InvariantsHoldForManySeeds) {
  const char *first = std::getenv("MX_SIM_FIRST"), *seeds = std::getenv("MX_SIM_SEEDS");
  uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 1;
  uint64_t count = seeds ? std::strtoull(seeds, nullptr, 10) : 1500;
  int succeeded = 0, failed = 0;
  for (uint64_t seed = begin; seed < begin + count; ++seed) {
    Scenario scenario = scenarioOf(seed);
    Job run(scenario);
    std::string mistake = run.go();
    ASSERT_EQ(mistake, "") << "seed " << seed << ", " << scenario.ranks << " ranks, "
                           << topologyName(scenario.layout.topology) << ", event "
                           << int(scenario.event) << " of rank " << scenario.victim;
    succeeded += run.succeeded;
    failed += run.failed;
  }
  std::printf("%llu seeds: %d exchanges succeeded, %d failed with a name\n",
              (unsigned long long)count, succeeded, failed);
  if (count >= 1000) {
    EXPECT_GT(succeeded, int(count));
    EXPECT_GT(failed, int(count) / 10);
  }
}

TEST(ExchangeSim, SameSeedSameRun) {
  for (uint64_t seed : {3, 77, 1234}) {
    Scenario scenario = scenarioOf(seed);
    Job a(scenario), b(scenario);
    EXPECT_EQ(a.go(), b.go());
    EXPECT_EQ(a.digest(), b.digest());
  }
}

} // namespace
} // namespace mxrt::test
