// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract of a transport over links, in virtual time: short and long messages, credit, lost
// peers and when exactly they are found, and what a rank does with frames that no rank sends.

#include "../TestAllocator.h"
#include "../kvstore/Cases.h"
#include "SimLinks.h"
#include "net/Linked.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace mxrt::test {
namespace {

using namespace net;

struct Log {
  Transport *transport = nullptr;
  int ends = 0;
  std::string text, failure;
  mxrt_code code = MXRT_OK;
  static void sent(void *user, Status status) { static_cast<Log *>(user)->note(status); }
  static void received(void *user, View view, Status status) {
    auto *log = static_cast<Log *>(user);
    log->note(status);
    if (status.ok()) {
      log->text.assign(static_cast<const char *>(view.data), view.bytes);
      EXPECT_TRUE(log->transport->release(view));
    }
  }
  void note(const Status &status) {
    ++ends;
    code = status.code();
    failure = status.failed() ? status.message() : "";
  }
};

class LinkedTest : public ::testing::Test {
protected:
  void open(int count, LinkedOptions options = {}, uint64_t seed = 1) {
    ranks = count;
    stopped.assign(size_t(count), false);
    net = std::make_unique<SimLinks>(count, seed);
    for (int rank = 0; rank < count; ++rank) {
      all.push_back(std::make_unique<Linked>(memory.get(), rank, count, net->links(rank), *net,
                                             options));
      ASSERT_TRUE(all.back()->connect(nullptr, second).ok());
    }
    period = options.beatNs;
  }
  void TearDown() override {
    all.clear();
    EXPECT_EQ(memory.liveBytes(), 0);
  }
  /// Until nothing happens for a period, at most so long; `true` ends it.
  template <typename Condition> bool runUntil(int64_t length, Condition isTrue) {
    for (int64_t limit = net->now() + length; net->now() < limit;) {
      bool any = false;
      for (int rank = 0; rank < ranks; ++rank)
        if (all[size_t(rank)] && !stopped[size_t(rank)])
          any |= all[size_t(rank)]->progress();
      if (isTrue())
        return true;
      if (!any) {
        // Ranks wake for their heartbeats too; a tenth of a period is close enough.
        net->planWake(0, net->now() + period / 10);
        net->advance(limit);
      }
    }
    return isTrue();
  }
  void run(int64_t length) {
    runUntil(length, [] { return false; });
  }
  Op *send(int from, int to, Tag tag, const std::string &text, Log &log) {
    log.transport = all[size_t(from)].get();
    auto op = log.transport->send(to, tag, text.data(), text.size(), {Log::sent, &log});
    EXPECT_TRUE(op.ok());
    return *op;
  }
  Op *receive(int at, int from, Tag tag, size_t most, Log &log) {
    log.transport = all[size_t(at)].get();
    auto op = log.transport->receive(from, tag, most, {Log::received, &log});
    EXPECT_TRUE(op.ok());
    return *op;
  }
  std::string lossAt(int at, int peer) { return all[size_t(at)]->lossOf(peer).message(); }
  /// A frame from rank 1 to rank 0.
  void inject(FrameHeader header, const std::string &payload = "") {
    if (!header.magic)
      header.magic = 0x314C584D;
    if (!header.from)
      header.from = 1;
    net->inject(1, 0, std::string(reinterpret_cast<char *>(&header), sizeof header) + payload);
  }

  TestAllocator memory;
  int ranks = 0;
  int64_t period = 0;
  std::unique_ptr<SimLinks> net;
  std::vector<std::unique_ptr<Linked>> all;
  std::vector<bool> stopped;
};

std::string textOf(size_t bytes) {
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i)
    text[i] = char('a' + (i * 31 + i / 251) % 26);
  return text;
}

TEST_F(LinkedTest, MessagesOfAnyLengthArrive) {
  LinkedOptions options;
  options.frameBytes = 100;
  options.shortBytes = 20;
  open(2, options);
  uint32_t step = 0;
  for (size_t bytes : {0, 1, 20, 21, 99, 100, 101, 1000, 12345})
    for (bool isPosted : {false, true}) {
      std::string text = textOf(bytes);
      Log sent, received;
      Tag tag = {0, ++step, 1, 2};
      if (isPosted)
        receive(1, 0, tag, bytes, received);
      send(0, 1, tag, text, sent);
      run(100 * millisecond);
      if (!isPosted)
        receive(1, 0, tag, bytes, received);
      run(100 * millisecond);
      EXPECT_EQ(sent.ends, 1);
      EXPECT_EQ(received.ends, 1);
      EXPECT_EQ(received.text, text) << received.failure;
    }
  EXPECT_EQ(all[0]->counters().sentBytes, all[1]->counters().receivedBytes);
  EXPECT_EQ(all[0]->counters().sentMessages, 18u);
}

TEST_F(LinkedTest, LongMessagesWaitAtTheSenderUntilSomebodyWantsThem) {
  LinkedOptions options;
  options.limits.maxUnexpectedBytes = 50000;
  open(2, options);
  std::string text = textOf(40000);
  Log sent[3], received[3];
  for (uint32_t i = 0; i < 3; ++i)
    send(0, 1, {0, 0, i, 0}, text, sent[i]);
  run(second);
  EXPECT_EQ(sent[0].ends + sent[1].ends + sent[2].ends, 1); // the receiver has room for one
  for (uint32_t i : {2, 0, 1}) {                            // in another order than they were sent
    receive(1, 0, {0, 0, i, 0}, text.size(), received[i]);
    run(second);
    EXPECT_EQ(received[i].text, text) << i;
    EXPECT_EQ(sent[i].ends, 1);
  }
}

TEST_F(LinkedTest, ManyShortMessagesDoNotFillTheReceiver) {
  LinkedOptions options;
  options.creditBytes = 4000;
  options.limits.maxUnexpectedBytes = 100;
  open(2, options);
  std::string text = textOf(64);
  std::vector<Log> sent(500), received(500);
  long before = memory.liveBytes();
  for (uint32_t i = 0; i < 500; ++i)
    send(0, 1, {0, 0, i, 0}, text, sent[i]);
  run(second);
  int done = 0;
  for (Log &each : sent)
    done += each.ends;
  EXPECT_LT(done, 30); // 4000 / (64 + 128), and one more within the limit of the unexpected
  EXPECT_GT(memory.liveBytes(), before);
  for (uint32_t i = 500; i-- > 0;)
    receive(1, 0, {0, 0, i, 0}, 64, received[i]);
  run(second);
  for (uint32_t i = 0; i < 500; ++i) {
    EXPECT_EQ(received[i].text, text);
    EXPECT_EQ(sent[i].ends, 1);
  }
}

TEST_F(LinkedTest, LongerThanExpectedIsRefused) {
  open(2);
  for (size_t bytes : {size_t(100), size_t(1000000)}) {
    std::string text = textOf(bytes);
    Log sent, received;
    Tag tag = {0, uint32_t(bytes), 0, 0};
    receive(1, 0, tag, 99, received);
    send(0, 1, tag, text, sent);
    run(second);
    EXPECT_EQ(sent.code, MXRT_OK);
    EXPECT_EQ(sent.ends, 1);
    EXPECT_EQ(received.code, MXRT_KVSTORE);
    EXPECT_NE(received.failure.find("rank 0 sent " + std::to_string(bytes) + " bytes"),
              std::string::npos);
  }
  EXPECT_FALSE(all[0]->isLost(1));
}

TEST_F(LinkedTest, CancelledMessagesLeaveNothing) {
  LinkedOptions options;
  options.frameBytes = options.shortBytes = 1000;
  open(2, options);
  net->room = 1;
  std::string text = textOf(100000), other = textOf(50000);
  Tag tag = {0, 1, 2, 3};
  for (int64_t moment : {int64_t(0), 2 * millisecond, 10 * millisecond}) {
    Log sent, again, received;
    receive(1, 0, tag, text.size(), received);
    Op *op = send(0, 1, tag, text, sent);
    run(moment);
    all[0]->cancel(op); // before, within, and in the middle of its frames
    run(second);
    EXPECT_EQ(sent.ends, 1);
    EXPECT_EQ(sent.code, MXRT_CANCELLED);
    EXPECT_EQ(received.ends, 0);
    send(0, 1, tag, other, again);
    run(second);
    EXPECT_EQ(received.text, other);
  }
}

TEST_F(LinkedTest, HeartbeatsAreSentEveryPeriod) {
  open(3);
  run(millisecond);
  uint64_t before = net->frames;
  run(10 * second);
  // 6 directed pairs, four a second each; the tenth of a period is how finely time is looked at.
  EXPECT_LE(net->frames - before, 6u * 40);
  EXPECT_GE(net->frames - before, 6u * 36);
}

TEST_F(LinkedTest, SilenceIsFoundAfterItsLimitAndNotBefore) {
  LinkedOptions options;
  options.beatNs = 250 * millisecond;
  options.lostAfterNs = 4 * second;
  open(4, options);
  run(second);
  Log receives[4];
  for (int rank : {0, 1, 3})
    receive(rank, 2, {}, 8, receives[rank]);
  int64_t begin = net->now();
  stopped[2] = true;
  auto lost = [&] {
    return all[0]->isLost(2) || all[1]->isLost(2) || all[3]->isLost(2);
  };
  ASSERT_TRUE(runUntil(20 * second, lost));
  int64_t silence = net->now() - begin;
  // The last heartbeat came at most a period, and a delay, before it was stopped.
  EXPECT_GE(silence, options.lostAfterNs - options.beatNs - millisecond);
  EXPECT_LE(silence, options.lostAfterNs + options.beatNs);
  run(100 * millisecond);
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(receives[rank].code, MXRT_KVSTORE);
    EXPECT_EQ(receives[rank].failure.find("rank 2 is lost: "), 0u) << receives[rank].failure;
    for (int other : {0, 1, 3})
      if (other != rank)
        EXPECT_FALSE(all[size_t(rank)]->isLost(other));
  }
  // It goes on, finds what was said about it, and accuses nobody.
  stopped[2] = false;
  run(options.beatNs + 100 * millisecond);
  EXPECT_NE(lossAt(2, 0).find("declared this process lost"), std::string::npos) << lossAt(2, 0);
  EXPECT_FALSE(all[0]->isLost(1));
}

TEST_F(LinkedTest, ACutLinkLosesOneRankEverywhere) {
  open(3);
  run(second);
  net->cut(2, 0); // rank 1 hears both
  ASSERT_TRUE(runUntil(20 * second, [&] { return all[0]->isLost(2) && all[1]->isLost(2); }));
  run(100 * millisecond);
  EXPECT_EQ(lossAt(0, 2), "rank 2 is lost: no sign of life for " +
                              lossAt(0, 2).substr(std::strlen("rank 2 is lost: no sign of life for ")));
  EXPECT_EQ(lossAt(1, 2), "rank 2 is lost: rank 0 reported it");
  EXPECT_EQ(lossAt(2, 1), "rank 2 is lost: rank 0 declared this process lost");
  EXPECT_FALSE(all[0]->isLost(1));
}

TEST_F(LinkedTest, AnEndedProcessIsFoundAtOnce) {
  open(3);
  run(second);
  int64_t begin = net->now();
  all[1].reset(); // it says nothing: the system ends its connections
  net->end(1);
  ASSERT_TRUE(runUntil(20 * second, [&] { return all[0]->isLost(1) && all[2]->isLost(1); }));
  EXPECT_LE(net->now() - begin, 50 * millisecond);
}

TEST_F(LinkedTest, ARankThatLeavesFailsOnlyThoseThatNeedIt) {
  open(3);
  std::string text = textOf(100000);
  Log sent, received, more;
  receive(0, 1, {0, 1, 0, 0}, text.size(), received);
  receive(0, 1, {0, 2, 0, 0}, 8, more);
  send(1, 0, {0, 1, 0, 0}, text, sent);
  run(second);
  ASSERT_EQ(sent.ends, 1);
  all[1].reset();
  run(second);
  EXPECT_EQ(received.text, text);
  EXPECT_EQ(more.failure, "rank 1 is lost: it left");
  EXPECT_TRUE(all[2]->hasLeft(1));
  EXPECT_FALSE(all[0]->isLost(2));
}

TEST_F(LinkedTest, ARankThatGivesUpIsNamed) {
  open(3);
  run(second);
  all[1]->giveUp(Status(mxrt_status_constant(MXRT_OUT_OF_MEMORY)));
  run(second);
  for (int rank : {0, 2}) {
    EXPECT_EQ(lossAt(rank, 1), "rank 1 is lost: it gave up after an error of its own");
    EXPECT_FALSE(all[size_t(rank)]->isLost(2 - rank));
  }
}

TEST_F(LinkedTest, MalformedFramesLoseTheirSender) {
  using Change = void (*)(FrameHeader &, std::string &);
  const Change changes[] = {
      [](FrameHeader &header, std::string &) { header.magic = 7; },
      [](FrameHeader &header, std::string &) { header.kind = 0; },
      [](FrameHeader &header, std::string &) { header.kind = 99; },
      [](FrameHeader &header, std::string &) { header.from = 2; },
      [](FrameHeader &header, std::string &) { header.bytes = 5; },
      [](FrameHeader &, std::string &payload) { payload = "more than it says"; },
      [](FrameHeader &header, std::string &) { header.messageBytes = 8; }, // of a whole one
      [](FrameHeader &header, std::string &) { header.returned = 1; },     // nothing was sent
      [](FrameHeader &header, std::string &) {                             // over the limit
        header.kind = 2;
        header.messageBytes = uint64_t(1) << 60;
      },
      [](FrameHeader &header, std::string &payload) { // an offer with bytes
        header.kind = 2;
        header.bytes = 4;
        payload = "abcd";
      },
      [](FrameHeader &header, std::string &payload) { // of a message that nobody asked for
        header.kind = 4;
        header.bytes = 4;
        payload = "abcd";
      },
      [](FrameHeader &header, std::string &payload) { // a heartbeat of another job
        header.kind = 6;
        header.bytes = 4;
        payload = "abcd";
      },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    all.clear();
    open(3);
    run(millisecond);
    FrameHeader header = {};
    header.kind = 1;
    std::string payload;
    changes[i](header, payload);
    inject(header, payload);
    run(millisecond);
    EXPECT_TRUE(all[0]->isLost(1)) << i;
    EXPECT_FALSE(all[0]->isLost(2)) << i;
  }
  all.clear();
  open(2);
  net->inject(1, 0, "short");
  run(millisecond);
  EXPECT_EQ(lossAt(0, 1), "rank 1 is lost: it sent a malformed message");
}

TEST_F(LinkedTest, PartsOfAMessageMustFit) {
  for (uint64_t offset : {uint64_t(4), uint64_t(99996), UINT64_MAX - 1}) {
    all.clear();
    open(2);
    FrameHeader offer = {}, part = {};
    offer.kind = 2;
    offer.messageBytes = part.messageBytes = 100000;
    part.kind = 4;
    part.bytes = 8;
    part.offset = offset;
    inject(offer);
    run(10 * millisecond);
    inject(part, "abcdefgh");
    run(10 * millisecond);
    EXPECT_TRUE(all[0]->isLost(1)) << offset;
  }
}

/// Exchanges of all ranks at once, in any order and with random delays, have the bits of the
/// reference and the bytes of the formula.
TEST_F(LinkedTest, ExchangesHaveTheBitsOfTheReference) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    all.clear();
    LinkedOptions options;
    options.frameBytes = 64 << seed % 6;
    options.shortBytes = options.frameBytes / 2;
    options.creditBytes = 1000;
    options.limits.maxUnexpectedBytes = 5000;
    open(1 + int(seed % 5), options, seed);
    net->room = 1 + seed % 3;
    std::vector<kvstore::Layout> layouts = allLayouts(256);
    struct Part {
      kvstore::Plan plan;
      std::vector<float> data;
      std::unique_ptr<kvstore::Collective> collective;
      explicit Part(const mxrt_allocator *alloc) : plan(alloc) {}
    };
    std::vector<std::unique_ptr<Part>> parts;
    std::vector<uint64_t> wanted(size_t(ranks), 0);
    size_t count = 1 + seed * 37 % 900;
    for (int rank = 0; rank < ranks; ++rank)
      for (size_t i = 0; i < layouts.size(); ++i) {
        size_t key = rank % 2 ? layouts.size() - 1 - i : i; // another order at each
        auto part = std::make_unique<Part>(memory.get());
        ASSERT_TRUE(part->plan.make(layouts[key], rank, ranks, count, 4).ok());
        part->data = gradient<float>(rank, count);
        kvstore::Reduction what;
        what.tag = {0, 1, uint32_t(key), 0};
        what.data = part->data.data();
        part->collective =
            std::make_unique<kvstore::Collective>(*all[size_t(rank)], part->plan, what);
        ASSERT_TRUE(part->collective->start().ok());
        wanted[size_t(rank)] += part->plan.sentBytes();
        parts.push_back(std::move(part));
      }
    auto isOver = [&] {
      return std::all_of(parts.begin(), parts.end(),
                         [](auto &each) { return each->collective->finished(); });
    };
    ASSERT_TRUE(runUntil(60 * second, isOver)) << "seed " << seed;
    for (size_t i = 0; i < parts.size(); ++i) {
      int rank = int(i / layouts.size());
      size_t at = i % layouts.size(), key = rank % 2 ? layouts.size() - 1 - at : at;
      ASSERT_TRUE(parts[i]->collective->outcome().ok()) << "seed " << seed;
      EXPECT_EQ(parts[i]->data, expected<float>(layouts[key], ranks, count)) << "seed " << seed;
    }
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(all[size_t(rank)]->counters().sentBytes, wanted[size_t(rank)]);
    parts.clear();
  }
}

} // namespace
} // namespace mxrt::test
