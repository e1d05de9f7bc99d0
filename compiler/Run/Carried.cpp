// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Main program of an executable built by `mxc build --exe`: finds embedded kernels and graph code
// (multi-versioned by CPU level), and runs the modules.
#include "Run/GraphCalls.h"
#include "Run/Interrupt.h"
#include "Run/Program.h"
#include "Run/Replicas.h"
#include "Run/Terminal.h"
#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <set>

namespace mx::run {
namespace {

/// The kernels embedded in the program; picks the best variant that this CPU supports.
class CarriedKernels final : public mxrt::eager::KernelSource {
public:
  CarriedKernels(const Program &program, int32_t level, const mxrt_allocator *allocator)
      : program(program), level(level), allocator(allocator) {}

  bool isCarried() const override { return true; }
  mxrt::Status find(std::string_view key, mxrt_compiled_kernel &out) override {
    const Kernel *end = program.kernels + program.kernelCount;
    const Kernel *found = std::lower_bound(
        program.kernels, end, key, [](const Kernel &a, std::string_view b) { return a.key < b; });
    for (; found != end && found->key == key; ++found)
      if (found->level <= level) {
        out = found->code;
        return {};
      }
    return mxrt::Status(mxrt_status_make(allocator, MXRT_INTERNAL, {},
                                         "the program has no kernel for `%.*s`",
                                         static_cast<int>(key.size()), key.data()));
  }

private:
  const Program &program;
  int32_t level;
  const mxrt_allocator *allocator;
};

/// `N = 7, T = 3`
std::string showSizes(const Graph &graph, const int64_t *values, const char *equals,
                      const char *separator) {
  std::string text;
  for (int64_t i = 0; i < graph.sizeCount; ++i)
    if (graph.bounds[i] < 0)
      text += (text.empty() ? "" : separator) + std::string(graph.sizes[i]) + equals +
              std::to_string(values[i]);
  return text;
}

/// Calls the compiled variant for the sizes; without one, the graph runs op by op (eagerly).
class CarriedHost final : public GraphCaller {
public:
  CarriedHost(const mxrt::eager::EagerOptions &options, const Program &program, int32_t level,
              Reporter &reporter)
      : GraphCaller(options), program(program), level(level), reporter(reporter) {}

  void setModule(mxrt::host::Program *now) { module = now; }

protected:
  mxrt::Status resolveGraph(std::string_view name, const mxrt::host::Signature &,
                            void *&target) override {
    for (int64_t i = 0; i < program.graphCount; ++i)
      if (program.graphs[i].name == name) {
        auto &state = graphs[&program.graphs[i]];
        state.graph = &program.graphs[i];
        target = &state;
        return {};
      }
    return fail(MXRT_HOST_BYTECODE, {}, "there is no graph `" + std::string(name) + "`");
  }

  mxrt::Status invokeGraph(void *target, mxrt::host::Invocation &call) override {
    State &state = *static_cast<State *>(target);
    const Graph &graph = *state.graph;
    std::vector<int64_t> sizes = sizesOf(graph, call);
    auto known = state.bound.find(sizes);
    if (known == state.bound.end()) {
      std::vector<int64_t> key;
      if (mxrt::Status status = variantKey(graph, sizes, call.location, key); !status.ok())
        return status;
      BoundCode bound;
      if (const Code *code = find(graph, key))
        bindCode(*code, sizes, bound);
      else if (mxrt::Status status = missing(graph, sizes, call.location); !status.ok())
        return status;
      known = state.bound.emplace(std::move(sizes), std::move(bound)).first;
    }
    if (known->second.code)
      return callGraph(graph, known->second, call);
    return call.vm.call(module, graph.eager, call.args, call.result);
  }

private:
  struct State {
    const Graph *graph = nullptr;
    std::map<std::vector<int64_t>, BoundCode> bound; ///< null code: runs op by op
  };

  const Code *find(const Graph &graph, const std::vector<int64_t> &key) const {
    for (int64_t i = 0; i < graph.codeCount; ++i)
      if (const Code &code = graph.codes[i];
          code.level <= level && std::equal(key.begin(), key.end(), code.fixed))
        return &code;
    return nullptr;
  }

  /// Reports that these sizes have no code, as an error if the graph cannot run eagerly.
  mxrt::Status missing(const Graph &graph, const std::vector<int64_t> &sizes,
                       const mxrt_location &location) {
    std::string there;
    std::set<std::string> seen;
    for (int64_t i = 0; i < graph.codeCount; ++i)
      if (std::string each = showSizes(graph, graph.codes[i].fixed, " = ", ", ");
          seen.insert(each).second)
        there += (there.empty() ? "" : "; ") + each;
    std::string wanted = showSizes(graph, sizes.data(), " = ", ", ");
    std::string note = there.empty() ? "there is code for no sizes" : "there is code for " + there;
    std::string help = "build it with code for them: `" + std::string(program.command) +
                       " --shapes " + showSizes(graph, sizes.data(), "=", ",") + "`";
    std::string what = "graph `" + std::string(graph.name) + "` ";
    if (!graph.eager)
      return fail(MXRT_UNSUPPORTED, location,
                  what + "has no code for " + wanted + "\nnote: " + note + "\nhelp: " + help);
    reporter.diagnostics()
        .report(mx::Code::N0504, reporter.spanOf(location), what + "runs op by op for " + wanted)
        .note(note)
        .help(help);
    reporter.flush();
    return {};
  }

  const Program &program;
  int32_t level;
  Reporter &reporter;
  mxrt::host::Program *module = nullptr;
  std::map<const Graph *, State> graphs;
};

/// Loads and runs all modules.
bool runModules(const Program &program, Machine &machine, CarriedHost &host) {
  std::vector<mxrt::host::Program *> loaded;
  mxrt_status status = nullptr;
  for (int64_t i = 0; i < program.moduleCount && !status; ++i) {
    const Bytecode &module = program.modules[i];
    auto made = machine.vm()->load({module.bytes, static_cast<size_t>(module.size)});
    if (!made.ok()) {
      status = made.takeStatus().release();
      break;
    }
    loaded.push_back(made.take());
    host.setModule(loaded.back());
    status = machine.vm()->run(loaded.back()).release();
  }
  bool fine = machine.finish(status);
  machine.leaveRanks();
  fine &= machine.finishLog();
  for (mxrt::host::Program *each : loaded)
    machine.vm()->unload(each);
  return fine;
}

/// One instance of a program: a rank of its own machine.
struct InstanceOptions {
  int32_t level = 0;
  int rank = 0; ///< those above 0 show people nothing but what the program prints
  int32_t threads = 0; ///< 0: all
  RenderOptions render;
  Terminal terminal;
  std::string logFolder;
};
enum { kFine = 0, kProgramHasErrors = 1, kWrongUse = 2, kFault = 3 }; // as `mxc run`

/// `all`: of rank 0 of this process.
int runInstance(const Program &program, const InstanceOptions &given, Replica &replica,
                Replicas *all, std::ostream &out, std::ostream &err) {
  SourceManager sources;
  for (int64_t i = 0; i < program.sourceCount; ++i) {
    const SourceText &source = program.sources[i];
    sources.add(source.name, "", std::string(source.text, static_cast<size_t>(source.size)));
  }
  Diagnostics diags(sources);
  Reporter reporter(sources, diags, err, given.render);
  MachineOptions options;
  options.uncheckedDivision = program.uncheckedDivision != 0;
  options.onTerminal = given.terminal.bars;
  options.drawsOnTerminal = given.terminal.isInteractive;
  options.logFolder = folderOfRank(given.logFolder, given.rank);
  options.threads = given.threads;
  options.showsProgress = given.rank == 0;
  options.replica = &replica;
  Machine machine(options, reporter);
  if (!machine.runtime())
    return kFault;
  CarriedKernels kernels(program, given.level, mxrt_runtime_allocator(machine.runtime()));
  mxrt::eager::EagerOptions eager;
  eager.runtime = machine.runtime();
  eager.kernels = &kernels;
  eager.print = writeOut;
  eager.printContext = &out;
  CarriedHost host(eager, program, given.level, reporter);
  bool fine = machine.start(host, {program.natives, static_cast<size_t>(program.nativeCount)});
  if (fine) {
    std::optional<Interruptible> stop;
    if (all)
      stop.emplace(machine);
    fine = runModules(program, machine, host);
    if (all)
      fine = all->finish(fine);
  }
  machine.stop();
  return fine ? kFine : kProgramHasErrors;
}

} // namespace

int runCarried(const Program &program, int argc, char **argv) {
  fillStandardStreams();
  std::ios::sync_with_stdio(false);
  std::string self = argc > 0 ? argv[0] : program.name;
  if (argc == 2 && (!std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "-h"))) {
    std::cout << self << ": " << program.name << " as a program, which takes no arguments\n";
    if (*program.options)
      std::cout << "\nits options were built in:\n\n"
                << program.options << "\nfor other values: " << program.command
                << " -D name=value\n";
    return finishOutput(std::cout, std::cerr) ? kFine : kProgramHasErrors;
  }
  if (argc > 1) {
    std::cerr << self << ": `" << argv[1] << "`: this program takes no arguments\n"
              << "  = help: options get their values when it is built: `" << program.command
              << " -D name=value`\n";
    return kWrongUse;
  }
  int32_t level = mxrt_aot_cpu_level();
  if (level < program.minLevel) {
    std::cerr << self << ": there is no code for this CPU, only for " << program.cpus << "\n"
              << "  = help: build it for this one: `" << program.command
              << " --target-cpu generic`\n";
    return kFault;
  }
  InstanceOptions options;
  options.level = level;
  options.terminal = Terminal::look();
  options.render.colour = options.terminal.colour;
  options.logFolder = defaultLogFolder(program.name);
  Launched launched;
  options.rank = launched.rank();
  Replicas replicas(std::cout, std::cerr, launched,
                    [&](Replica &replica, int threads, std::ostream &out, std::ostream &err) {
                      InstanceOptions own = options;
                      own.threads = threads;
                      own.terminal = {};
                      own.rank = replica.rank();
                      return runInstance(program, own, replica, nullptr, out, err) == kFine;
                    });
  int code = runInstance(program, options, replicas.first(), &replicas, replicas.out(),
                         replicas.err());
  if (code == kFine && !finishOutput(std::cout, std::cerr))
    code = kProgramHasErrors;
  return code;
}

} // namespace mx::run
