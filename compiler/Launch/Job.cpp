// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the ranks of a job until all have ended, and starts them again on request.
#include "Launch/Job.h"
#include "Launch/Attempt.h"
#include "base/Os.h"
#include "base/SharedMemory.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace mx::launch {
namespace {

/// Unique and unpredictable.
std::string newJobName(int attempt) {
  std::random_device random;
  char text[48];
  std::snprintf(text, sizeof text, "%d-%08x%08x-%d", static_cast<int>(getpid()), random(), random(),
                attempt);
  return text;
}

/// Unlinks the shared memory of ranks that were killed while they connected.
void removeMemoryOf(const std::string &job) {
  std::error_code failure;
  std::string begin = "mx-" + job + "-";
  for (const auto &entry : std::filesystem::directory_iterator("/dev/shm", failure))
    if (std::string name = entry.path().filename(); name.starts_with(begin))
      (void)mxrt::os::removeShared(("/" + name).c_str());
}

/// Threads of one rank: $MX_NUM_THREADS, or all processors, divided among the ranks.
int threadsOfRank(int ranks) {
  const char *given = mxrt::os::environment("MX_NUM_THREADS");
  int total = given && std::atoi(given) > 0 ? std::atoi(given) : mxrt::os::processorCount();
  return std::max(1, total / ranks);
}

} // namespace

int runJob(const JobOptions &options, std::ostream &out, std::ostream &err) {
  Signals signals;
  Lines outLines(out, options.ranks, options.colourOut);
  Lines errLines(err, options.ranks, options.colourErr);
  int lock = memfd_create("mx-compile", MFD_CLOEXEC);
  int code = 0;
  for (int attempt = 0;; ++attempt) {
    RankOptions rank;
    rank.command = options.command;
    rank.compileLock = lock;
    rank.signals = signals.usual();
    std::string job = newJobName(attempt);
    rank.variables = {"MX_JOB=" + job, "MX_SIZE=" + std::to_string(options.ranks),
                      "MX_NUM_THREADS=" + std::to_string(threadsOfRank(options.ranks))};
    if (!options.logFolder.empty())
      rank.variables.push_back("MX_LOGDIR=" + options.logFolder);
    bool again = false;
    {
      Attempt run(options.ranks, outLines, errLines, signals);
      code = run.run(rank);
      again = run.mayStartAgain() && attempt < options.restarts;
      err << run.ending();
      if (again)
        err << "mxc launch: restart " << attempt + 1 << " of " << options.restarts << "\n";
      err << std::flush;
    }
    removeMemoryOf(job);
    if (!again)
      break;
  }
  if (lock >= 0)
    close(lock);
  return code;
}

} // namespace mx::launch
