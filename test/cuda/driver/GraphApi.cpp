// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream capture and graphs.
#include "driver/Module.h"

namespace mxemu {

struct NodeObject {
  size_t index = 0;
  Node *node = nullptr;
};
struct GraphObject {
  std::vector<Node> nodes;
  std::vector<std::unique_ptr<NodeObject>> handles;
};
struct GraphExecObject {
  std::vector<Node> nodes;
  const GraphObject *graph = nullptr;
};

template <class T> static T &live(T *handle, const char *what) {
  if (!handle || !machine().handles.count(handle))
    refuse(CUDA_ERROR_INVALID_HANDLE, std::string("a ") + what + " that does not exist (any more)");
  return *handle;
}

/// Whether everything that was captured comes before the last nodes of the origin.
static bool joined(const Capture &capture, const Stream &origin) {
  std::vector<bool> reached(capture.nodes.size());
  std::vector<size_t> open = origin.lastNodes;
  while (!open.empty()) {
    size_t node = open.back();
    open.pop_back();
    if (reached[node])
      continue;
    reached[node] = true;
    open.insert(open.end(), capture.nodes[node].after.begin(), capture.nodes[node].after.end());
  }
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

/// Runs nodes in an order that their dependencies allow.
static void runNodes(const std::vector<Node> &nodes) {
  std::vector<bool> done(nodes.size());
  for (size_t finished = 0; finished < nodes.size();) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (!done[i] && std::all_of(nodes[i].after.begin(), nodes[i].after.end(),
                                  [&](size_t before) { return bool(done[before]); }))
        ready.push_back(i);
    uint64_t seed = machine().seed;
    size_t choice = seed == 0   ? 0
                    : seed == 1 ? ready.size() - 1
                                : machine().random() % ready.size();
    const Node &node = nodes[ready[choice]];
    if (node.launch)
      runLaunch(*node.launch);
    else if (node.host) {
      insideHostFunction() = true;
      node.run();
      insideHostFunction() = false;
    } else if (node.run)
      node.run();
    done[ready[choice]] = true;
    ++finished;
  }
}

} // namespace mxemu

using namespace mxemu;

MXEMU_API CUresult cuStreamBeginCapture_v2(CUstream handle, Enum mode) {
  return enter(Need::Context, [&] {
    auto stream = streamOf(handle);
    if (stream->legacy)
      refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot capture");
    if (stream->capture || mode < 0 || mode > 2)
      refuse(CUDA_ERROR_ILLEGAL_STATE);
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream.get();
    stream->capture->members.push_back(stream);
    stream->lastNodes.clear();
  });
}
MXEMU_API CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  return enter(Need::Context, [&] {
    auto stream = streamOf(handle);
    if (!graph)
      refuse(CUDA_ERROR_INVALID_VALUE);
    *graph = nullptr;
    auto capture = stream->capture;
    if (!capture)
      refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not capturing");
    if (capture->origin != stream.get())
      refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    bool whole = joined(*capture, *stream), invalid = capture->invalid;
    for (auto &member : capture->members) {
      member->capture = nullptr;
      member->lastNodes.clear();
    }
    if (invalid)
      refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (!whole)
      refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
             "a capture ends before work of other streams was joined");
    auto *result = new GraphObject;
    result->nodes = std::move(capture->nodes);
    for (size_t i = 0; i < result->nodes.size(); ++i) {
      result->handles.push_back(std::make_unique<NodeObject>());
      *result->handles.back() = {i, &result->nodes[i]};
      machine().handles.insert(result->handles.back().get());
    }
    machine().handles.insert(result);
    *graph = result;
  });
}
MXEMU_API CUresult cuGraphDestroy(CUgraph graph) {
  return enter(Need::Init, [&] {
    live(graph, "graph");
    for (auto &node : graph->handles)
      machine().handles.erase(node.get());
    machine().handles.erase(graph);
    delete graph;
  });
}
MXEMU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                               unsigned long long) {
  return enter(Need::Context, [&] {
    live(graph, "graph");
    if (!exec)
      refuse(CUDA_ERROR_INVALID_VALUE);
    *exec = new GraphExecObject;
    (*exec)->nodes = graph->nodes;
    (*exec)->graph = graph;
    machine().handles.insert(*exec);
  });
}
MXEMU_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return enter(Need::Init, [&] {
    live(exec, "graph");
    machine().handles.erase(exec);
    delete exec;
  });
}
MXEMU_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  return enter(Need::Context, [&] {
    live(exec, "graph");
    auto stream = streamOf(handle);
    if (stream->capture)
      refuse(CUDA_ERROR_NOT_SUPPORTED, "graphs inside of graphs are not supported");
    // The parameters of this moment count.
    auto nodes = exec->nodes;
    Node node;
    node.run = [nodes] { runNodes(nodes); };
    issueOrCapture(stream, std::move(node));
  });
}
MXEMU_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return enter(Need::Init, [&] {
    live(graph, "graph");
    if (!count)
      refuse(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; nodes && i < *count; ++i)
      nodes[i] = i < graph->handles.size() ? graph->handles[i].get() : nullptr;
    *count = nodes ? std::min(*count, graph->handles.size()) : graph->handles.size();
  });
}
MXEMU_API CUresult cuGraphNodeGetType(CUgraphNode node, Enum *type) {
  return enter(Need::Init, [&] {
    live(node, "graph node");
    if (!type)
      refuse(CUDA_ERROR_INVALID_VALUE);
    *type = node->node->type;
  });
}
MXEMU_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                 CUDA_KERNEL_NODE_PARAMS *params) {
  return enter(Need::Context, [&] {
    live(node, "graph node");
    if (!params || !node->node->launch)
      refuse(CUDA_ERROR_INVALID_VALUE);
    Launch &launch = *node->node->launch;
    *params = {};
    params->func = launch.function;
    std::tie(params->gridDimX, params->gridDimY, params->gridDimZ) =
        std::tie(launch.shape.grid[0], launch.shape.grid[1], launch.shape.grid[2]);
    std::tie(params->blockDimX, params->blockDimY, params->blockDimZ) =
        std::tie(launch.shape.block[0], launch.shape.block[1], launch.shape.block[2]);
    params->sharedMemBytes = launch.shape.dynamicShared;
    // Pointers into the node's own copy; they live as long as the node.
    static std::map<const Launch *, std::vector<void *>> pointers;
    auto &mine = pointers[&launch];
    mine.clear();
    for (auto &param : launch.kernel->params)
      mine.push_back(&launch.params[param.offset]);
    params->kernelParams = mine.data();
  });
}
MXEMU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                     const CUDA_KERNEL_NODE_PARAMS *p) {
  return enter(Need::Context, [&] {
    live(exec, "graph");
    live(node, "graph node");
    if (!p || node->index >= exec->nodes.size() ||
        exec->graph->nodes.data() + node->index != node->node)
      refuse(CUDA_ERROR_INVALID_VALUE, "a node of another graph");
    Node &mine = exec->nodes[node->index];
    if (!mine.launch)
      refuse(CUDA_ERROR_INVALID_VALUE, "the node is not a kernel");
    mine.launch = makeLaunch(p->func,
                             {{p->gridDimX, p->gridDimY, p->gridDimZ},
                              {p->blockDimX, p->blockDimY, p->blockDimZ},
                              p->sharedMemBytes},
                             p->kernelParams, p->extra, mine.launch->cooperative);
  });
}
