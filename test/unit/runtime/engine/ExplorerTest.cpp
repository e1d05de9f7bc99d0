// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine under every schedule of small cases, and the proof that the cases
// are worth something: each seeded mistake is found by at least one of them.
//
// MXRT_SCHEDULES multiplies the number of schedules (1 in CI).
// MXRT_RELEASE_PROGRAMS: random programs with early release (300), each under
// 60 schedules and more; MXRT_RELEASE_FIRST: the seed of the first (1).

#include "Explorer.h"
#include "Scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

using namespace mxrt::test;
using mxrt::engine::Fault;

namespace {

uint64_t setting(const char *name, uint64_t fallback) {
  const char *text = std::getenv(name);
  long long value = text ? std::atoll(text) : 0;
  return value > 0 ? static_cast<uint64_t>(value) : fallback;
}

uint64_t scale() { return setting("MXRT_SCHEDULES", 1); }

// With 100,000 schedules nearly every scenario is complete at two preemptions.
// Sanitizers are for the engine's memory here, not for its schedules.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MXRT_TEST_SLOW 1
#endif
#endif
#ifdef MXRT_TEST_SLOW
constexpr uint64_t maxInCi = 1000, baseRandom = 100, basePrograms = 30;
#else
constexpr uint64_t maxInCi = UINT64_MAX, baseRandom = 2000, basePrograms = 300;
#endif

class Schedules : public testing::TestWithParam<size_t> {};

std::string scenarioName(const testing::TestParamInfo<size_t> &info) {
  return scenarios()[info.param].name;
}

/// Schedules of one scenario up to `preemptions`, fewest first: what is wrong
/// is mostly wrong with one or two.
Report runAll(const Scenario &scenario, int preemptions, uint64_t limit) {
  Report total;
  total.complete = true;
  for (int bound = 0; bound <= preemptions; ++bound) {
    Report report = Explorer::current().explore(
        {.preemptions = bound, .limit = limit}, scenario.program);
    total.schedules += report.schedules;
    total.steps += report.steps;
    total.complete = report.complete;
    total.failure = report.failure;
    if (!report.failure.empty() || !report.complete)
      break;
  }
  return total;
}

TEST_P(Schedules, Exhaustive) {
  const Scenario &scenario = scenarios()[GetParam()];
  int bound = scale() > 1 ? 4 : 2;
  uint64_t limit = scale() > 1 ? 100000 : scenario.schedules;
  Report report = runAll(scenario, bound, std::min(limit, maxInCi) * scale());
  EXPECT_EQ(report.failure, "");
  RecordProperty("schedules", std::to_string(report.schedules));
  std::printf("%s: %llu schedules, %llu steps, bound %d %s\n", scenario.name,
              static_cast<unsigned long long>(report.schedules),
              static_cast<unsigned long long>(report.steps), bound,
              report.complete ? "complete" : "cut off");
}

TEST_P(Schedules, Random) {
  const Scenario &scenario = scenarios()[GetParam()];
  for (int changes : {1, 3, 6}) {
    Strategy strategy;
    strategy.kind = Strategy::Kind::Pct;
    strategy.changes = changes;
    strategy.limit = baseRandom * scale();
    Report report = Explorer::current().explore(strategy, scenario.program);
    EXPECT_EQ(report.failure, "") << "with " << changes << " changes";
  }
}

/// Each program with no and one preemption and at random; `seed` is also the
/// first of its schedules' seeds.
Report runRandomReleases(uint64_t seed) {
  Scenario scenario = randomReleases(seed);
  Report total;
  for (int bound : {0, 1}) {
    Report report = Explorer::current().explore(
        {.preemptions = bound, .limit = bound == 0 ? 20u : 200u}, scenario.program);
    total.schedules += report.schedules;
    if (!(total.failure = report.failure).empty())
      return total;
  }
  for (int changes : {2, 4, 8}) {
    Strategy strategy;
    strategy.kind = Strategy::Kind::Pct;
    strategy.seed = seed;
    strategy.changes = changes;
    strategy.limit = 20;
    Report report = Explorer::current().explore(strategy, scenario.program);
    total.schedules += report.schedules;
    if (!(total.failure = report.failure).empty())
      return total;
  }
  return total;
}

TEST(Releases, RandomProgramsEqualASerialRun) {
  uint64_t first = setting("MXRT_RELEASE_FIRST", 1), schedules = 0;
  uint64_t count = setting("MXRT_RELEASE_PROGRAMS", basePrograms);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Report report = runRandomReleases(seed);
    schedules += report.schedules;
    ASSERT_EQ(report.failure, "") << "program " << seed;
  }
  std::printf("random releases: %llu schedules, %llu programs\n",
              static_cast<unsigned long long>(schedules), static_cast<unsigned long long>(count));
}

INSTANTIATE_TEST_SUITE_P(Engine, Schedules,
                         testing::Range(size_t{0}, scenarios().size()),
                         scenarioName);

// Not under sanitizers: an execution that fails is abandoned, and what stood on
// its stacks would count as leaked. The sanitizers' subject is the engine as it
// is, and that ran above.
#ifndef MXRT_TEST_SLOW

class SeededBugs : public testing::TestWithParam<int> {
protected:
  void TearDown() override { ExplorerSync::active = Fault::None; }
};

const char *const faultNames[] = {
    "None",
    "ReaderReleasedEarly",
    "WriterIgnoresReaders",
    "ReaderJoinsWriter",
    "ReaderOvertakesWriter",
    "VariablesLockedOneByOne",
    "WaitCountTooLow",
    "WakesOnlyOneReader",
    "LostWakeUpOfWorker",
    "LostWakeUpOfWaiter",
    "PusherSkipsWake",
    "LastSearcherForgets",
    "SurplusForgotten",
    "PoisonNotPropagated",
    "PoisonIgnored",
    "PoisonOnReads",
    "VersionNotCounted",
    "DeleteBeforeReads",
    "DeletedHandleAccepted",
    "PriorityReversed",
    "PriorityStarves",
    "ThrottleCountsLate",
    "ThrottleForgetsFailed",
    "LimitDoesNotGrow",
    "LimitGrowsTooFar",
    "ThrottleSignalLost",
    "ThrottleInsideOp",
    "BatchHeldWhileThrottled",
    "IdleSeenEarly",
    "CancelIgnoredAtStart",
    "CancelSkipsAlwaysRun",
    "PayloadNotDropped",
    "DuplicateAccepted",
    "InboxReordered",
    "ErrorRaisedTwice",
    "DeferredFinishedAtReturn",
    "ReleasedAtStart",
    "ReleaseGivesAllBack",
    "ReleaseOfWrongVariable",
    "ReleaseOfRead",
    "ReleaseTwice",
    "ReleaseAfterDefer",
    "ReleaseWakesNoOp",
    "ReleaseWakesNoWait",
    "ReleaseForgetsDeletion",
    "ReleaseNotCounted",
    "ReleaseCountedTwice",
    "ReleasedAgainAtEnd",
    "ReleasedPoisonedAtEnd",
    "FailureForgottenAfterRelease",
    "ReleaseMends",
    "PoisonLostOnDefer",
    "ReleaseLostOnCancel",
    "ReleaseEndsOp",
    "WaitRunsReleasingOp",
    "NaiveReleaseKeepsHold",
    "NaiveReleaseWakesNobody",
    "NaiveReleaseForgetsDeletion",
};
static_assert(std::size(faultNames) == static_cast<size_t>(Fault::Count));

/// From cheap to thorough: no scenario has to be exhausted to find a mistake.
std::vector<Strategy> bugHunt() {
  std::vector<Strategy> hunt;
  for (int bound : {0, 1}) {
    Strategy strategy;
    strategy.preemptions = bound;
    strategy.limit = 10000;
    hunt.push_back(strategy);
  }
  for (int changes : {2, 4, 8}) {
    Strategy strategy;
    strategy.kind = Strategy::Kind::Pct;
    strategy.changes = changes;
    strategy.limit = 5000;
    hunt.push_back(strategy);
  }
  return hunt;
}

TEST_P(SeededBugs, IsCaught) {
  ExplorerSync::active = static_cast<Fault>(GetParam());
  for (const Strategy &strategy : bugHunt())
    for (const Scenario &scenario : scenarios()) {
      Report report = Explorer::current().explore(strategy, scenario.program);
      if (report.failure.empty())
        continue;
      std::printf("caught by %s: %s\n", scenario.name, report.failure.c_str());
      return;
    }
  FAIL() << "no scenario noticed it";
}

INSTANTIATE_TEST_SUITE_P(Engine, SeededBugs,
                         testing::Range(1, static_cast<int>(Fault::Count)),
                         [](const testing::TestParamInfo<int> &info) {
                           return faultNames[info.param];
                         });

TEST(Releases, RandomProgramsCatchMistakesToo) {
  // Not those that only a thread notices which stops in the middle of an op.
  int caught = 0;
  for (auto fault = static_cast<int>(Fault::ReleasedAtStart);
       fault < static_cast<int>(Fault::Count); ++fault) {
    ExplorerSync::active = static_cast<Fault>(fault);
    bool found = false;
    for (uint64_t seed = 1; seed <= 100 && !found; ++seed)
      found = !runRandomReleases(seed).failure.empty();
    if (!found)
      std::printf("not by random programs: %s\n", faultNames[fault]);
    caught += found;
  }
  ExplorerSync::active = Fault::None;
  EXPECT_GE(caught, 19);
}

#endif // MXRT_TEST_SLOW

} // namespace
