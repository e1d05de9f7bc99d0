// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links in one thread and virtual time: frames arrive in order, each pair with delays of its own.

#ifndef MX_TEST_UNIT_RUNTIME_NET_SIMLINKS_H
#define MX_TEST_UNIT_RUNTIME_NET_SIMLINKS_H

#include "net/Clock.h"
#include "net/Links.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace mxrt::test {

class SimLinks final : public net::Clock {
public:
  SimLinks(int ranks, uint64_t seed) : ranks(ranks), random(seed), pairs(size_t(ranks * ranks)) {
    for (int rank = 0; rank < ranks; ++rank)
      ends.push_back(std::make_unique<End>(*this, rank));
  }
  int64_t now() const override { return time; }
  net::Links &links(int rank) { return *ends[size_t(rank)]; }

  int64_t leastDelayNs = net::microsecond, mostDelayNs = net::millisecond;
  size_t room = 4; ///< frames of a pair on their way

  /// From now on nothing arrives; nobody is told.
  void cut(int from, int to) { pair(from, to).isCut = true; }
  /// The process of a rank ends: the others find their links broken.
  void end(int rank) {
    isEnded(rank) = true;
    for (int other = 0; other < ranks; ++other)
      if (other != rank)
        pair(rank, other).breaksAt = time + delay();
  }
  /// A frame that no transport sends.
  void inject(int from, int to, std::string bytes) {
    pair(from, to).frames.push_back({time, std::move(bytes)});
  }
  /// The next moment at which a frame arrives or a link breaks; at most `limit`.
  bool advance(int64_t limit) {
    int64_t at = limit;
    auto consider = [&](int64_t moment) {
      if (moment > time)
        at = std::min(at, moment);
    };
    for (Pair &each : pairs) {
      if (!each.isCut && !each.frames.empty())
        consider(each.frames.front().at);
      if (each.breaksAt >= 0 && !each.isBroken)
        consider(each.breaksAt);
    }
    for (auto &end : ends)
      consider(end->wakesAt);
    time = at;
    return time < limit;
  }
  void planWake(int rank, int64_t at) { ends[size_t(rank)]->wakesAt = at; }
  uint64_t frames = 0;

private:
  struct Frame {
    int64_t at;
    std::string bytes;
  };
  struct Pair {
    std::deque<Frame> frames;
    int64_t lastAt = 0, breaksAt = -1;
    bool isCut = false, isBroken = false;
  };
  struct End final : net::Links {
    End(SimLinks &net, int self) : net(net), self(self) {}
    const char *address() const override { return ""; }
    void connect(const char *const *) override {}
    bool hasRoom(int peer) const override {
      return !net.isEnded(self) && net.pair(self, peer).frames.size() < net.room;
    }
    void send(int peer, const void *header, size_t headerBytes, const void *payload,
              size_t payloadBytes) override {
      std::string bytes(static_cast<const char *>(header), headerBytes);
      if (payloadBytes)
        bytes.append(static_cast<const char *>(payload), payloadBytes);
      Pair &pair = net.pair(self, peer);
      pair.lastAt = std::max(pair.lastAt, net.time + net.delay());
      pair.frames.push_back({pair.lastAt, std::move(bytes)});
      ++net.frames;
    }
    bool next(Event &event) override {
      for (; opened < net.ranks; ++opened)
        if (opened != self) {
          event = {Event::Kind::Open, opened++, nullptr, 0, nullptr};
          return true;
        }
      for (int peer = 0; peer < net.ranks; ++peer) {
        Pair &pair = net.pair(peer, self);
        if (pair.isBroken || peer == self)
          continue;
        if (!pair.isCut && !pair.frames.empty() && pair.frames.front().at <= net.time) {
          current = std::move(pair.frames.front().bytes);
          pair.frames.pop_front();
          // In pieces, as networks hand them out.
          size_t first = current.size() > 70 ? 67 : current.size() / 2;
          pieces[0] = {current.data(), first};
          pieces[1] = {current.data() + first, current.size() - first};
          event = {Event::Kind::Frame, peer, pieces, 2, nullptr};
          return true;
        }
        if (pair.breaksAt >= 0 && pair.breaksAt <= net.time) {
          pair.isBroken = true;
          event = {Event::Kind::Broken, peer, nullptr, 0, nullptr};
          return true;
        }
      }
      return false;
    }
    void wait(int64_t timeoutNs) override { net.time += std::max<int64_t>(timeoutNs, 0); }
    void wake() override {}
    void leave(int64_t) override {}
    void destroy() override {}
    uint64_t wireBytes() const override { return 0; }
    SimLinks &net;
    const int self;
    int opened = 0;
    bool ended = false;
    int64_t wakesAt = INT64_MAX;
    std::string current;
    Piece pieces[2] = {};
  };
  Pair &pair(int from, int to) { return pairs[size_t(from * ranks + to)]; }
  bool &isEnded(int rank) { return ends[size_t(rank)]->ended; }
  int64_t delay() {
    return leastDelayNs + int64_t(random() % uint64_t(mostDelayNs - leastDelayNs + 1));
  }

  const int ranks;
  std::mt19937_64 random;
  int64_t time = net::second;
  std::vector<Pair> pairs;
  std::vector<std::unique_ptr<End>> ends;
};

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_NET_SIMLINKS_H
