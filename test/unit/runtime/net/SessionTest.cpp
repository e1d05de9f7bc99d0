// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract of a transport, on sessions over the simulator, and what a
// session does with packets that no session sends.

#include "../TestAllocator.h"
#include "base/Crc32.h"
#include "net/Sim.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>

namespace mxrt::test {
namespace {

using namespace net;

struct Log {
  Transport *transport = nullptr;
  int sends = 0, receives = 0;
  std::string text, failure;
  mxrt_code code = MXRT_OK;
  static void sent(void *user, Status status) {
    auto *log = static_cast<Log *>(user);
    ++log->sends;
    log->note(status);
  }
  static void received(void *user, View view, Status status) {
    auto *log = static_cast<Log *>(user);
    ++log->receives;
    log->note(status);
    if (status.ok()) {
      log->text.assign(static_cast<const char *>(view.data), view.bytes);
      EXPECT_TRUE(log->transport->release(view));
    }
  }
  void note(const Status &status) {
    if (status.failed()) {
      failure = status.message();
      code = status.code();
    }
  }
};

class SessionTest : public ::testing::Test {
protected:
  void open(int count, SessionOptions options = {}) {
    ranks = count;
    sim = std::make_unique<Sim>(memory.get(), 1, ranks);
    ASSERT_TRUE(sim->open().ok());
    for (int rank = 0; rank < ranks; ++rank) {
      sessions.push_back(std::make_unique<Session>(memory.get(), rank, ranks, sim->datagrams(rank),
                                                   *sim, options));
      ASSERT_TRUE(sessions.back()->open().ok());
    }
  }
  void run(int64_t length) {
    int64_t limit = sim->now() + length;
    for (int rank = 0; rank < ranks; ++rank)
      sim->wake(rank, sim->now());
    for (int rank; (rank = sim->next(limit)) >= 0;)
      if (sessions[size_t(rank)]) {
        sessions[size_t(rank)]->progress();
        sim->wake(rank, sessions[size_t(rank)]->nextDeadline());
      }
  }
  Op *send(int from, int to, Tag tag, const std::string &text, Log &log) {
    log.transport = sessions[size_t(from)].get();
    auto op = log.transport->send(to, tag, text.data(), text.size(), {Log::sent, &log});
    EXPECT_TRUE(op.ok());
    return *op;
  }
  Op *receive(int at, int from, Tag tag, size_t most, Log &log) {
    log.transport = sessions[size_t(at)].get();
    auto op = log.transport->receive(from, tag, most, {Log::received, &log});
    EXPECT_TRUE(op.ok());
    return *op;
  }
  /// A packet as rank 1 would send it to rank 0, with a good checksum.
  void forge(PacketHeader header, const std::string &payload) {
    header.magic = 0x314E584D;
    header.from = 1;
    header.to = 0;
    header.incarnation = 1;
    header.bytes = uint32_t(payload.size());
    constexpr size_t begin = offsetof(PacketHeader, kind);
    header.checksum =
        crc32(crc32(0, reinterpret_cast<char *>(&header) + begin, sizeof header - begin),
              payload.data(), payload.size());
    sim->datagrams(1).sendDatagram(0, &header, sizeof header, payload.data(), payload.size());
  }
  void TearDown() override {
    sessions.clear();
    sim.reset();
    EXPECT_EQ(memory.liveBlocks(), 0);
    EXPECT_EQ(memory.mistake(), "");
  }

  TestAllocator memory;
  int ranks = 0;
  std::unique_ptr<Sim> sim;
  std::vector<std::unique_ptr<Session>> sessions;
};

TEST_F(SessionTest, MessagesOfAnySizeAreMatchedByTag) {
  open(3);
  std::string texts[] = {"", "x", std::string(1200, 'y'), std::string(300001, 'z')};
  std::vector<Log> sent(8), got(8);
  for (int i = 0; i < 4; ++i)
    send(0, 1, {1, 2, 3, uint32_t(i)}, texts[i], sent[size_t(i)]);
  receive(1, 0, {1, 2, 3, 3}, 300001, got[3]); // before it arrives, and in another order
  run(10 * second);
  for (int i = 2; i >= 0; --i)
    receive(1, 0, {1, 2, 3, uint32_t(i)}, 2000, got[size_t(i)]);
  run(1 * second);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(got[i].text, texts[i]);
    EXPECT_EQ(sent[i].sends, 1);
    EXPECT_EQ(got[i].receives, 1);
  }
  EXPECT_EQ(sessions[0]->counters().sentBytes, 0u + 1 + 1200 + 300001);
  EXPECT_EQ(sessions[1]->counters().receivedBytes, 0u + 1 + 1200 + 300001);
  EXPECT_EQ(sessions[1]->counters().receivedMessages, 4u);
  EXPECT_TRUE(sessions[0]->quiet());
}

TEST_F(SessionTest, WrongUseIsRefused) {
  SessionOptions options;
  options.limits.maxMessageBytes = 100;
  open(2, options);
  Transport &transport = *sessions[0];
  char text[101] = {};
  EXPECT_EQ(transport.send(0, {}, text, 1, {}).takeStatus().code(), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(transport.send(2, {}, text, 1, {}).takeStatus().code(), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(transport.receive(-1, {}, 1, {}).takeStatus().code(), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(transport.send(1, {}, text, 101, {}).takeStatus().code(), MXRT_SIZE_OVERFLOW);
  Session outside(memory.get(), 2, 2, sim->datagrams(0), *sim, {});
  EXPECT_EQ(outside.open().code(), MXRT_INVALID_ARGUMENT);
}

TEST_F(SessionTest, MessageLongerThanItsReceiveIsAnError) {
  open(2);
  std::string text(5000, 'x');
  for (bool posted : {true, false}) {
    Log sent, got;
    Tag tag = {0, 0, 0, posted};
    if (posted)
      receive(0, 1, tag, 4999, got);
    send(1, 0, tag, text, sent);
    run(second);
    if (!posted)
      receive(0, 1, tag, 4999, got);
    run(second);
    EXPECT_EQ(sent.sends, 1);
    EXPECT_EQ(got.receives, 1);
    EXPECT_EQ(got.code, MXRT_KVSTORE);
    EXPECT_NE(got.failure.find("rank 1 sent 5000 bytes"), std::string::npos) << got.failure;
  }
}

TEST_F(SessionTest, UnexpectedBytesWaitAtTheSender) {
  SessionOptions options;
  options.limits.maxUnexpectedBytes = 1000;
  open(2, options);
  std::string text(600, 'x');
  Log sent[3], got[3];
  for (uint32_t i = 0; i < 3; ++i)
    send(1, 0, {0, 0, 0, i}, text, sent[i]);
  run(5 * second);
  EXPECT_EQ(sent[0].sends + sent[1].sends + sent[2].sends, 1);
  for (uint32_t i = 0; i < 3; ++i)
    receive(0, 1, {0, 0, 0, 2 - i}, 600, got[i]);
  run(5 * second);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got[i].text, text);
    EXPECT_EQ(sent[i].sends, 1);
  }
}

TEST_F(SessionTest, CancelEndsWithOneCallback) {
  open(2);
  std::string text(200000, 'x');
  Log sent, got, later;
  Op *sending = send(0, 1, {0, 0, 0, 0}, text, sent);
  Op *receiving = receive(0, 1, {0, 0, 0, 1}, 10, got);
  run(200 * microsecond); // some packets are on their way
  ASSERT_EQ(sent.sends, 0);
  sessions[0]->cancel(sending);
  sessions[0]->cancel(sending);
  sessions[0]->cancel(receiving);
  run(second);
  EXPECT_EQ(sent.sends, 1);
  EXPECT_EQ(sent.code, MXRT_CANCELLED);
  EXPECT_EQ(got.receives, 1);
  EXPECT_EQ(got.code, MXRT_CANCELLED);
  // What comes after is not held up.
  send(0, 1, {0, 0, 0, 2}, text, sent);
  receive(1, 0, {0, 0, 0, 2}, text.size(), later);
  run(5 * second);
  EXPECT_EQ(later.text, text);
}

TEST_F(SessionTest, ForgedPacketsAreRefusedBeforeMemoryIsTaken) {
  struct Case {
    const char *what;
    uint32_t kind;
    uint64_t messageBytes, offset;
    std::string payload;
    bool lost;
  } cases[] = {
      {"unknown kind", 9, 0, 0, "", true},
      {"beyond its message", 1, 4, 2, "abc", true},
      {"offset overflows", 1, 4, UINT64_MAX - 1, "abc", true},
      {"huge", 1, uint64_t(1) << 62, 0, "abc", true},
      {"empty part", 1, 8, 0, "", true},
      {"void with bytes", 2, 0, 0, "abc", true},
      {"short heartbeat", 3, 0, 0, "", false},
      {"long heartbeat", 3, 0, 0, "abc", false},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(each.what);
    open(2);
    sessions[1].reset(); // only forged packets come from it
    run(millisecond);
    long blocks = memory.liveBlocks();
    PacketHeader header = {};
    header.kind = each.kind;
    header.messageBytes = each.messageBytes;
    header.offset = each.offset;
    forge(header, each.payload);
    run(10 * millisecond);
    EXPECT_EQ(sessions[0]->isLost(1), each.lost);
    EXPECT_EQ(sessions[0]->counters().damaged, each.lost ? 0u : 1u);
    EXPECT_LE(memory.liveBytes(), 200000);
    (void)blocks;
    sessions.clear();
    sim.reset();
  }
}

TEST_F(SessionTest, ContradictingFragmentsEndThePeer) {
  open(2);
  sessions[1].reset();
  PacketHeader header = {};
  header.kind = 1;
  header.messageBytes = 8;
  forge(header, "abcd");
  header.number = 1;
  header.offset = 4;
  header.messageBytes = 9;
  forge(header, "abcd");
  run(10 * millisecond);
  EXPECT_TRUE(sessions[0]->isLost(1));
}

TEST_F(SessionTest, AllPeersReportALostRankByName) {
  open(4);
  Log logs[4], before;
  run(10 * millisecond);
  receive(0, 2, {}, 10, before);
  sim->crash(2);
  sessions[2].reset();
  run(5 * second);
  for (int rank : {0, 1, 3}) {
    EXPECT_TRUE(sessions[size_t(rank)]->isLost(2));
    EXPECT_FALSE(sessions[size_t(rank)]->isLost(rank == 0 ? 1 : 0));
    std::string text = sessions[size_t(rank)]->lossOf(2).message();
    EXPECT_EQ(text.find("rank 2 is lost: "), 0u) << text;
    // Later operations with it fail in the same way.
    receive(rank, 2, {}, 10, logs[rank]);
    run(millisecond);
    EXPECT_EQ(logs[rank].failure, text);
  }
  EXPECT_EQ(before.code, MXRT_KVSTORE);
}

TEST_F(SessionTest, StoppedRankIsToldThatItWasGivenUp) {
  open(3);
  run(10 * millisecond);
  sim->stop(1, sim->now() + 5 * second);
  run(4 * second);
  EXPECT_TRUE(sessions[0]->isLost(1));
  EXPECT_FALSE(sessions[1]->isLost(0));
  run(2 * second);
  EXPECT_TRUE(sessions[1]->isLost(0));
  EXPECT_TRUE(sessions[1]->isLost(2));
  EXPECT_NE(std::string(sessions[1]->lossOf(0).message()).find("declared this process lost"),
            std::string::npos);
  EXPECT_FALSE(sessions[0]->isLost(2));
}

TEST_F(SessionTest, ShortStopIsNotALoss) {
  open(3);
  run(10 * millisecond);
  sim->stop(1, sim->now() + 1500 * millisecond);
  run(6 * second);
  for (int rank = 0; rank < 3; ++rank)
    for (int peer = 0; peer < 3; ++peer)
      EXPECT_TRUE(rank == peer || !sessions[size_t(rank)]->isLost(peer));
}

} // namespace
} // namespace mxrt::test
