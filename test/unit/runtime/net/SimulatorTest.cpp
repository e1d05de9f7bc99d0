// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thousands of runs of all topologies with faults of every kind. In each, an
// exchange that succeeds has the bits of the reference (so every gradient counts
// once and all ranks agree), one that fails names the lost rank, nobody hangs,
// and the payload is what the formula says.
//
// MX_SIM_FIRST and MX_SIM_SEEDS choose other seeds, for long runs; a failure
// prints the seed that repeats it.

#include "SimulatorRun.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace mxrt::test {
namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Simulator, InvariantsHoldForAllSeeds) {
  uint64_t first = fromEnvironment("MX_SIM_FIRST", 1),
           seeds = fromEnvironment("MX_SIM_SEEDS", 3000);
  uint64_t succeeded = 0, failed = 0, retransmissions = 0, damaged = 0;
  std::map<Event, uint64_t> failedBy;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    Scenario scenario = scenarioOf(seed);
    Outcome outcome = simulate(scenario);
    ASSERT_EQ(outcome.mistake, "");
    succeeded += uint64_t(outcome.succeeded);
    failed += uint64_t(outcome.failed);
    retransmissions += outcome.counters.retransmissions;
    damaged += outcome.counters.damaged;
    failedBy[scenario.event] += uint64_t(outcome.failed);
  }
  std::printf("%llu seeds: %llu exchanges succeeded, %llu failed with a name; %llu packets sent "
              "again, %llu damaged\n",
              (unsigned long long)seeds, (unsigned long long)succeeded, (unsigned long long)failed,
              (unsigned long long)retransmissions, (unsigned long long)damaged);
  // The runs reach what they are for.
  if (seeds >= 1000) {
    EXPECT_GT(succeeded, seeds);
    EXPECT_GT(retransmissions, 0u);
    EXPECT_GT(damaged, 0u);
    for (Event event : {Event::Crash, Event::Restart, Event::Stop, Event::Partition, Event::OneWay})
      EXPECT_GT(failedBy[event], 0u) << int(event);
    EXPECT_EQ(failedBy[Event::None], 0u);
    EXPECT_EQ(failedBy[Event::Slow], 0u);
  }
}

TEST(Simulator, SeedRepeatsARun) {
  std::map<uint64_t, uint64_t> digests;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Outcome once = simulate(scenarioOf(seed)), again = simulate(scenarioOf(seed));
    EXPECT_EQ(once.digest, again.digest) << seed;
    EXPECT_EQ(once.time, again.time) << seed;
    if (once.counters.sentBytes > 0)
      ++digests[once.digest];
  }
  EXPECT_GT(digests.size(), 100u);
  for (auto [digest, times] : digests)
    EXPECT_EQ(times, 1u) << digest;
}

} // namespace
} // namespace mxrt::test
