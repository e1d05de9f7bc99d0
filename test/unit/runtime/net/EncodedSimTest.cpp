// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thousands of runs with all codecs and topologies, lost and damaged datagrams, crashes and errors.
// In each, an average that succeeds has the bits of the reference at every rank, also after others
// failed; gradients, averages and residuals add up; the payload is what the plan says.
//
// MX_SIM_FIRST and MX_SIM_SEEDS choose other seeds.

#include "EncodedRun.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace mxrt::test {
namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(EncodedSim, NothingIsLostForAnySeed) {
  uint64_t first = fromEnvironment("MX_SIM_FIRST", 1),
           seeds = fromEnvironment("MX_SIM_SEEDS", 2000);
  uint64_t succeeded = 0, failed = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    EncodedScenario scenario = encodedScenarioOf(seed);
    EncodedOutcome outcome = simulateEncoded(scenario);
    ASSERT_EQ(outcome.mistake, "")
        << "seed " << seed << ", " << scenario.ranks << " ranks, "
        << topologyName(scenario.layout.topology) << ", " << codecName(scenario.codec.kind)
        << ", event " << scenario.event << " of rank " << scenario.victim;
    succeeded += uint64_t(outcome.succeeded);
    failed += uint64_t(outcome.failed);
  }
  std::printf("%llu seeds: %llu averages succeeded, %llu failed with a name\n",
              (unsigned long long)seeds, (unsigned long long)succeeded, (unsigned long long)failed);
  if (seeds >= 1000) {
    EXPECT_GT(succeeded, seeds);
    EXPECT_GT(failed, seeds / 10);
  }
}

} // namespace
} // namespace mxrt::test
