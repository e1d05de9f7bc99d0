// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows and factors in the simulator: random forms, numbers of rows and weights, datagrams that are
// lost, doubled, damaged and reordered, ranks that crash or fail. What succeeds has the bits of the
// dense mean, or the factors of all ranks; a failure names the rank; nobody waits for ever.

#include "kvstore/Exchange.h"
#include "kvstore/Reference.h"
#include "net/Sim.h"

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
const mxrt_allocator *const alloc = mxrt_system_allocator();

enum class Event { None, Crash, Fails };

struct KeyCase {
  Form form;
  int64_t rows, columns;
};
struct Scenario {
  uint64_t seed;
  int ranks;
  Layout layout;
  SimFaults faults;
  Event event;
  int victim;
  int64_t eventAt;
  std::vector<KeyCase> keys;
};

Scenario scenarioOf(uint64_t seed) {
  SimRandom random(seed * 0x9E3779B97F4A7C15 + 99);
  Scenario s = {};
  s.seed = seed;
  s.ranks = int(1 + random.below(5));
  s.layout.topology = Topology(random.below(4));
  s.layout.outer = Topology(random.below(3));
  s.layout.inner = int(1 + random.below(3));
  s.layout.pieceBytes = size_t(64) << random.below(6);
  if (random.chance(0.6)) {
    s.faults.drop = 0.15;
    s.faults.duplicate = 0.1;
    s.faults.damage = 0.05;
    s.faults.reorder = 0.2;
    s.faults.jitterNs = millisecond;
  }
  if (s.ranks > 1 && random.chance(0.3))
    s.event = random.chance(0.5) ? Event::Crash : Event::Fails;
  s.victim = int(random.below(uint64_t(s.ranks)));
  s.eventAt = int64_t(random.below(8 * millisecond));
  for (size_t i = 0, count = 1 + random.below(4); i < count; ++i)
    s.keys.push_back({Form(random.below(formCount)), int64_t(1 + random.below(60)),
                      int64_t(1 + random.below(9))});
  return s;
}

double weightOf(const Scenario &s, int rank) {
  return rank == 1 && s.seed % 3 == 0 ? 0 : 0.5 + rank;
}

/// What a rank has of a key.
struct Held {
  std::vector<float> dense, rows; // of the key; of its rows or of u and v
  std::vector<int32_t> index;
  uint64_t count = 0;
};
Held heldBy(const Scenario &s, int rank, size_t key) {
  SimRandom random(s.seed ^ uint64_t(rank) << 48 ^ key << 40);
  auto number = [&] { return float(std::ldexp(double(random.next() >> 11) * 0x1p-53 - 0.5,
                                              int(random.below(30)) - 15)); };
  const KeyCase &of = s.keys[key];
  Held held;
  held.dense.resize(size_t(of.rows * of.columns));
  if (of.form == Form::Dense || (of.form == Form::Rows && random.chance(0.1))) {
    for (float &value : held.dense)
      value = number();
    held.count = allElements;
  } else if (of.form == Form::Rows) {
    held.count = random.below(uint64_t(random.chance(0.7) ? of.rows / 8 + 2 : of.rows + 3));
    for (uint64_t i = 0; i < held.count; ++i) {
      auto row = int64_t(random.below(uint64_t(random.chance(0.5) ? of.rows : 1)));
      held.index.push_back(int32_t(random.chance(0.5) ? row : row - of.rows));
      for (int64_t j = 0; j < of.columns; ++j) {
        held.rows.push_back(number());
        held.dense[size_t(row * of.columns + j)] += held.rows.back();
      }
    }
  } else {
    for (float &value : held.dense) // the matmul, where it does not travel as factors
      value = number();
    held.count = random.below(20);
    for (int64_t i = 0; i < int64_t(held.count) * (of.rows + of.columns); ++i)
      held.rows.push_back(number());
  }
  return held;
}

struct Push {
  std::vector<double> memory; // aligned
  std::vector<float> parts;   // what has to be there, for factors
  Held held;
  bool pushed = false, done = false, isOver = false;
  int64_t at = 0;
  Status status;
};
struct Process {
  std::unique_ptr<Session> session;
  std::unique_ptr<Exchange> exchange;
  std::unique_ptr<KeyTable> table;
  std::unique_ptr<Call> call;
  std::vector<std::unique_ptr<Push>> pushes; // of each bucket
  bool agreed = false;
  Status agreement;
  bool done() const {
    if (!agreed || !call->finished())
      return false;
    return std::all_of(pushes.begin(), pushes.end(), [](auto &push) { return push->done; });
  }
};

class Job {
public:
  explicit Job(const Scenario &scenario)
      : s(scenario), sim(alloc, scenario.seed, scenario.ranks) {}
  std::string go();
  int succeeded[formCount] = {}, failed = 0;

private:
  void start(int rank);
  void pushDue(int rank);
  std::string judge(int rank);
  std::string compare(Process &process, uint32_t bucket);

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
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<KeySpec> specs;
  for (size_t i = 0; i < s.keys.size(); ++i) {
    names.push_back("key" + std::to_string(i));
    shapes.push_back({s.keys[i].rows, s.keys[i].columns});
  }
  for (size_t i = 0; i < s.keys.size(); ++i)
    specs.push_back({names[i], MXRT_F32, shapes[i], s.keys[i].form});
  process.table = std::make_unique<KeyTable>(alloc);
  // A bucket for each key.
  ASSERT_TRUE(
      process.table->make(Action::Average, specs, s.layout, rank, s.ranks, {1, 1}).ok());
  auto agreed = [](void *user, Status status) {
    auto &process = *static_cast<Process *>(user);
    process.agreed = true;
    process.agreement = std::move(status);
  };
  process.call = std::make_unique<Call>(alloc, *process.table, weightOf(s, rank),
                                        ExchangeDone{agreed, &process});
  std::vector<uint64_t> counts;
  for (const Bucket &bucket : process.table->buckets) {
    auto push = std::make_unique<Push>();
    push->held = heldBy(s, rank, bucket.first);
    push->at = int64_t(random.below(5 * millisecond));
    process.pushes.push_back(std::move(push));
  }
  for (const Key &key : process.table->keys)
    if (key.form != Form::Dense)
      counts.push_back(process.pushes[key.bucket]->held.count);
  ASSERT_TRUE(process.call->announce(counts));
  process.exchange->begin(*process.call);
}

void Job::pushDue(int rank) {
  Process &process = processes[size_t(rank)];
  for (uint32_t b = 0; b < process.pushes.size(); ++b) {
    Push &push = *process.pushes[b];
    const Key &key = process.table->keys[process.table->buckets[b].first];
    bool isMatmul = key.form == Form::Factors || key.form == Form::Cheaper;
    if (push.pushed || push.at > sim.now() || (isMatmul && !process.agreed))
      continue;
    push.pushed = true;
    auto done = [](void *user, Status status) {
      auto &push = *static_cast<Push *>(user);
      EXPECT_FALSE(push.done) << "told twice";
      push.done = true;
      push.status = std::move(status);
    };
    if (isMatmul && process.agreement.failed()) {
      done(&push, process.agreement.share());
      continue;
    }
    OwnRows own;
    if (isMatmul && process.call->travels(b) == Form::Factors) {
      Vec<Part> parts(alloc);
      size_t bytes = 0;
      ASSERT_TRUE(process.call->factorParts(b, parts, bytes).ok());
      push.memory.resize(bytes / 8 + 1);
      std::span<const uint64_t> counts = process.call->countsOf(key);
      if (counts[size_t(rank)] > 0)
        for (size_t side = 0, from = 0; side < 2; ++side) {
          Range range = parts[2 * size_t(rank) + side].range;
          std::memcpy(reinterpret_cast<char *>(push.memory.data()) + range.begin,
                      push.held.rows.data() + from, range.count);
          from += range.count / sizeof(float);
        }
    } else {
      push.memory.resize(key.elements / 2 + 1);
      if (push.held.count == allElements || isMatmul) // a matmul that is made here
        std::memcpy(push.memory.data(), push.held.dense.data(), key.elements * sizeof(float));
      if (key.form == Form::Rows)
        own = {push.held.rows.data(), push.held.index.data(), MXRT_I32,
               size_t(push.held.count)};
    }
    process.exchange->push(*process.call, b, push.memory.data(), {done, &push}, own);
  }
}

std::string Job::compare(Process &process, uint32_t bucket) {
  Push &push = *process.pushes[bucket];
  size_t key = process.table->buckets[bucket].first;
  const Key &of = process.table->keys[key];
  const char *memory = reinterpret_cast<const char *>(push.memory.data());
  Form form = process.call->travels(bucket);
  ++succeeded[size_t(form)];
  if (form == Form::Factors) {
    Vec<Part> parts(alloc);
    size_t bytes = 0;
    EXPECT_TRUE(process.call->factorParts(bucket, parts, bytes).ok());
    for (int rank = 0; rank < s.ranks; ++rank) {
      Held held = heldBy(s, rank, key);
      uint64_t count = process.call->countsOf(of)[size_t(rank)];
      if (count != (weightOf(s, rank) == 0 ? 0 : held.count))
        return "wrong number of rows of rank " + std::to_string(rank);
      for (size_t side = 0, from = 0; side < 2 && count > 0; ++side) {
        Range range = parts[2 * size_t(rank) + side].range;
        if (range.count > 0 &&
            std::memcmp(memory + range.begin, held.rows.data() + from, range.count) != 0)
          return "other factors of rank " + std::to_string(rank);
        from += range.count / sizeof(float);
      }
    }
    return "";
  }
  std::vector<std::vector<float>> inputs;
  std::vector<const float *> rows;
  std::vector<double> weights;
  for (int rank = 0; rank < s.ranks; ++rank) {
    inputs.push_back(heldBy(s, rank, key).dense);
    weights.push_back(weightOf(s, rank));
  }
  for (auto &input : inputs)
    rows.push_back(input.data());
  std::vector<float> wanted(of.elements);
  referenceMean(s.layout, s.ranks, rows.data(), weights.data(), of.elements, wanted.data());
  if (std::memcmp(wanted.data(), memory, of.elements * sizeof(float)) != 0)
    return "other bits than the reference";
  return "";
}

std::string Job::judge(int rank) {
  Process &process = processes[size_t(rank)];
  std::string who = "rank " + std::to_string(rank);
  if (!process.done())
    return who + " hangs";
  for (uint32_t b = 0; b < process.pushes.size(); ++b) {
    Push &push = *process.pushes[b];
    if (push.status.ok()) {
      if (std::string mistake = compare(process, b); !mistake.empty())
        return who + ", bucket " + std::to_string(b) + ": " + mistake;
      continue;
    }
    ++failed;
    std::string text = push.status.message();
    bool own = s.event == Event::Fails && rank == s.victim;
    bool expected = own ? push.status.code() == MXRT_NAN_FOUND
                        : s.event != Event::None && push.status.code() == MXRT_KVSTORE &&
                              text.find("rank " + std::to_string(s.victim) + " is lost") == 0;
    if (!expected)
      return who + " failed: " + text;
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
  bool happened = s.event == Event::None;
  for (;;) {
    int rank = sim.next(happened ? limit : s.eventAt);
    if (rank < 0) {
      if (happened)
        break;
      if (s.event == Event::Crash)
        sim.crash(s.victim);
      else
        processes[size_t(s.victim)].exchange->fail(
            error(alloc, MXRT_NAN_FOUND, noLocation, "a gradient is not a number"));
      happened = true;
      continue;
    }
    Process &process = processes[size_t(rank)];
    process.session->progress();
    pushDue(rank);
    if (process.exchange->failure().failed())
      process.exchange->abandon();
    int64_t next = process.session->nextDeadline();
    for (auto &push : process.pushes)
      if (!push->pushed && push->at > sim.now())
        next = std::min(next, push->at);
    sim.wake(rank, next);
    bool all = happened;
    for (int r = 0; r < s.ranks && all; ++r)
      all = !sim.alive(r) || processes[size_t(r)].done();
    if (all)
      break;
  }
  std::string mistake;
  for (int rank = 0; rank < s.ranks && mistake.empty(); ++rank)
    if (sim.alive(rank))
      mistake = judge(rank);
  for (Process &process : processes) {
    process.call.reset();
    process.exchange.reset();
    process.session.reset();
  }
  return mistake;
}

TEST(FormsSim, InvariantsHoldForManySeeds) {
  const char *first = std::getenv("MX_SIM_FIRST"), *seeds = std::getenv("MX_SIM_SEEDS");
  uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 1;
  uint64_t count = seeds ? std::strtoull(seeds, nullptr, 10) : 1500;
  int succeeded[formCount] = {}, failed = 0;
  for (uint64_t seed = begin; seed < begin + count; ++seed) {
    Scenario scenario = scenarioOf(seed);
    Job run(scenario);
    std::string mistake = run.go();
    ASSERT_EQ(mistake, "") << "seed " << seed << ", " << scenario.ranks << " ranks, "
                           << topologyName(scenario.layout.topology) << ", event "
                           << int(scenario.event) << " of rank " << scenario.victim;
    for (int form = 0; form < formCount; ++form)
      succeeded[form] += run.succeeded[form];
    failed += run.failed;
  }
  if (count >= 1000) {
    for (Form form : {Form::Dense, Form::Rows, Form::Factors})
      EXPECT_GT(succeeded[size_t(form)], int(count) / 5) << formName(form);
    EXPECT_GT(failed, int(count) / 20);
  }
}

} // namespace
} // namespace mxrt::test
