// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the ranks of a job until all have ended, and starts them again on request.
#include "Launch/Job.h"
#include "Launch/Attempt.h"
#include "base/Os.h"
#include "base/SharedMemory.h"
#include "net/Rendezvous.h"
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

/// `total` threads, or all of the machine, divided among its ranks. Other machines are taken for as
/// large as this one.
int threadsOfRank(const JobOptions &options) {
  const char *given = mxrt::os::environment("MX_NUM_THREADS");
  int total = given && std::atoi(given) > 0 ? std::atoi(given) : mxrt::os::processorCount();
  int max = options.hosts.empty() ? options.ranks : 1;
  for (const Host &host : options.hosts)
    max = std::max(max, std::min(host.slots, options.ranks));
  return std::max(1, total / max);
}

/// What all ranks find in their environment.
std::vector<std::string> variablesOf(const JobOptions &options, const std::string &job, int port) {
  std::vector<std::string> out = {"MX_JOB=" + job, "MX_SIZE=" + std::to_string(options.ranks),
                                  "MX_TRANSPORT=" + options.transport,
                                  "MX_NUM_THREADS=" + std::to_string(threadsOfRank(options))};
  std::string here = options.address + ":" + std::to_string(port);
  if (port > 0 && options.transport == "grpc")
    out.push_back("MX_RENDEZVOUS=" + here);
  if (port > 0 && options.via != Via::Local)
    out.push_back(std::string(run::Launched::kLauncher) + "=" + here);
  if (options.insecure)
    out.push_back("MX_INSECURE_NETWORK=1");
  if (!options.logFolder.empty())
    out.push_back("MX_LOGDIR=" + options.logFolder);
  return out;
}

} // namespace

int runJob(const JobOptions &options, std::ostream &out, std::ostream &err) {
  Starter starter;
  if (std::string problem = starter.open({options.via, options.hosts, options.command, options.ranks});
      !problem.empty()) {
    err << "error[R0006]: mxc launch: " << problem << "\n";
    return 1;
  }
  Signals signals;
  Lines outLines(out, options.ranks, options.colourOut);
  Lines errLines(err, options.ranks, options.colourErr);
  int lock = memfd_create("mx-compile", MFD_CLOEXEC);
  int code = 0;
  for (int attempt = 0;; ++attempt) {
    std::string job = newJobName(attempt);
    mxrt::net::Rendezvous rendezvous(mxrt_system_allocator(), job.c_str(), options.ranks);
    bool needsCalls = starter.isRemote() || options.transport == "grpc";
    if (int failure = needsCalls ? rendezvous.open(options.address.c_str(), 0) : 0) {
      err << "error[R0006]: mxc launch: cannot listen at " << options.address << ": "
          << std::strerror(failure) << "\n";
      code = 1;
      break;
    }
    RankOptions common;
    common.compileLock = lock;
    common.signals = signals.usual();
    common.variables = variablesOf(options, job, rendezvous.port());
    bool again = false;
    {
      Attempt run(options.ranks, outLines, errLines, signals, starter,
                  needsCalls ? &rendezvous : nullptr);
      code = run.run(common);
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
