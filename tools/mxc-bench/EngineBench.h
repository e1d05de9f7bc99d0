// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MX_TOOLS_MXCBENCH_ENGINEBENCH_H
#define MX_TOOLS_MXCBENCH_ENGINEBENCH_H

#include "Measure.h"

/// `mxc-bench engine`: the cost of an op, of a wake-up and of parallel_for,
/// beside oneTBB and OpenMP where the build found them.
int runEngineBench(int argc, char **argv);

namespace mx::bench {

/// The same work on another library, with two threads. An empty function means
/// that the library has no such thing.
struct EnginePeer {
  std::string name;
  /// `count` ops that share nothing.
  std::function<void(int count, long *counters)> independent;
  /// `count` ops, each after the one before.
  std::function<void(int count, long *counter)> dependent;
  /// One op and a wait for it.
  std::function<void(long *counter)> roundTrip;
  /// A parallel loop of `chunks` empty turns.
  std::function<void(int chunks, long *counters)> parallelFor;
};

/// How many counters `independent` and `parallelFor` spread over, 8 apart.
constexpr int counterCount = 512;

// Defined if the build found the library (MX_BENCH_TBB, MX_BENCH_OPENMP).
void addTbbPeers(std::vector<EnginePeer> &peers);
void addOpenMpPeers(std::vector<EnginePeer> &peers);

} // namespace mx::bench

#endif // MX_TOOLS_MXCBENCH_ENGINEBENCH_H
