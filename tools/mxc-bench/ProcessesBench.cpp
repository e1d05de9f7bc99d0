// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All-reduce of two processes of this machine: shared memory and gRPC, beside gloo of torch and Open
// MPI where they are installed. They alternate. CPU time is that of both processes, without their
// start. The payload is compared with the formula. Nothing is asserted about time.

#include "ProcessesBench.h"

#include "Measure.h"
#include "kvstore/Collective.h"
#include "kvstore/Reference.h"
#include "net/Plugin.h"
#include "net/Shm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace mxrt;

constexpr int ranks = 2, rounds = 3;
constexpr size_t sizes[] = {1000, 100000, 1000000, 10000000, 100000000}; // bytes
int timesOf(size_t bytes) { return bytes >= 10000000 ? 5 : 50; }

struct Cost {
  double cpuMs = 0, wallMs = 0; // an exchange; CPU of both processes
};

double cpuMs() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  auto ms = [](const timeval &time) { return double(time.tv_sec) * 1e3 + double(time.tv_usec) / 1e3; };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

[[noreturn]] void giveUp(const char *why) {
  std::fprintf(stderr, "mxc-bench: %s\n", why);
  _exit(1);
}

Status allReduce(net::Transport &transport, uint32_t step, float *data, size_t count) {
  kvstore::Plan plan(transport.allocator());
  MXRT_CHECK(plan.make({}, transport.rank(), transport.size(), count, sizeof(float)));
  kvstore::Reduction what;
  what.tag = {0, step, 0, 0};
  what.data = data;
  kvstore::Collective collective(transport, plan, what);
  MXRT_CHECK(collective.start());
  return waitFor(transport, collective);
}

/// One rank, all sizes: a line `bytes cpu-ms wall-ms` each.
void measure(net::Transport &transport, net::Shm *shared, int out) {
  uint32_t step = 0;
  std::vector<float> own(shared ? 0 : sizes[std::size(sizes) - 1] / sizeof(float));
  float *data = own.data();
  if (shared) {
    auto memory = shared->allocate(sizes[std::size(sizes) - 1]);
    if (memory.failed())
      giveUp(memory.takeStatus().message());
    data = static_cast<float *>(*memory);
  }
  for (size_t bytes : sizes) {
    size_t count = bytes / sizeof(float);
    std::fill(data, data + count, 1.0f);
    auto run = [&] {
      if (Status status = allReduce(transport, ++step, data, count); status.failed())
        giveUp(status.message());
    };
    run(); // pages, and both are here
    uint64_t sent = transport.counters().sentBytes;
    double cpu = cpuMs(), best = 1e30;
    int times = timesOf(bytes);
    for (int i = 0; i < times; ++i) {
      double begin = mx::bench::now();
      run();
      best = std::min(best, (mx::bench::now() - begin) / 1e3);
    }
    cpu = (cpuMs() - cpu) / times;
    sent = (transport.counters().sentBytes - sent) / uint64_t(times);
    if (sent != kvstore::expectedSentBytes({}, transport.rank(), ranks, count, sizeof(float), false))
      giveUp("the payload is not that of the formula");
    char line[100];
    int length = std::snprintf(line, sizeof line, "%zu %.6f %.6f\n", bytes, cpu, best);
    if (write(out, line, size_t(length)) != length)
      giveUp("the pipe is closed");
  }
}

void runRank(const std::string &engine, const std::string &job, int port, int rank, int out) {
  net::MonotonicClock clock;
  const mxrt_allocator *alloc = mxrt_system_allocator();
  if (engine == "shm") {
    net::ShmOptions options;
    options.job = job.c_str();
    options.rank = rank;
    options.ranks = ranks;
    net::Shm transport(alloc, options, clock);
    if (Status status = transport.connect(); status.failed())
      giveUp(status.message());
    return measure(transport, &transport, out);
  }
  net::Meeting meeting;
  meeting.job = job.c_str();
  meeting.rank = rank;
  meeting.ranks = ranks;
  std::snprintf(meeting.at.host, sizeof meeting.at.host, "127.0.0.1");
  meeting.at.port = port;
  auto made = net::connectGrpc(alloc, meeting, {}, false, clock);
  if (made.failed())
    giveUp(made.takeStatus().message());
  net::TransportBox transport = made.take();
  measure(*transport, nullptr, out);
}

/// Adds the lines of both ranks: CPU time is summed, the wall time is the longer one.
void read(int from, std::map<size_t, Cost> &costs) {
  std::FILE *file = fdopen(from, "r");
  size_t bytes;
  for (double cpu, wall; std::fscanf(file, "%zu %lf %lf", &bytes, &cpu, &wall) == 3;) {
    costs[bytes].cpuMs += cpu;
    costs[bytes].wallMs = std::max(costs[bytes].wallMs, wall);
  }
  std::fclose(file);
}

std::map<size_t, Cost> runOurs(const std::string &engine, int round) {
  std::map<size_t, Cost> costs;
  std::string job = "bench-" + std::to_string(getpid()) + "-" + std::to_string(round);
  int listener = -1, port = 0;
  if (os::listenAt("127.0.0.1", 0, listener, port) != 0)
    return costs;
  close(listener);
  int ends[2];
  if (pipe(ends) != 0)
    return costs;
  std::fflush(nullptr);
  pid_t children[ranks];
  for (int rank = 0; rank < ranks; ++rank)
    if ((children[rank] = fork()) == 0) {
      close(ends[0]);
      runRank(engine, job, port, rank, ends[1]);
      _exit(0);
    }
  close(ends[1]);
  read(ends[0], costs);
  for (pid_t child : children)
    waitpid(child, nullptr, 0);
  return costs;
}

/// A peer is a script of Python that prints such lines for each rank; nothing if it is not there.
std::map<size_t, Cost> runPeer(const std::string &peer) {
  std::map<size_t, Cost> costs;
  const char *given = std::getenv("MX_BENCH_PYTHON");
  std::string python = given ? given : "python3";
  std::string script = std::string(MX_BENCH_FOLDER) + "/exchange_peers.py " + peer;
  std::string line = peer == "gloo"
                         ? python + " " + script
                         : "mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 python3 " + script;
  if (std::FILE *out = popen((line + " 2>/dev/null").c_str(), "r")) {
    int file = dup(fileno(out));
    read(file, costs);
    pclose(out);
  }
  return costs;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace

int runProcessesBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  mx::bench::Figures figures;
  figures.title("all-reduce of 2 processes; CPU of both, median of rounds; best wall time; ms");
  const char *const engines[] = {"shm", "grpc", "gloo", "mpi"};
  std::map<std::string, std::map<size_t, std::vector<Cost>>> all;
  for (int round = 0; round < rounds; ++round)
    for (const std::string engine : engines) {
      bool isOurs = engine == "shm" || engine == "grpc";
      for (auto &[bytes, cost] : isOurs ? runOurs(engine, round) : runPeer(engine))
        all[engine][bytes].push_back(cost);
    }
  for (size_t bytes : sizes)
    for (const char *engine : engines) {
      const std::vector<Cost> &costs = all[engine][bytes];
      if (costs.empty())
        continue;
      std::vector<double> cpu;
      double wall = costs[0].wallMs;
      for (const Cost &each : costs) {
        cpu.push_back(each.cpuMs);
        wall = std::min(wall, each.wallMs);
      }
      char what[80];
      std::snprintf(what, sizeof what, "%zu bytes, %s, CPU", bytes, engine);
      figures.add(what, median(cpu), "ms");
      std::snprintf(what, sizeof what, "%zu bytes, %s, wall", bytes, engine);
      figures.add(what, wall, "ms");
    }
  if (json && !mx::bench::writeJson(json, [&](std::FILE *to) { figures.printJson(to); }))
    return 1;
  return 0;
}
