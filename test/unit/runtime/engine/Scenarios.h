// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small cases for the schedule explorer: at most a handful of ops, three
// variables and two workers each, with all that an engine is asked to do.

#ifndef MXRT_TEST_ENGINE_SCENARIOS_H
#define MXRT_TEST_ENGINE_SCENARIOS_H

#include <functional>
#include <vector>

namespace mxrt::test {

struct Scenario {
  const char *name;
  /// Runs as the first thread of an execution of the Explorer.
  std::function<void()> program;
};

const std::vector<Scenario> &scenarios();

} // namespace mxrt::test

#endif // MXRT_TEST_ENGINE_SCENARIOS_H
