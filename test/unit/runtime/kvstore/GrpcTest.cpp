// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real processes over gRPC on loopback: bits of the reference, bytes of the formula, and ranks that
// are killed or stopped are named by all others. Skipped where the plugin was not built.

#include "Processes.h"
#include "net/Plugin.h"

#include <cstdlib>

namespace mxrt::test {
namespace {

using namespace kvstore;
using net::millisecond;
using net::second;

class Grpc : public ::testing::TestWithParam<int> {
protected:
  void SetUp() override {
    std::string folder = MX_PLUGIN_FOLDER;
    if (!os::fileExists((folder + "/libmxrt_grpc.so").c_str()))
      GTEST_SKIP() << "libmxrt_grpc.so was not built: no libgrpc++-dev";
    setenv("MX_PLUGINS", folder.c_str(), 1);
  }

  /// A port that nobody has: whoever listens there first is rank 0.
  static net::Address freeAddress() {
    net::Address at;
    std::snprintf(at.host, sizeof at.host, "127.0.0.1");
    int listener = -1;
    EXPECT_EQ(os::listenAt(at.host, 0, listener, at.port), 0);
    close(listener);
    return at;
  }
  static Connect over(int ranks, net::LinkedOptions options = {}) {
    std::string job = newJob();
    net::Address at = freeAddress();
    return [=](int rank, net::Clock &clock) {
      net::Meeting meeting;
      meeting.job = job.c_str();
      meeting.rank = rank;
      meeting.ranks = ranks;
      meeting.at = at;
      return net::connectGrpc(mxrt_system_allocator(), meeting, options, false, clock);
    };
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, Grpc, ::testing::Values(2, 3, 4));

net::LinkedOptions patient() {
  net::LinkedOptions options;
  options.lostAfterNs = 60 * second; // a loaded machine is not a failure
  return options;
}

TEST_P(Grpc, ExchangesHaveTheBitsOfTheReference) {
  int ranks = GetParam();
  Connect connect = over(ranks, patient());
  double weights[] = {2, 0.5, 17, 3};
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.push_back(start(rank, [&](int self) -> std::string {
      net::MonotonicClock clock;
      auto made = connect(self, clock);
      if (made.failed())
        return made.takeStatus().message();
      net::TransportBox transport = made.take();
      std::string wrong = exchangeAll<float>(*transport, ranks, nullptr, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<double>(*transport, ranks, nullptr, nullptr);
      if (wrong.empty())
        wrong = exchangeAll<float>(*transport, ranks, nullptr, weights);
      // Several frames a message.
      std::vector<float> large = gradient<float>(self, 3000001);
      Layout layout = {Topology::Direct, Topology::Direct, 1, size_t(100) << 20};
      if (wrong.empty())
        wrong = exchange(*transport, layout, 999999, large.data(), large.size()).message();
      if (wrong.empty() && large != expected<float>(layout, ranks, large.size()))
        wrong = "other bits than the reference for long messages";
      return wrong;
    }));
  for (Child &child : children)
    EXPECT_EQ(finish(child), "");
}

TEST_P(Grpc, KilledRankIsNamedByAllOthers) {
  for (int victim : {0, GetParam() - 1})
    endOneOf(over(GetParam(), patient()), GetParam(), victim, SIGKILL, Topology::Direct);
  endOneOf(over(GetParam(), patient()), GetParam(), GetParam() - 1, SIGKILL, Topology::Ring);
}

TEST_P(Grpc, StoppedRankIsNamedAndLearnsOfIt) {
  net::LinkedOptions options; // a healthy rank beats sixty times as often
  options.beatNs = 100 * millisecond;
  options.lostAfterNs = 6 * second;
  endOneOf(over(GetParam(), options), GetParam(), 1, SIGSTOP, Topology(GetParam() - 2));
}

TEST_F(Grpc, RankThatDoesNotComeIsAnError) {
  net::Meeting meeting;
  meeting.job = "alone";
  meeting.ranks = 2;
  meeting.at = freeAddress();
  meeting.limitNs = 300 * millisecond;
  // In a process of its own: gRPC has threads, and other tests fork.
  Child child = start(0, [&](int) -> std::string {
    net::MonotonicClock clock;
    auto made = net::connectGrpc(mxrt_system_allocator(), meeting, {}, false, clock);
    return made.ok() ? "it connected" : made.takeStatus().message();
  });
  EXPECT_EQ(finish(child), "the ranks did not meet at 127.0.0.1:" + std::to_string(meeting.at.port) +
                               " within 300 ms");
}

TEST_F(Grpc, StrangersAreRefused) {
  net::Address at = freeAddress();
  std::vector<Child> children;
  for (int rank = 0; rank < 3; ++rank)
    children.push_back(start(rank, [&](int self) -> std::string {
      net::MonotonicClock clock;
      net::Meeting meeting;
      meeting.job = self == 2 ? "guessed" : "secret"; // rank 2 plays rank 1
      meeting.rank = self == 2 ? 1 : self;
      meeting.ranks = 2;
      meeting.at = at;
      meeting.limitNs = self == 2 ? second : 60 * second;
      auto made = net::connectGrpc(mxrt_system_allocator(), meeting, patient(), false, clock);
      if (self == 2)
        return made.ok() ? "it connected" : "";
      if (made.failed())
        return made.takeStatus().message();
      net::TransportBox transport = made.take();
      float data[] = {1};
      Layout layout = {Topology::Direct, Topology::Direct, 1, 1 << 12};
      Status status = exchange(*transport, layout, 1, data, 1);
      return status.failed() ? status.message() : data[0] == 2 ? "" : "a wrong sum";
    }));
  for (Child &child : children)
    EXPECT_EQ(finish(child), "");
}

TEST_F(Grpc, OtherNetworksNeedThePermission) {
  Child child = start(0, [&](int) -> std::string {
    net::MonotonicClock clock;
    net::Meeting meeting;
    meeting.job = "open";
    meeting.ranks = 2;
    std::snprintf(meeting.at.host, sizeof meeting.at.host, "0.0.0.0");
    meeting.at.port = freeAddress().port;
    auto made = net::connectGrpc(mxrt_system_allocator(), meeting, {}, false, clock);
    if (made.ok())
      return "it connected";
    Status status = made.takeStatus();
    return status.code() == MXRT_KVSTORE_INSECURE ? "" : status.message();
  });
  EXPECT_EQ(finish(child), "");
}

} // namespace
} // namespace mxrt::test
