// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small cases for the schedule explorer: at most a handful of ops, three
// variables and two workers each; together they use every function of an engine.

#ifndef MXRT_TEST_ENGINE_SCENARIOS_H
#define MXRT_TEST_ENGINE_SCENARIOS_H

#include <cstdint>
#include <functional>
#include <vector>

namespace mxrt::test {

struct Scenario {
  const char *name;
  /// Runs as the first thread of an execution of the Explorer.
  std::function<void()> program;
  /// Schedules in CI, of each kind; the nightly run has more.
  uint64_t schedules;
};

const std::vector<Scenario> &scenarios();
/// Those of ops that give variables back early; part of scenarios().
std::vector<Scenario> releaseScenarios();
/// A random program of up to four ops, by `seed`, in which ops release, fail,
/// inherit poison, are cancelled, defer and push, with waits and a deletion.
Scenario randomReleases(uint64_t seed);

} // namespace mxrt::test

#endif // MXRT_TEST_ENGINE_SCENARIOS_H
