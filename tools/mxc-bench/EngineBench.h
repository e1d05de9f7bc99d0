// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dependency engine benchmark, and the interface of its peers.

#ifndef MX_TOOLS_MXCBENCH_ENGINEBENCH_H
#define MX_TOOLS_MXCBENCH_ENGINEBENCH_H

#include "Measure.h"

/// `mxc-bench engine`: the cost of an op, of a wake-up and of parallel_for, compared with oneTBB
/// and OpenMP where the build found them.
int runEngineBench(int argc, char **argv);

namespace mx::bench {

/// The same work in another library, with two threads. An empty function means that the library
/// does not support it.
struct EnginePeer {
  std::string name;
  /// `count` independent ops.
  std::function<void(int count, long *counters)> independent;
  /// `count` ops in a dependency chain.
  std::function<void(int count, long *counter)> dependent;
  /// One op and a wait for its completion.
  std::function<void(long *counter)> roundTrip;
  /// A parallel loop of `chunks` empty iterations.
  std::function<void(int chunks, long *counters)> parallelFor;
};

/// Number of counters that `independent` and `parallelFor` use, 8 elements apart.
constexpr int counterCount = 512;

// Defined if the build found the library (MX_BENCH_TBB, MX_BENCH_OPENMP).
void addTbbPeers(std::vector<EnginePeer> &peers);
void addOpenMpPeers(std::vector<EnginePeer> &peers);

} // namespace mx::bench

#endif // MX_TOOLS_MXCBENCH_ENGINEBENCH_H
