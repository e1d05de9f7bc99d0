// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buckets that a simulated rank pushes at times of its own, and when all of its calls are over.

#ifndef MX_TEST_UNIT_RUNTIME_NET_SIMCALLS_H
#define MX_TEST_UNIT_RUNTIME_NET_SIMCALLS_H

#include "kvstore/Exchange.h"
#include "net/Sim.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace mxrt::test {

struct Push {
  std::vector<float> memory;
  bool pushed = false, done = false;
  int64_t at = 0;
  Status status;
};
using Pushes = std::vector<std::vector<std::unique_ptr<Push>>>; // of each call, of each bucket
using Calls = std::vector<std::unique_ptr<kvstore::Call>>;

inline bool allDone(const Pushes &pushes, const Calls &calls) {
  for (auto &call : pushes)
    for (auto &push : call)
      if (!push->done)
        return false;
  return std::all_of(calls.begin(), calls.end(), [](auto &call) { return call->finished(); });
}

/// When the rank has something to do, if nothing arrives before.
inline int64_t nextDue(const net::Session &session, const Pushes &pushes) {
  int64_t next = session.nextDeadline();
  for (auto &call : pushes)
    for (auto &push : call)
      if (!push->pushed)
        next = std::min(next, push->at);
  return next;
}

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_NET_SIMCALLS_H
