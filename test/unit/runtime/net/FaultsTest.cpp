// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every mistake of net/Faults.h is found by the simulator within the seeds that
// the ordinary test runs, and without any there is no finding.

#include "net/Faults.h"
#include "EncodedRun.h"
#include "SimulatorRun.h"

#include <gtest/gtest.h>

namespace mxrt::test {
namespace {

class SeededBugs : public ::testing::TestWithParam<int> {
protected:
  ~SeededBugs() override { net::plantedFault = net::Fault::None; }
};

TEST_P(SeededBugs, IsFound) {
  net::plantedFault = net::Fault(GetParam());
  bool encodes = GetParam() >= int(net::Fault::ResidualForgotten);
  for (uint64_t seed = 1; seed <= (encodes ? 2000 : 3000); ++seed) {
    std::string mistake = encodes ? simulateEncoded(encodedScenarioOf(seed)).mistake
                                  : simulate(scenarioOf(seed)).mistake;
    if (!mistake.empty()) {
      std::printf("caught by %s\n", mistake.c_str());
      return;
    }
  }
  FAIL() << "no seed shows the mistake";
}

INSTANTIATE_TEST_SUITE_P(Net, SeededBugs, ::testing::Range(1, int(net::Fault::Count)));

TEST(SeededBugs, NoneIsFoundWithoutOne) {
  for (uint64_t seed = 1; seed <= 300; ++seed)
    ASSERT_EQ(simulate(scenarioOf(seed)).mistake, "");
}

} // namespace
} // namespace mxrt::test
