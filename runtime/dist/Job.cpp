// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rank of this process, from its environment, and connections of a job through shared memory.

#include "dist/Job.h"

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

Result<Job> jobOfProcess(const mxrt_allocator *alloc) {
  const char *size = os::environment("MX_SIZE"), *rank = os::environment("MX_RANK"),
             *name = os::environment("MX_JOB");
  Job job;
  if (!size && !rank)
    return job;
  job.ranks = numberOf(size);
  if (job.ranks < 1 || job.ranks > net::shm::maxRanks) {
    char wanted[64];
    std::snprintf(wanted, sizeof wanted, "a number of ranks, 1 to %d", net::shm::maxRanks);
    return wrong(alloc, "MX_SIZE", size, wanted);
  }
  job.rank = numberOf(rank);
  if (job.rank < 0 || job.rank >= job.ranks) {
    char wanted[64];
    std::snprintf(wanted, sizeof wanted, "a rank, 0 to %d, as MX_SIZE=%d says", job.ranks - 1,
                  job.ranks);
    return wrong(alloc, "MX_RANK", rank, wanted);
  }
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

Result<net::TransportBox> connectJob(const mxrt_allocator *alloc, const Job &job, int number,
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

} // namespace mxrt::dist
