// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of the simulator: a job whose averages are encoded, with calls on the same keys, while
// the network and a rank misbehave. Everything follows from the seed.

#ifndef MX_TEST_UNIT_RUNTIME_NET_ENCODEDRUN_H
#define MX_TEST_UNIT_RUNTIME_NET_ENCODEDRUN_H

#include "kvstore/Encoding.h"
#include "kvstore/Plan.h"
#include "net/Sim.h"

#include <string>
#include <vector>

namespace mxrt::test {

struct EncodedScenario {
  enum Event { None, Crash, GivesUp, NoWeight };
  uint64_t seed = 0;
  int ranks = 1;
  kvstore::Layout layout;
  kvstore::Codec codec;
  net::SimFaults faults;
  Event event = None;
  int victim = 0;
  int64_t eventAt = 0;
  std::vector<int64_t> keys;   // their sizes
  std::vector<double> weights; // of the ranks
};
EncodedScenario encodedScenarioOf(uint64_t seed);

struct EncodedOutcome {
  std::string mistake; // empty: all invariants held
  int succeeded = 0, failed = 0;
};
EncodedOutcome simulateEncoded(const EncodedScenario &scenario);

/// What the ranks hold of a bucket, as plain loops: their residuals, and what one exchange makes of
/// their gradients. Shares no code with plans and collectives; codecs are tested on their own.
struct EncodedReference {
  std::vector<std::vector<float>> residuals; // by rank
  std::vector<float> average(const kvstore::Layout &layout, const kvstore::Encoding &encoding,
                             const std::vector<std::vector<float>> &gradients,
                             const std::vector<double> &weights);
};

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_NET_ENCODEDRUN_H
