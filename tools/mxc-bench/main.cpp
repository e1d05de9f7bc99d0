// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxc-bench: benchmarks of the parts of mx, compared with other libraries where possible.

#include "EngineBench.h"
#include "OldNames.h"
#ifdef MX_BENCH_VM
#include "DataBench.h"
#include "EagerBench.h"
#include "EmbedBench.h"
#include "ExchangeBench.h"
#include "LimitsBench.h"
#include "MatmulBench.h"
#include "MemoryBench.h"
#include "ProcessesBench.h"
#include "PromptBench.h"
#include "SpineBench.h"
#include "VmBench.h"
#endif

#include <cstdio>
#include <cstring>

namespace {

struct Command {
  const char *name;
  const char *help;
  int (*run)(int argc, char **argv);
};

const Command commands[] = {
    {"engine", "cost per op, wake-ups, parallel_for; peers TBB and OpenMP", runEngineBench},
#ifdef MX_BENCH_VM
    {"data", "pictures decoded and changed, beside Pillow; a loader's cost a batch", runDataBench},
    {"eager", "microseconds per operation on a tiny tensor", runEagerBench},
    {"embed", "calls through libmxc: overhead, threads, sessions", runEmbedBench},
    {"exchange", "step time beside max(compute, exchange), over a simulated link",
     runExchangeBench},
    {"memory", "how close memory plans come to the bound; [--seconds=S] [FILE...]", runMemoryBench},
    {"limits", "peak multiply-add rate and memcpy bandwidth of one thread", runLimitsBench},
    {"matmul",
     "matmul beside OpenBLAS and oneDNN; [--threads=N] [--blocks=N] [--only=512x] [--bf16]",
     runMatmulBench},
    {"processes", "all-reduce of 2 processes, beside gloo and Open MPI; $MX_BENCH_PYTHON has torch",
     runProcessesBench},
    {"prompt", "what a person at the prompt waits for, Ctrl-C too", runPromptBench},
    {"spine", "start, compilation, the cache, calls of graphs and eager ops", runSpineBench},
    {"vm", "nanoseconds per instruction of the host VM", runVmBench},
#endif
};

} // namespace

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  for (const mx::bench::OldName &old : mx::bench::kOldNames)
    if (std::strcmp(name, old.before) == 0) {
      std::fprintf(stderr, "mxc-bench: note: `%s` is now called `%s`\n", name, old.now);
      name = old.now;
    }
  for (const Command &command : commands)
    if (std::strcmp(name, command.name) == 0)
      return command.run(argc - 2, argv + 2);
  bool asked = std::strcmp(name, "--help") == 0;
  std::FILE *to = asked ? stdout : stderr;
  std::fprintf(to, "usage: mxc-bench COMMAND [options]\n");
  for (const Command &command : commands)
    std::fprintf(to, "  %-8s %s\n", command.name, command.help);
  std::fprintf(to, "All but eager and vm write what they measured with --json FILE.\n");
  return asked ? 0 : 2;
}
