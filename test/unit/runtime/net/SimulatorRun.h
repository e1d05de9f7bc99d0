// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of the simulator: a job of a few ranks exchanges several keys under network
// and rank failures. Everything follows from the seed.

#ifndef MX_TEST_UNIT_RUNTIME_NET_SIMULATORRUN_H
#define MX_TEST_UNIT_RUNTIME_NET_SIMULATORRUN_H

#include "kvstore/Reference.h"
#include "net/Sim.h"

#include <string>
#include <vector>

namespace mxrt::test {

/// What happens to a rank or a link, besides lost and damaged datagrams.
enum class Event { None, Crash, Restart, Stop, Partition, OneWay, Slow };

struct Scenario {
  uint64_t seed = 0;
  int ranks = 1;
  kvstore::Layout layout;
  struct Key {
    size_t count = 0;
    bool wide = false; // f64
    bool mean = false;
    std::vector<double> weights;
  };
  std::vector<Key> keys;
  net::SimFaults faults;
  size_t fragmentBytes = 256;
  Event event = Event::None;
  int victim = 0, other = 0;
  int64_t eventAt = 0, eventLength = 0;
};
Scenario scenarioOf(uint64_t seed);
std::string describe(const Scenario &scenario);

struct Outcome {
  std::string mistake; // empty: all invariants held
  uint64_t digest = 0;
  int succeeded = 0, failed = 0; // exchanges, over all ranks
  net::Counters counters;        // of all ranks together
  int64_t time = 0;
};
Outcome simulate(const Scenario &scenario);

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_NET_SIMULATORRUN_H
