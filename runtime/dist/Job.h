// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process as a rank of a job: processes that run the same program and are connected. The
// environment says which rank it is; `mxc launch` sets it, and so may anybody else.
//
//   MX_SIZE        the number of ranks; not set: 1
//   MX_RANK        0 to MX_SIZE - 1
//   MX_JOB         a name that no other job has: up to 40 letters, digits, `-` and `_`
//   MX_RENDEZVOUS  HOST:PORT, where ranks find each other (net/Rendezvous.h)
//   MX_TRANSPORT   shm, grpc or mpi; not set: grpc with MX_RENDEZVOUS, else shm
//   MX_INSECURE_NETWORK=1  ranks may talk through a network without TLS
//
// Where MX_RANK and MX_SIZE are not set but MX_RENDEZVOUS or MX_TRANSPORT is, those of Slurm
// (SLURM_PROCID, SLURM_NTASKS) and Open MPI (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE) count.

#ifndef MXRT_DIST_JOB_H
#define MXRT_DIST_JOB_H

#include "net/Rendezvous.h"
#include "net/Transport.h"

namespace mxrt::dist {

struct Job {
  static constexpr size_t maxName = 40;
  enum class Via : uint8_t { Shm, Grpc, Mpi };
  bool isGiven = false; ///< the environment says which rank this is
  int rank = 0, ranks = 1;
  char name[maxName + 1] = "";
  Via via = Via::Shm;
  net::Address rendezvous; ///< port 0: none
  bool insecure = false;
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
