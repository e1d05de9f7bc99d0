// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenMP tasks with and without `depend`, which declares the outputs of a task like the write set
// of an engine op.

#include "EngineBench.h"

/// libomp: milliseconds that threads spin for work after a region.
extern "C" void kmp_set_blocktime(int milliseconds);

namespace mx::bench {

void addOpenMpPeers(std::vector<EnginePeer> &peers) {
  // The default of 200 ms outlasts the block, so that the peer would still spin while the next
  // contender is measured. 1 ms bridges all gaps inside a block.
  kmp_set_blocktime(1);
  EnginePeer depend;
  depend.name = "OpenMP task depend";
  depend.independent = [](int count, long *counters) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < count; ++i) {
      long *counter = &counters[i % counterCount * 8];
#pragma omp task firstprivate(counter) depend(inout : counter[0])
      ++*counter;
    }
  };
  depend.dependent = [](int count, long *counter) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < count; ++i) {
#pragma omp task firstprivate(counter) depend(inout : counter[0])
      ++*counter;
    }
  };
  peers.push_back(depend);

  EnginePeer tasks;
  tasks.name = "OpenMP task";
  tasks.independent = [](int count, long *counters) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < count; ++i) {
      long *counter = &counters[i % counterCount * 8];
#pragma omp task firstprivate(counter)
      ++*counter;
    }
  };
  tasks.parallelFor = [](int chunks, long *counters) {
#pragma omp parallel for num_threads(2) schedule(static)
    for (int i = 0; i < chunks; ++i)
      ++counters[i % counterCount * 8];
  };
  peers.push_back(tasks);
}

} // namespace mx::bench
