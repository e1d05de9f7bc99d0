// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process as a rank of a job: processes of one machine that run the same program
// and are connected through shared memory. The environment names the rank; `mxc launch`
// sets it, and other launchers may.
//
//   MX_SIZE   the number of ranks; not set: 1
//   MX_RANK   0 to MX_SIZE - 1
//   MX_JOB    a name that no other job has: up to 40 letters, digits, `-` and `_`

#ifndef MXRT_DIST_JOB_H
#define MXRT_DIST_JOB_H

#include "net/Clock.h"
#include "net/Transport.h"

namespace mxrt::dist {

struct Job {
  static constexpr size_t maxName = 40;
  int rank = 0, ranks = 1;
  char name[maxName + 1] = "";
};

/// Reads the environment; R0007 for invalid values.
Result<Job> jobOfProcess(const mxrt_allocator *alloc);

struct JobWait {
  int64_t limitNs = 60 * net::second;
  /// Polled while other ranks are missing; an error ends the wait.
  Status (*check)(void *user) = nullptr;
  void *user = nullptr;
};
/// Opens connection `number`, from 0, and waits for all ranks. The clock outlives
/// the transport.
Result<net::TransportBox> connectJob(const mxrt_allocator *alloc, const Job &job, int number,
                                     const JobWait &wait, net::Clock &clock);

} // namespace mxrt::dist

#endif // MXRT_DIST_JOB_H
