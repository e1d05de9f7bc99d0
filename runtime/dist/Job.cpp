// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rank of this process, from its environment, and connections of a job.

#include "dist/Job.h"

#include "net/Mpi.h"
#include "net/Plugin.h"
#include "net/Shm.h"

#include <cstdio>
#include <cstring>

namespace mxrt::dist {

/// A lost rank is an error at the others within five seconds.
static constexpr int64_t lostAfterNs = 4 * net::second;

static Status wrong(const mxrt_allocator *alloc, const char *name, const char *text,
                    const char *wanted) {
  return error(alloc, MXRT_BAD_SETTING, noLocation, "%s=%.60s is not %s", name, text ? text : "",
               wanted);
}

/// -1 if it is not a whole number below 10,000.
static int numberOf(const char *text) {
  int number = 0;
  if (!text || !*text || std::strlen(text) > 4)
    return -1;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9')
      return -1;
    number = 10 * number + (*text - '0');
  }
  return number;
}

/// Who numbered the ranks, and the names of its variables.
struct Numbering {
  const char *size, *rank;
};
static Numbering numbering() {
  constexpr Numbering ours = {"MX_SIZE", "MX_RANK"};
  constexpr Numbering others[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                  {"SLURM_NTASKS", "SLURM_PROCID"}};
  bool isOurs = os::environment(ours.size) || os::environment(ours.rank);
  // A program without these that runs below Slurm or mpirun is a program of its own.
  if (isOurs || (!os::environment("MX_RENDEZVOUS") && !os::environment("MX_TRANSPORT")))
    return ours;
  for (const Numbering &each : others)
    if (os::environment(each.size) && os::environment(each.rank))
      return each;
  return ours;
}

static Status readTransport(const mxrt_allocator *alloc, Job &job) {
  const char *at = os::environment("MX_RENDEZVOUS"), *via = os::environment("MX_TRANSPORT"),
             *insecure = os::environment("MX_INSECURE_NETWORK");
  if (at && !net::parseAddress(at, job.rendezvous))
    return wrong(alloc, "MX_RENDEZVOUS", at, "HOST:PORT");
  job.via = at ? Job::Via::Grpc : Job::Via::Shm;
  if (via) {
    if (std::strcmp(via, "shm") != 0 && std::strcmp(via, "grpc") != 0 &&
        std::strcmp(via, "mpi") != 0)
      return wrong(alloc, "MX_TRANSPORT", via, "a transport; there are shm, grpc and mpi");
    job.via = *via == 's' ? Job::Via::Shm : *via == 'g' ? Job::Via::Grpc : Job::Via::Mpi;
  }
  if (job.via == Job::Via::Grpc && !at)
    return wrong(alloc, "MX_RENDEZVOUS", at, "HOST:PORT, which the transport grpc needs");
  if (insecure && std::strcmp(insecure, "0") != 0 && std::strcmp(insecure, "1") != 0)
    return wrong(alloc, "MX_INSECURE_NETWORK", insecure, "0 or 1");
  job.insecure = insecure && *insecure == '1';
  return success();
}

Result<Job> jobOfProcess(const mxrt_allocator *alloc) {
  Numbering names = numbering();
  const char *size = os::environment(names.size), *rank = os::environment(names.rank),
             *name = os::environment("MX_JOB");
  Job job;
  if (!size && !rank)
    return job;
  job.ranks = numberOf(size);
  if (job.ranks < 1 || job.ranks > net::shm::maxRanks) {
    char wanted[64];
    std::snprintf(wanted, sizeof wanted, "a number of ranks, 1 to %d", net::shm::maxRanks);
    return wrong(alloc, names.size, size, wanted);
  }
  job.rank = numberOf(rank);
  if (job.rank < 0 || job.rank >= job.ranks) {
    char wanted[64];
    std::snprintf(wanted, sizeof wanted, "a rank, 0 to %d, as %s=%d says", job.ranks - 1,
                  names.size, job.ranks);
    return wrong(alloc, names.rank, rank, wanted);
  }
  job.isGiven = true;
  MXRT_CHECK(readTransport(alloc, job));
  if (job.ranks == 1)
    return job;
  size_t length = name ? std::strlen(name) : 0;
  bool named = length > 0 && length <= Job::maxName;
  for (const char *at = name; named && *at; ++at)
    named = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || *at == '-' || *at == '_';
  if (!named)
    return wrong(alloc, "MX_JOB", name, "the name of a job: 1 to 40 letters, digits, `-` and `_`");
  std::memcpy(job.name, name, length + 1);
  return job;
}

static Result<net::TransportBox> connectShm(const mxrt_allocator *alloc, const Job &job, int number,
                                            const JobWait &wait, net::Clock &clock) {
  char name[Job::maxName + 16];
  std::snprintf(name, sizeof name, "%s-%d", job.name, number);
  net::ShmOptions options;
  options.job = name;
  options.rank = job.rank;
  options.ranks = job.ranks;
  options.lostAfterNs = lostAfterNs;
  options.connectNs = wait.limitNs;
  options.check = wait.check;
  options.checkUser = wait.user;
  auto *transport = newObject<net::Shm>(alloc, alloc, options, clock);
  if (!transport)
    return outOfMemory(alloc);
  net::TransportBox box(alloc, transport);
  MXRT_CHECK(transport->connect());
  return box;
}

Result<net::TransportBox> connectJob(const mxrt_allocator *alloc, const Job &job, int number,
                                     const JobWait &wait, net::Clock &clock) {
  if (job.via == Job::Via::Shm)
    return connectShm(alloc, job, number, wait, clock);
  net::LinkedOptions options;
  options.lostAfterNs = lostAfterNs;
  net::Meeting meeting;
  meeting.job = job.name;
  meeting.rank = job.rank;
  meeting.ranks = job.ranks;
  meeting.number = uint32_t(number);
  meeting.at = job.rendezvous;
  meeting.limitNs = wait.limitNs;
  meeting.check = wait.check;
  meeting.checkUser = wait.user;
  if (job.via == Job::Via::Grpc)
    return net::connectGrpc(alloc, meeting, options, job.insecure, clock);
  return net::connectMpi(alloc, meeting, options, clock);
}

} // namespace mxrt::dist
