// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EncodedRun.h"

#include "SimCalls.h"

#include <cmath>
#include <cstring>
#include <memory>

namespace mxrt::test {

using namespace kvstore;
using namespace net;

namespace {

constexpr int64_t lostAfter = 2 * second, limit = 60 * second;
constexpr size_t calls = 4, barredCall = 1; // of Event::NoWeight
const mxrt_allocator *const alloc = mxrt_system_allocator();

float element(uint64_t seed, size_t call, int rank, size_t bucket, size_t i) {
  SimRandom random(seed ^ call << 56 ^ uint64_t(rank) << 48 ^ bucket << 40 ^ i);
  return float(std::ldexp(double(random.next() >> 11) * 0x1p-53 - 0.5, int(random.below(8)) - 4));
}

struct Process {
  std::unique_ptr<Session> session;
  std::unique_ptr<Exchange> exchange;
  std::unique_ptr<KeyTable> table;
  std::vector<Residual> residuals;
  Calls calls;
  Pushes pushes;
  bool done() const { return allDone(pushes, calls); }
};

class Job {
public:
  explicit Job(const EncodedScenario &scenario)
      : s(scenario), sim(alloc, scenario.seed, scenario.ranks) {}
  EncodedOutcome go();

private:
  bool isBarred(size_t call) const {
    return s.event == EncodedScenario::NoWeight && call == barredCall;
  }
  void start(int rank);
  void pushDue(int rank);
  std::string judge();
  std::string judgeBucket(size_t bucket);
  std::string judgeTraffic(int rank);

  const EncodedScenario &s;
  Sim sim;
  std::vector<Process> processes;
  EncodedOutcome outcome;
};

void Job::start(int rank) {
  Process &process = processes[size_t(rank)];
  SessionOptions options;
  options.fragmentBytes = 128;
  options.retryNs = 5 * millisecond;
  options.lostAfterNs = lostAfter;
  options.verifyBuffers = true;
  process.session =
      std::make_unique<Session>(alloc, rank, s.ranks, sim.datagrams(rank), sim, options);
  (void)process.session->open();
  process.exchange = std::make_unique<Exchange>(*process.session);
  std::vector<std::string> names;
  std::vector<KeySpec> specs;
  for (size_t i = 0; i < s.keys.size(); ++i)
    names.push_back("key" + std::to_string(i));
  for (size_t i = 0; i < s.keys.size(); ++i)
    specs.push_back({names[i], MXRT_F32, {&s.keys[i], 1}, Form::Dense});
  process.table = std::make_unique<KeyTable>(alloc);
  Status made =
      process.table->make(Action::Average, specs, s.layout, rank, s.ranks, {256, 512}, s.codec);
  if (made.failed())
    outcome.mistake = made.message();
  SimRandom random(s.seed + 31 * uint64_t(rank));
  const Vec<Bucket> &buckets = process.table->buckets;
  for (size_t b = 0; b < buckets.size(); ++b)
    process.residuals.emplace_back(alloc);
  for (size_t c = 0; c < calls; ++c) {
    process.pushes.emplace_back();
    for (size_t b = 0; b < buckets.size(); ++b) {
      auto push = std::make_unique<Push>();
      for (size_t i = 0; i < buckets[b].elements(); ++i)
        push->memory.push_back(element(s.seed, c, rank, b, i));
      push->at = int64_t(random.below(5 * millisecond));
      process.pushes.back().push_back(std::move(push));
    }
    process.calls.push_back(
        std::make_unique<Call>(alloc, *process.table, isBarred(c) ? 0 : s.weights[size_t(rank)],
                               ExchangeDone(), std::span<Residual>(process.residuals)));
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
        push.done = true;
        push.status = std::move(status);
      };
      process.exchange->push(*process.calls[c], uint32_t(b), push.memory.data(), {done, &push});
    }
}

/// Bits of the results, what is kept after failures, and that nothing is lost.
std::string Job::judgeBucket(size_t b) {
  const KeyTable &table = *processes[0].table;
  Encoding encoding = table.encodingOf(table.buckets[b]);
  size_t count = table.buckets[b].elements();
  EncodedReference reference;
  reference.residuals.assign(size_t(s.ranks), std::vector<float>(count));
  // Residuals after so many calls that succeeded.
  std::vector<std::vector<std::vector<float>>> history = {reference.residuals};
  std::vector<double> given(count), received(count), scale(count, 1e-12);
  std::vector<size_t> good(size_t(s.ranks), 0);
  for (size_t c = 0; c < calls; ++c) {
    if (isBarred(c))
      continue;
    std::vector<std::vector<float>> gradients(size_t(s.ranks), std::vector<float>(count));
    double total = 0;
    for (int rank = 0; rank < s.ranks; ++rank)
      total += s.weights[size_t(rank)];
    for (int rank = 0; rank < s.ranks; ++rank)
      for (size_t i = 0; i < count; ++i) {
        float value = gradients[size_t(rank)][i] = element(s.seed, c, rank, b, i);
        given[i] += double(value) * s.weights[size_t(rank)] / total;
        scale[i] += std::fabs(double(value));
      }
    std::vector<float> wanted = reference.average(s.layout, encoding, gradients, s.weights);
    history.push_back(reference.residuals);
    for (size_t i = 0; i < count; ++i)
      received[i] += double(wanted[i]);
    for (int rank = 0; rank < s.ranks; ++rank) {
      Push &push = *processes[size_t(rank)].pushes[c][b];
      if (!sim.alive(rank) || push.status.failed())
        continue;
      ++good[size_t(rank)];
      if (count > 0 && std::memcmp(wanted.data(), push.memory.data(), count * sizeof(float)) != 0)
        return "rank " + std::to_string(rank) + ", call " + std::to_string(c) + ", bucket " +
               std::to_string(b) + " has other bits than the reference";
    }
  }
  for (int rank = 0; rank < s.ranks; ++rank) {
    const Vec<float> &held = processes[size_t(rank)].residuals[b].held;
    const std::vector<float> &wanted = history[good[size_t(rank)]][size_t(rank)];
    for (size_t i = 0; i < count && sim.alive(rank); ++i)
      if ((held.empty() ? 0 : held[i]) != wanted[i])
        return "rank " + std::to_string(rank) + ", bucket " + std::to_string(b) +
               ": the residual is not that of its last good call";
  }
  for (size_t i = 0; i < count; ++i) {
    double kept = 0;
    for (auto &residual : reference.residuals)
      kept += double(residual[i]);
    if (std::fabs(given[i] - received[i] - kept) > 1e-5 * scale[i])
      return "something was lost: " + std::to_string(given[i]) + " given, " +
             std::to_string(received[i]) + " received, " + std::to_string(kept) + " kept";
  }
  return "";
}

/// The payload is that of the plans, and that of the keys adds up to it.
std::string Job::judgeTraffic(int rank) {
  Process &process = processes[size_t(rank)];
  uint64_t wanted = 16 * uint64_t(s.ranks - 1) * calls, plans = 0, keys = 0;
  for (const Plan &plan : process.table->plans)
    plans += plan.sentBytes();
  for (const Key &key : process.table->keys)
    keys += key.sentBytes;
  wanted += plans * (calls - (s.event == EncodedScenario::NoWeight));
  uint64_t sent = process.session->counters().sentBytes;
  if (plans != keys || sent != wanted)
    return "rank " + std::to_string(rank) + " sent " + std::to_string(sent) + " bytes, not " +
           std::to_string(wanted) + "; of keys " + std::to_string(keys);
  return "";
}

std::string Job::judge() {
  bool isQuiet = s.event == EncodedScenario::None || s.event == EncodedScenario::NoWeight;
  for (int rank = 0; rank < s.ranks; ++rank) {
    Process &process = processes[size_t(rank)];
    if (!sim.alive(rank))
      continue;
    std::string who = "rank " + std::to_string(rank);
    if (!process.done())
      return who + " hangs";
    for (size_t c = 0; c < calls; ++c)
      for (auto &push : process.pushes[c]) {
        ++(push->status.ok() ? outcome.succeeded : outcome.failed);
        if (isBarred(c) ? push->status.code() != MXRT_KVSTORE_WEIGHT
                        : isQuiet && push->status.failed())
          return who + ", call " + std::to_string(c) + ": " + push->status.message();
      }
    if (std::string wrong = isQuiet ? judgeTraffic(rank) : ""; !wrong.empty())
      return wrong;
  }
  for (size_t b = 0; b < processes[0].table->buckets.size(); ++b)
    if (std::string wrong = judgeBucket(b); !wrong.empty())
      return wrong;
  return "";
}

EncodedOutcome Job::go() {
  sim.faults = s.faults;
  processes.resize(size_t(s.ranks));
  (void)sim.open();
  for (int rank = 0; rank < s.ranks; ++rank) {
    start(rank);
    sim.wake(rank, sim.now());
  }
  bool happened = s.event == EncodedScenario::None || s.event == EncodedScenario::NoWeight;
  while (outcome.mistake.empty()) {
    int rank = sim.next(happened ? limit : s.eventAt);
    if (rank < 0) {
      if (happened)
        break;
      if (s.event == EncodedScenario::Crash)
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
    sim.wake(rank, nextDue(*process.session, process.pushes));
    bool all = happened;
    for (int r = 0; r < s.ranks && all; ++r)
      all = !sim.alive(r) || processes[size_t(r)].done();
    if (all)
      break;
  }
  if (outcome.mistake.empty())
    outcome.mistake = judge();
  for (Process &process : processes) {
    process.calls.clear();
    process.exchange.reset();
    process.session.reset();
  }
  return std::move(outcome);
}

} // namespace

EncodedScenario encodedScenarioOf(uint64_t seed) {
  SimRandom random(seed * 0x9E3779B97F4A7C15 + 29);
  EncodedScenario s;
  s.seed = seed;
  s.ranks = int(1 + random.below(5));
  s.codec.kind = Codec::Kind(1 + random.below(5));
  s.codec.threshold = 0.25f;
  s.codec.block = 8u << random.below(5);
  s.codec.ratio = 0.02 + 0.01 * double(random.below(40));
  s.layout.topology = Topology(random.below(4));
  s.layout.outer = Topology(random.below(3));
  s.layout.inner = int(1 + random.below(3));
  s.layout.pieceBytes = size_t(32) << random.below(6);
  if (random.chance(0.6)) {
    s.faults.drop = 0.2 * double(random.below(100)) / 100;
    s.faults.duplicate = 0.1;
    s.faults.damage = 0.05;
    s.faults.reorder = 0.2;
    s.faults.jitterNs = millisecond;
  }
  s.event = EncodedScenario::Event(std::max<int64_t>(0, int64_t(random.below(7)) - 3));
  if (s.ranks == 1 && s.event != EncodedScenario::NoWeight)
    s.event = EncodedScenario::None;
  s.victim = int(random.below(uint64_t(s.ranks)));
  s.eventAt = int64_t(random.below(6 * millisecond));
  for (size_t i = 0, count = 1 + random.below(4); i < count; ++i)
    s.keys.push_back(int64_t(random.below(4) == 0 ? random.below(3) : random.below(150)));
  for (int rank = 0; rank < s.ranks; ++rank)
    s.weights.push_back(random.chance(0.2) ? 0 : double(1 + random.below(7)));
  s.weights[random.below(uint64_t(s.ranks))] = 2;
  return s;
}

EncodedOutcome simulateEncoded(const EncodedScenario &scenario) { return Job(scenario).go(); }

} // namespace mxrt::test
