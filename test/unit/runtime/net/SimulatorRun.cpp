// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SimulatorRun.h"

#include "kvstore/Collective.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>

namespace mxrt::test {

using namespace kvstore;
using namespace net;

namespace {

constexpr int64_t lostAfter = 2 * second;
/// Long enough for a loss to be noticed and to spread, with lost datagrams.
constexpr int64_t limit = 60 * second;

double unit(SimRandom &random) { return double(random.next() >> 11) * 0x1p-53; }

} // namespace

Scenario scenarioOf(uint64_t seed) {
  SimRandom random(seed * 0x9E3779B97F4A7C15 + 1);
  Scenario s;
  s.seed = seed;
  s.ranks = int(1 + random.below(8));
  s.layout.topology = Topology(random.below(4));
  s.layout.outer = Topology(random.below(3));
  s.layout.inner = int(1 + random.below(4));
  s.layout.pieceBytes = size_t(8) << random.below(12);
  s.fragmentBytes = size_t(32) << random.below(6);
  size_t keys = 1 + random.below(3);
  for (size_t i = 0; i < keys; ++i) {
    Scenario::Key key;
    size_t sizes[] = {0,  1,   size_t(s.ranks - 1),  size_t(s.ranks), 7,
                      61, 300, 1 + random.below(900)};
    key.count = sizes[random.below(8)];
    key.wide = random.chance(0.3);
    key.mean = random.chance(0.4);
    for (int rank = 0; rank < s.ranks; ++rank)
      key.weights.push_back(random.chance(0.25) ? 0 : double(1 + random.below(40)));
    key.weights[random.below(uint64_t(s.ranks))] = 3; // not all are 0
    s.keys.push_back(key);
  }
  if (random.chance(0.7)) {
    s.faults.drop = 0.25 * unit(random);
    s.faults.duplicate = 0.2 * unit(random);
    s.faults.damage = 0.1 * unit(random);
    s.faults.reorder = 0.3 * unit(random);
    s.faults.jitterNs = int64_t(random.below(2 * millisecond));
  }
  // Half of the runs have an event.
  s.event = s.ranks > 1 ? Event(std::max<int64_t>(0, int64_t(random.below(12)) - 5)) : Event::None;
  s.victim = int(random.below(uint64_t(s.ranks)));
  s.other = int((uint64_t(s.victim) + 1 + random.below(uint64_t(std::max(1, s.ranks - 1)))) %
                uint64_t(s.ranks));
  s.eventAt = int64_t(random.below(4 * millisecond));
  s.eventLength = random.chance(0.5) ? int64_t(random.below(lostAfter / 2)) : 4 * lostAfter;
  return s;
}

std::string describe(const Scenario &s) {
  static const char *events[] = {"none",      "crash",   "restart", "stop",
                                 "partition", "one way", "slow"};
  std::ostringstream text;
  text << "seed " << s.seed << ": " << s.ranks << " ranks, " << topologyName(s.layout.topology);
  if (s.layout.topology == Topology::Levels)
    text << " of " << s.layout.inner << " over " << topologyName(s.layout.outer);
  text << ", pieces " << s.layout.pieceBytes << ", fragments " << s.fragmentBytes << ", drop "
       << s.faults.drop << ", event " << events[int(s.event)] << " of rank " << s.victim << " at "
       << s.eventAt / 1000 << " us for " << s.eventLength / 1000 << " us; keys";
  for (const Scenario::Key &key : s.keys)
    text << ' ' << key.count << (key.wide ? "d" : "f") << (key.mean ? "m" : "s");
  return text.str();
}

namespace {

/// The job of one rank in one life.
struct Process {
  std::unique_ptr<Session> session;
  std::vector<std::vector<float>> narrow;
  std::vector<std::vector<double>> wide;
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<std::unique_ptr<Collective>> collectives;
  bool done() const {
    for (auto &collective : collectives)
      if (!collective->finished())
        return false;
    return true;
  }
};

class Run {
public:
  explicit Run(const Scenario &scenario)
      : s(scenario), alloc(mxrt_system_allocator()), sim(alloc, scenario.seed, scenario.ranks) {}
  Outcome go();

private:
  template <typename T> T element(size_t key, int rank, size_t i) const {
    SimRandom random(s.seed ^ key << 48 ^ uint64_t(rank) << 40 ^ i);
    // Of different sizes, so that the order of a sum shows in its bits. A rank
    // without rows has a gradient that is not a number.
    if (s.keys[key].mean && s.keys[key].weights[size_t(rank)] == 0)
      return std::numeric_limits<T>::quiet_NaN();
    double value = std::ldexp(unit(random) - 0.5, int(random.below(30)) - 15);
    return T(value);
  }
  template <typename T> std::vector<T> reference(size_t key) const;
  void mistake(const std::string &what) {
    if (outcome.mistake.empty())
      outcome.mistake = describe(s) + ": " + what;
  }
  void startProcess(int rank, uint32_t incarnation);
  void endProcess(Process &process);
  void happen();
  void undo();
  bool mayFail() const { return s.event != Event::None && s.event != Event::Slow; }
  void judge(int rank, Process &process);
  template <typename T>
  void compare(int rank, size_t key, const std::vector<T> &got, const std::vector<T> &wanted);

  const Scenario &s;
  const mxrt_allocator *alloc;
  Sim sim;
  std::vector<Process> processes;
  std::vector<Process> graves; // of crashed ranks: their memory must not be read again
  Outcome outcome;
  bool happened = false, undone = false, fatal = false;
};

template <typename T> std::vector<T> Run::reference(size_t key) const {
  const Scenario::Key &k = s.keys[key];
  std::vector<std::vector<T>> inputs(size_t(s.ranks), std::vector<T>(k.count));
  std::vector<const T *> rows;
  for (int rank = 0; rank < s.ranks; ++rank) {
    for (size_t i = 0; i < k.count; ++i)
      inputs[size_t(rank)][i] = element<T>(key, rank, i);
    rows.push_back(inputs[size_t(rank)].data());
  }
  std::vector<T> out(k.count);
  if (k.mean)
    referenceMean(s.layout, s.ranks, rows.data(), k.weights.data(), k.count, out.data());
  else
    referenceSum(s.layout, s.ranks, rows.data(), k.count, out.data());
  return out;
}

void Run::startProcess(int rank, uint32_t incarnation) {
  Process &process = processes[size_t(rank)];
  SessionOptions options;
  options.fragmentBytes = s.fragmentBytes;
  options.retryNs = 5 * millisecond;
  options.beatNs = 100 * millisecond;
  options.lostAfterNs = lostAfter;
  options.incarnation = incarnation;
  options.verifyBuffers = true;
  process.session =
      std::make_unique<Session>(alloc, rank, s.ranks, sim.datagrams(rank), sim, options);
  if (process.session->open().failed())
    return mistake("a session did not open");
  size_t keys = s.keys.size();
  process.narrow.resize(keys);
  process.wide.resize(keys);
  for (size_t n = 0; n < keys; ++n) {
    // Each rank starts its keys in another order.
    size_t key = (n + size_t(rank)) % keys;
    const Scenario::Key &k = s.keys[key];
    Reduction exchange;
    exchange.tag = {1, 7, uint32_t(key), 0};
    exchange.mean = k.mean;
    exchange.weight = k.weights[size_t(rank)];
    if (k.wide) {
      for (size_t i = 0; i < k.count; ++i)
        process.wide[key].push_back(element<double>(key, rank, i));
      exchange.dtype = MXRT_F64;
      exchange.data = process.wide[key].data();
    } else {
      for (size_t i = 0; i < k.count; ++i)
        process.narrow[key].push_back(element<float>(key, rank, i));
      exchange.data = process.narrow[key].data();
    }
    auto plan = std::make_unique<Plan>(alloc);
    if (plan->make(s.layout, rank, s.ranks, k.count, k.wide ? 8 : 4).failed())
      mistake("no plan was made");
    auto collective = std::make_unique<Collective>(*process.session, *plan, exchange);
    if (collective->start().failed())
      mistake("a collective did not start");
    process.plans.push_back(std::move(plan));
    process.collectives.push_back(std::move(collective));
  }
  sim.wake(rank, sim.now());
}

void Run::endProcess(Process &process) {
  process.collectives.clear();
  process.session.reset();
}

void Run::happen() {
  happened = true;
  switch (s.event) {
  case Event::None:
    break;
  case Event::Crash:
  case Event::Restart:
    fatal = !processes[size_t(s.victim)].done();
    sim.crash(s.victim);
    graves.push_back(std::move(processes[size_t(s.victim)]));
    processes[size_t(s.victim)] = Process();
    endProcess(graves.back());
    break;
  case Event::Stop:
    sim.stop(s.victim, sim.now() + s.eventLength);
    break;
  case Event::Partition:
    for (int rank = 0; rank < s.ranks; ++rank)
      if (rank != s.victim) {
        sim.cut(s.victim, rank, true);
        sim.cut(rank, s.victim, true);
      }
    break;
  case Event::OneWay:
    sim.cut(s.victim, s.other, true);
    break;
  case Event::Slow:
    sim.slow(s.victim, 3 * millisecond);
    break;
  }
}

void Run::undo() {
  undone = true;
  if (s.event == Event::Restart) {
    sim.restart(s.victim);
    startProcess(s.victim, 2);
  }
  if (s.event == Event::Partition || s.event == Event::OneWay)
    for (int a = 0; a < s.ranks; ++a)
      for (int b = 0; b < s.ranks; ++b)
        sim.cut(a, b, false);
}

template <typename T>
void Run::compare(int rank, size_t key, const std::vector<T> &got, const std::vector<T> &wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::memcmp(&got[i], &wanted[i], sizeof(T)) != 0)
      return mistake("rank " + std::to_string(rank) + ", key " + std::to_string(key) +
                     ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
                     ", expected " + std::to_string(wanted[i]));
}

void Run::judge(int rank, Process &process) {
  uint64_t expected = 0;
  bool clean = true;
  for (size_t n = 0; n < process.collectives.size(); ++n) {
    size_t key = (n + size_t(rank)) % s.keys.size();
    const Scenario::Key &k = s.keys[key];
    Collective &collective = *process.collectives[n];
    expected += expectedSentBytes(s.layout, rank, s.ranks, k.count, k.wide ? 8 : 4, k.mean);
    if (!collective.finished()) {
      mistake("rank " + std::to_string(rank) + " hangs in key " + std::to_string(key));
      clean = false;
      continue;
    }
    Status status = collective.outcome();
    if (status.ok()) {
      ++outcome.succeeded;
      if (k.wide)
        compare(rank, key, process.wide[key], reference<double>(key));
      else
        compare(rank, key, process.narrow[key], reference<float>(key));
      continue;
    }
    clean = false;
    ++outcome.failed;
    if (!mayFail())
      mistake("rank " + std::to_string(rank) + " failed: " + status.message());
    // The blamed rank is the victim, or one of the two ends of a cut link.
    std::string text = status.message();
    bool named = text.find("rank " + std::to_string(s.victim) + " is lost") == 0;
    bool ends = s.event == Event::OneWay || s.event == Event::Partition || rank == s.victim;
    if (status.code() != MXRT_KVSTORE || (!named && !(ends && text.find(" is lost") < 10)))
      mistake("rank " + std::to_string(rank) + " blames the wrong rank: " + text);
  }
  const Counters &count = process.session->counters();
  if (clean && count.sentBytes != expected)
    mistake("rank " + std::to_string(rank) + " sent " + std::to_string(count.sentBytes) +
            " bytes, the formula says " + std::to_string(expected));
  outcome.counters.sentBytes += count.sentBytes;
  outcome.counters.retransmissions += count.retransmissions;
  outcome.counters.damaged += count.damaged;
}

Outcome Run::go() {
  sim.faults = s.faults;
  processes.resize(size_t(s.ranks));
  if (sim.open().failed()) {
    mistake("the simulation did not open");
    return outcome;
  }
  for (int rank = 0; rank < s.ranks; ++rank)
    startProcess(rank, 1);
  if (s.event == Event::None)
    happened = undone = true;
  int64_t until = s.eventAt;
  while (outcome.mistake.empty()) {
    int rank = sim.next(!happened ? until : !undone ? until + s.eventLength : limit);
    if (rank < 0) {
      if (!happened)
        happen();
      else if (!undone)
        undo();
      else
        break;
      continue;
    }
    Process &process = processes[size_t(rank)];
    if (!process.session)
      continue;
    process.session->progress();
    sim.wake(rank, process.session->nextDeadline());
    bool all = undone || (happened && s.event != Event::Restart);
    for (int r = 0; r < s.ranks && all; ++r)
      all = !sim.alive(r) || processes[size_t(r)].done();
    if (all)
      break;
  }
  for (int rank = 0; rank < s.ranks && outcome.mistake.empty(); ++rank)
    if (sim.alive(rank) && processes[size_t(rank)].session)
      judge(rank, processes[size_t(rank)]);
  // A rank that died in the middle must be noticed by somebody.
  if (fatal && outcome.mistake.empty() && outcome.failed == 0 && s.keys.size() == 1 &&
      s.event == Event::Crash && outcome.succeeded == 0)
    mistake("nobody noticed the crash");
  outcome.digest = sim.digest();
  outcome.time = sim.now();
  // Unfinished ones leave the session before it ends.
  for (Process &process : processes)
    endProcess(process);
  return outcome;
}

} // namespace

Outcome simulate(const Scenario &scenario) { return Run(scenario).go(); }

} // namespace mxrt::test
