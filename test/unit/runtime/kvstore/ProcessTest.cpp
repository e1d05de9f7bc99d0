// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real processes over shared memory: bits of the reference, and ranks that are
// killed or stopped are named by all others. Limits are generous; nothing here
// depends on how long something takes.

#include "Processes.h"
#include "base/SharedMemory.h"

#include <filesystem>

namespace mxrt::test {
namespace {

using namespace kvstore;
using net::millisecond;
using net::second;
using net::Shm;
using net::ShmOptions;

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

Connect over(const std::string &job, int ranks, int64_t lostAfterNs = 60 * second) {
  return [job, ranks, lostAfterNs](int rank, net::Clock &clock) -> Result<net::TransportBox> {
    ShmOptions options = optionsOf(job, rank, ranks);
    options.lostAfterNs = lostAfterNs;
    auto *made = newObject<Shm>(mxrt_system_allocator(), mxrt_system_allocator(), options, clock);
    net::TransportBox box(mxrt_system_allocator(), made);
    MXRT_CHECK(made->connect());
    return box;
  };
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
      std::string wrong = exchangeAll<float>(transport, ranks, &transport, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<float>(transport, ranks, nullptr, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<double>(transport, ranks, &transport, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<float>(transport, ranks, &transport, weights);
      return wrong;
    }));
  for (Child &child : children)
    EXPECT_EQ(finish(child), "");
  EXPECT_FALSE(namesRemain(job));
}

void endOne(int ranks, int victim, int signal, std::vector<Topology> topologies) {
  for (Topology topology : topologies) {
    std::string job = newJob();
    // A healthy rank beats sixty times as often, also on a loaded machine.
    auto connect = over(job, ranks, signal == SIGSTOP ? 6 * second : 60 * second);
    endOneOf(connect, ranks, victim, signal, topology);
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
