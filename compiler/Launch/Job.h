// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launcher behind `mxc launch`: runs a program as N ranks, processes of this machine that
// `dist.sync` connects.
//
// Environment of a rank: MX_RANK, MX_SIZE and MX_JOB (runtime/dist/Job.h), MX_NUM_THREADS (its
// share of the threads), MX_LOGDIR and MX_LAUNCHER (run::Launched).
//
// The first failure ends the job: an error report, a signal or an exit code. A report that another
// rank is lost is a consequence: it is held back until the rank that failed first is known.
#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace mx::launch {

inline constexpr int kMaxRanks = 64;

struct JobOptions {
  std::vector<std::string> command; ///< the file of a program, and its arguments
  int ranks = 1;
  int restarts = 0; ///< max restarts after a rank was killed or lost
  std::string logFolder;
  bool colourOut = false, colourErr = false; ///< of prefixes
};

/// Runs a job, on the main thread. Returns the exit code of the first rank that failed.
int runJob(const JobOptions &options, std::ostream &out, std::ostream &err);

} // namespace mx::launch
