// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneTBB: a flow graph (the closest equivalent of the dependency engine) and a task group (its
// cheapest way to run a task).

#include "EngineBench.h"

#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

namespace mx::bench {

using namespace oneapi;

void addTbbPeers(std::vector<EnginePeer> &peers) {
  static tbb::global_control threads(
      tbb::global_control::max_allowed_parallelism, 2);
  struct Flow {
    tbb::flow::graph graph;
    tbb::flow::function_node<long *> parallel{
        graph, tbb::flow::unlimited, [](long *counter) { ++*counter; }};
    tbb::flow::function_node<long *> serial{
        graph, tbb::flow::serial, [](long *counter) { ++*counter; }};
  };
  auto flow = std::make_shared<Flow>();
  EnginePeer graph;
  graph.name = "oneTBB flow graph";
  graph.independent = [flow](int count, long *counters) {
    for (int i = 0; i < count; ++i)
      flow->parallel.try_put(&counters[i % counterCount * 8]);
    flow->graph.wait_for_all();
  };
  graph.dependent = [flow](int count, long *counter) {
    for (int i = 0; i < count; ++i)
      flow->serial.try_put(counter);
    flow->graph.wait_for_all();
  };
  graph.roundTrip = [flow](long *counter) {
    flow->serial.try_put(counter);
    flow->graph.wait_for_all();
  };
  peers.push_back(graph);

  auto group = std::make_shared<tbb::task_group>();
  EnginePeer tasks;
  tasks.name = "oneTBB task_group";
  tasks.independent = [group](int count, long *counters) {
    for (int i = 0; i < count; ++i)
      group->run([counter = &counters[i % counterCount * 8]] { ++*counter; });
    group->wait();
  };
  tasks.roundTrip = [group](long *counter) {
    group->run([counter] { ++*counter; });
    group->wait();
  };
  tasks.parallelFor = [](int chunks, long *counters) {
    tbb::parallel_for(
        0, chunks, [&](int i) { ++counters[i % counterCount * 8]; },
        tbb::simple_partitioner());
  };
  peers.push_back(tasks);
}

} // namespace mx::bench
