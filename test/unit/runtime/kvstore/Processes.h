// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks as real processes, over any transport.

#ifndef MX_TEST_UNIT_RUNTIME_KVSTORE_PROCESSES_H
#define MX_TEST_UNIT_RUNTIME_KVSTORE_PROCESSES_H

#include "Cases.h"
#include "net/Shm.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace mxrt::test {

/// A name that no other test, process or run uses.
inline std::string newJob() {
  static int count = 0;
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

/// "" or what went wrong, told by the exit code of a rank and its last words.
using Body = std::function<std::string(int rank)>;

struct Child {
  pid_t process = -1;
  int words = -1;
};

inline Child start(int rank, const Body &body) {
  int ends[2];
  if (pipe(ends) != 0)
    return {};
  std::fflush(nullptr);
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    std::string words = body(rank);
    ssize_t written = write(ends[1], words.data(), words.size());
    _exit(words.empty() && written == 0 ? 0 : 1);
  }
  close(ends[1]);
  return {process, ends[0]};
}

inline std::string finish(Child &child) {
  std::string words;
  char buffer[512];
  for (ssize_t got; (got = read(child.words, buffer, sizeof buffer)) > 0;)
    words.append(buffer, size_t(got));
  close(child.words);
  int status = 0;
  waitpid(child.process, &status, 0);
  if (WIFSIGNALED(status))
    words += "signal " + std::to_string(WTERMSIG(status));
  return words;
}

/// Connects a rank, in its own process.
using Connect = std::function<Result<net::TransportBox>(int rank, net::Clock &clock)>;

/// Every layout and some counts: bits of the reference, and bytes of the formula. With `shared`,
/// from its memory.
template <typename T>
std::string exchangeAll(net::Transport &transport, int ranks, net::Shm *shared, const double *weights) {
  uint32_t step = weights ? 100000 : sizeof(T) * 10000 + (shared ? 5000 : 0);
  int rank = transport.rank();
  std::vector<kvstore::Layout> layouts = allLayouts(1 << 12);
  layouts.push_back({kvstore::Topology::Direct, kvstore::Topology::Direct, 1, 64}); // more messages than a ring holds
  for (const kvstore::Layout &layout : layouts)
    for (size_t count : {size_t(0), size_t(1), size_t(ranks - 1), size_t(4099), size_t(30001)}) {
      std::vector<T> data = gradient<T>(rank, count);
      T *where = data.data();
      if (shared) {
        auto memory = shared->allocate(count * sizeof(T));
        if (memory.failed())
          return memory.takeStatus().message();
        where = static_cast<T *>(*memory);
        if (count)
          std::memcpy(where, data.data(), count * sizeof(T));
      }
      uint64_t before = transport.counters().sentBytes;
      Status status =
          exchange(transport, layout, ++step, where, count, weights ? &weights[rank] : nullptr);
      if (status.failed())
        return nameOf(layout) + ": " + status.message();
      std::vector<T> wanted = expected<T>(layout, ranks, count, weights);
      if (count && std::memcmp(where, wanted.data(), count * sizeof(T)) != 0)
        return nameOf(layout) + ": other bits than the reference for " + std::to_string(count);
      if (transport.counters().sentBytes - before !=
          expectedSentBytes(layout, rank, ranks, count, sizeof(T), weights != nullptr))
        return nameOf(layout) + ": the payload is not that of the formula";
      if (shared)
        shared->deallocate(where);
    }
  return "";
}

/// Ranks exchange until one ends by a signal; all others must fail and name it.
inline void endOneOf(const Connect &connect, int ranks, int victim, int signal,
                     kvstore::Topology topology) {
  kvstore::Layout layout = {topology, kvstore::Topology::Direct, 1, 1 << 12};
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.push_back(start(rank, [&](int self) -> std::string {
      net::MonotonicClock clock;
      auto made = connect(self, clock);
      if (made.failed())
        return made.takeStatus().message();
      net::TransportBox transport = made.take();
      std::vector<float> data(20000);
      for (uint32_t step = 0;; ++step) {
        std::fill(data.begin(), data.end(), 1.0f);
        if (step == 50 && self == victim)
          raise(signal);
        Status status = exchange(*transport, layout, step, data.data(), data.size());
        if (status.failed()) {
          std::string text = status.message();
          if (self == victim) // stopped, and continued later
            return text.find("declared this process lost") != text.npos ||
                           text.find("this process was stopped for") != text.npos
                       ? ""
                       : text;
          return text.find("rank " + std::to_string(victim) + " is lost") == 0 &&
                         transport->isLost(victim)
                     ? ""
                     : "wrong error: " + text;
        }
        for (float each : data)
          if (each != float(ranks))
            return "a gradient was counted twice or not at all";
      }
    }));
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != victim)
      EXPECT_EQ(finish(children[size_t(rank)]), "") << topologyName(topology);
  if (signal == SIGSTOP)
    kill(children[size_t(victim)].process, SIGCONT);
  EXPECT_EQ(finish(children[size_t(victim)]), signal == SIGKILL ? "signal 9" : "");
}

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_KVSTORE_PROCESSES_H
