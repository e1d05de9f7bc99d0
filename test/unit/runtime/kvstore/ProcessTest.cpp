// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real processes over shared memory: bits of the reference, and ranks that are
// killed or stopped are named by all others. Limits are generous; nothing here
// depends on how long something takes.

#include "Cases.h"
#include "base/SharedMemory.h"
#include "net/Shm.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace mxrt::test {
namespace {

using namespace kvstore;
using net::millisecond;
using net::second;
using net::Shm;
using net::ShmOptions;

/// A name that no other test, process or run uses.
std::string newJob() {
  static int count = 0;
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

/// "" or what went wrong, told by the exit code of a rank and its last words.
using Body = std::function<std::string(int rank)>;

struct Child {
  pid_t process = -1;
  int words = -1;
};

Child start(int rank, const Body &body) {
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

std::string finish(Child &child) {
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

ShmOptions optionsOf(const std::string &job, int rank, int ranks) {
  ShmOptions options;
  options.job = job.c_str();
  options.rank = rank;
  options.ranks = ranks;
  options.segmentBytes = size_t(64) << 20;
  options.lostAfterNs = 60 * second; // a loaded machine is not a failure
  return options;
}

bool namesRemain(const std::string &job) {
  for (const auto &entry : std::filesystem::directory_iterator("/dev/shm"))
    if (entry.path().filename().string().find("mx-" + job) != std::string::npos)
      return true;
  return false;
}

template <typename T>
std::string exchangeAll(Shm &transport, int ranks, bool shared, const double *weights) {
  uint32_t step = weights ? 100000 : sizeof(T) * 10000 + shared * 5000;
  int rank = transport.rank();
  std::vector<Layout> layouts = allLayouts(1 << 12);
  layouts.push_back({Topology::Direct, Topology::Direct, 1, 64}); // more messages than a ring holds
  for (const Layout &layout : layouts)
    for (size_t count : {size_t(0), size_t(1), size_t(ranks - 1), size_t(4099), size_t(30001)}) {
      std::vector<T> data = gradient<T>(rank, count);
      T *where = data.data();
      if (shared) {
        auto memory = transport.allocate(count * sizeof(T));
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
        transport.deallocate(where);
    }
  return "";
}

class Processes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Processes, ::testing::Values(2, 3, 4));

TEST_P(Processes, ExchangesHaveTheBitsOfTheReference) {
  int ranks = GetParam();
  std::string job = newJob();
  double weights[] = {2, 0.5, 17, 3};
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.push_back(start(rank, [&](int self) -> std::string {
      net::MonotonicClock clock;
      Shm transport(mxrt_system_allocator(), optionsOf(job, self, ranks), clock);
      if (Status status = transport.connect(); status.failed())
        return status.message();
      std::string wrong = exchangeAll<float>(transport, ranks, true, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<float>(transport, ranks, false, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<double>(transport, ranks, true, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<float>(transport, ranks, true, weights);
      return wrong;
    }));
  for (Child &child : children)
    EXPECT_EQ(finish(child), "");
  EXPECT_FALSE(namesRemain(job));
}

/// Ranks exchange until one ends by a signal; all others must fail and name it.
void endOne(int ranks, int victim, int signal, std::vector<Topology> topologies) {
  for (Topology topology : topologies) {
    std::string job = newJob();
    Layout layout = {topology, Topology::Direct, 1, 1 << 12};
    std::vector<Child> children;
    for (int rank = 0; rank < ranks; ++rank)
      children.push_back(start(rank, [&](int self) -> std::string {
        net::MonotonicClock clock;
        ShmOptions options = optionsOf(job, self, ranks);
        // A healthy rank beats sixty times as often, also on a loaded machine.
        if (signal == SIGSTOP)
          options.lostAfterNs = 6 * second;
        Shm transport(mxrt_system_allocator(), options, clock);
        if (Status status = transport.connect(); status.failed())
          return status.message();
        auto memory = transport.allocate(20000 * sizeof(float));
        if (memory.failed())
          return memory.takeStatus().message();
        auto *data = static_cast<float *>(*memory);
        for (uint32_t step = 0;; ++step) {
          std::fill(data, data + 20000, 1.0f);
          if (step == 50 && self == victim)
            raise(signal);
          Status status = exchange(transport, layout, step, data, 20000);
          if (status.failed()) {
            std::string text = status.message();
            if (self == victim) // stopped, and continued later
              return text.find("declared this process lost") != text.npos ? "" : text;
            return text.find("rank " + std::to_string(victim) + " is lost") == 0 &&
                           transport.isLost(victim)
                       ? ""
                       : "wrong error: " + text;
          }
          for (size_t i = 0; i < 20000; ++i)
            if (data[i] != float(ranks))
              return "a gradient was counted twice or not at all";
        }
      }));
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != victim)
        EXPECT_EQ(finish(children[size_t(rank)]), "") << topologyName(topology);
    if (signal == SIGSTOP)
      kill(children[size_t(victim)].process, SIGCONT);
    EXPECT_EQ(finish(children[size_t(victim)]), signal == SIGKILL ? "signal 9" : "");
    EXPECT_FALSE(namesRemain(job));
  }
}

TEST_P(Processes, KilledRankIsNamedByAllOthers) {
  std::vector<Topology> all = {Topology::Direct, Topology::Ring, Topology::Tree};
  endOne(GetParam(), GetParam() - 1, SIGKILL, all);
  endOne(GetParam(), 0, SIGKILL, all);
}

TEST_P(Processes, StoppedRankIsNamedAndLearnsOfIt) {
  // One topology for each number of ranks: each takes as long as the silence.
  endOne(GetParam(), 1, SIGSTOP, {Topology(GetParam() - 2)});
}

TEST(Processes, RankThatDoesNotComeIsNamed) {
  std::string job = newJob();
  net::MonotonicClock clock;
  ShmOptions options = optionsOf(job, 0, 3);
  options.connectNs = 300 * millisecond;
  Shm transport(mxrt_system_allocator(), options, clock);
  Status status = transport.connect();
  EXPECT_EQ(status.code(), MXRT_KVSTORE);
  EXPECT_NE(std::string(status.message()).find("absent: 1 2"), std::string::npos)
      << status.message();
  EXPECT_FALSE(namesRemain(job));
}

TEST(Processes, NamesAreTakenExclusively) {
  std::string job = newJob(), name = "/mx-" + job;
  int file;
  ASSERT_EQ(os::createShared(name.c_str(), 4096, file), 0);
  net::MonotonicClock clock;
  {
    Shm transport(mxrt_system_allocator(), optionsOf(job, 0, 2), clock);
    EXPECT_EQ(transport.connect().code(), MXRT_SYSTEM);
  }
  EXPECT_TRUE(namesRemain(job)); // it is not ours
  EXPECT_EQ(os::removeShared(name.c_str()), 0);
  close(file);
}

TEST(Processes, WrongOptionsAreRefused) {
  net::MonotonicClock clock;
  for (const char *job : {"", "a/b", "..", "a b", "ü"}) {
    ShmOptions options = optionsOf(job, 0, 1);
    options.job = job;
    EXPECT_EQ(Shm(mxrt_system_allocator(), options, clock).connect().code(), MXRT_INVALID_ARGUMENT)
        << job;
  }
  std::string job = newJob();
  ShmOptions options = optionsOf(job, 0, 65);
  EXPECT_EQ(Shm(mxrt_system_allocator(), options, clock).connect().code(), MXRT_INVALID_ARGUMENT);
  options.ranks = 1;
  options.rank = 1;
  EXPECT_EQ(Shm(mxrt_system_allocator(), options, clock).connect().code(), MXRT_INVALID_ARGUMENT);
}

TEST(Processes, MemoryOfASegmentIsUsedAgain) {
  std::string job = newJob();
  net::MonotonicClock clock;
  ShmOptions options = optionsOf(job, 0, 1);
  options.segmentBytes = 1 << 16;
  Shm transport(mxrt_system_allocator(), options, clock);
  ASSERT_TRUE(transport.connect().ok());
  for (int round = 0; round < 3; ++round) {
    void *blocks[16];
    for (void *&block : blocks) {
      auto memory = transport.allocate(4000); // 4032 with the rest to a multiple of 64
      ASSERT_TRUE(memory.ok());
      block = *memory;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
      std::memset(block, round, 4000);
    }
    EXPECT_EQ(transport.allocate(4000).takeStatus().code(), MXRT_MEMORY_LIMIT);
    for (int i : {3, 1, 2, 15, 0, 5, 4, 6, 14, 13, 12, 11, 7, 9, 8, 10})
      transport.deallocate(blocks[i]);
    auto whole = transport.allocate(1 << 16); // all of them are one again
    ASSERT_TRUE(whole.ok());
    transport.deallocate(*whole);
  }
  EXPECT_EQ(transport.allocate((1 << 16) + 1).takeStatus().code(), MXRT_MEMORY_LIMIT);
}

} // namespace
} // namespace mxrt::test
