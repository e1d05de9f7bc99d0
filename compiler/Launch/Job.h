// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A job: one program as N processes, of this machine or several, which `dist.sync` connects.
//
// The ranks find in their environment: MX_RANK, MX_SIZE, MX_JOB, MX_TRANSPORT, MX_RENDEZVOUS
// (runtime/dist/Job.h), MX_NUM_THREADS (their part of the threads), MX_LOGDIR and MX_LAUNCHER
// (run::Launched).
//
// The first failure ends the job: an error report, a signal or an exit code. A report that another
// rank is lost is a consequence: it is held back until the rank that failed first is known.
#pragma once
#include "Launch/Starter.h"
#include <ostream>
#include <string>
#include <vector>

namespace mx::launch {

inline constexpr int kMaxRanks = 64;

struct JobOptions {
  std::vector<std::string> command; ///< the file of a program, and its arguments
  int ranks = 1;
  int restarts = 0; ///< at most, after a rank was killed or lost
  Via via = Via::Local;
  std::vector<Host> hosts;
  std::string transport; ///< "shm", "grpc" or "mpi"
  std::string address = "127.0.0.1"; ///< of this machine, for ranks that have to find it
  bool insecure = false; ///< the network may be another than that of this machine
  std::string logFolder;
  bool colourOut = false, colourErr = false; ///< of prefixes
};

/// Runs a job, on the main thread. Returns the exit code of the first rank that failed.
int runJob(const JobOptions &options, std::ostream &out, std::ostream &err);

} // namespace mx::launch
