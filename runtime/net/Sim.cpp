// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Discrete-event simulation of a network.

#include "net/Sim.h"

#include "base/Crc32.h"

#include <algorithm>
#include <cstring>

namespace mxrt::net {

Status Sim::open() {
  if (ranks < 1 || ranks > 4096)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "a simulation has 1 to 4096 ranks, not %d",
                 ranks);
  if (!nodes.resize(size_t(ranks)) || !severed.resize(size_t(ranks) * size_t(ranks)))
    return outOfMemory(alloc);
  for (int rank = 0; rank < ranks; ++rank) {
    nodes[size_t(rank)].sim = this;
    nodes[size_t(rank)].rank = rank;
  }
  return success();
}

Sim::~Sim() {
  for (Node &node : nodes)
    forgetInbox(node);
  for (Event &event : events)
    forget(event.letter);
}

void Sim::forget(Letter *letter) {
  if (letter)
    releaseBytes(alloc, letter, sizeof(Letter) + letter->bytes);
}

void Sim::forgetInbox(Node &node) {
  forget(node.current);
  node.current = nullptr;
  while (Letter *letter = node.first) {
    node.first = letter->next;
    forget(letter);
  }
  node.last = nullptr;
}

void Sim::note(uint64_t what) {
  history = (history ^ what) * 0xBF58476D1CE4E5B9;
  history ^= history >> 29;
}

bool Sim::push(Event event) {
  event.order = nextOrder++;
  if (!events.push(event))
    return false;
  std::push_heap(events.begin(), events.end(), later);
  return true;
}

Sim::Event Sim::pop() {
  std::pop_heap(events.begin(), events.end(), later);
  Event event = events.back();
  events.pop();
  return event;
}

void Sim::cut(int from, int to, bool now) {
  severed[size_t(from) * size_t(ranks) + size_t(to)] = now;
}

void Sim::crash(int rank) {
  Node &node = nodes[size_t(rank)];
  node.alive = false;
  ++node.life;
  forgetInbox(node);
}

void Sim::restart(int rank) {
  Node &node = nodes[size_t(rank)];
  node.alive = true;
  node.stoppedUntil = 0;
  node.wakeAt = -1;
  wake(rank, time);
}

void Sim::stop(int rank, int64_t until) {
  nodes[size_t(rank)].stoppedUntil = until;
  wake(rank, until);
}

void Sim::wake(int rank, int64_t at) {
  Node &node = nodes[size_t(rank)];
  if (at == INT64_MAX || at == node.wakeAt)
    return;
  node.wakeAt = std::max(at, time);
  // A run without memory for its timers ends early; its ranks are not done then.
  (void)push({node.wakeAt, 0, rank, nullptr, node.life});
}

void Sim::Node::sendDatagram(int peer, const void *header, size_t headerBytes, const void *payload,
                             size_t payloadBytes) {
  sim->post(rank, peer, header, headerBytes, payload, payloadBytes);
}

void Sim::post(int from, int to, const void *header, size_t headerBytes, const void *payload,
               size_t payloadBytes) {
  bool vanishes = !nodes[size_t(from)].alive || !nodes[size_t(to)].alive ||
                  severed[size_t(from) * size_t(ranks) + size_t(to)];
  if (vanishes || random.chance(faults.drop))
    return;
  int copies = random.chance(faults.duplicate) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    size_t bytes = headerBytes + payloadBytes;
    // Without memory for it, a datagram counts as dropped.
    void *memory = allocateBytes(alloc, sizeof(Letter) + bytes);
    if (!memory)
      return;
    auto *letter = ::new (memory) Letter;
    letter->bytes = bytes;
    std::memcpy(letter->text(), header, headerBytes);
    if (payloadBytes)
      std::memcpy(letter->text() + headerBytes, payload, payloadBytes);
    if (random.chance(faults.damage))
      letter->text()[random.below(bytes)] ^= char(1 << random.below(8));
    int64_t delay = faults.delayNs + nodes[size_t(to)].extraNs;
    if (faults.jitterNs > 0)
      delay += int64_t(random.below(uint64_t(faults.jitterNs)));
    if (random.chance(faults.reorder))
      delay += int64_t(random.below(uint64_t(10 * faults.delayNs + 1)));
    if (!push({time + delay, 0, to, letter, nodes[size_t(to)].life}))
      forget(letter);
  }
}

bool Sim::Node::receiveDatagram(const char *&data, size_t &bytes) {
  sim->forget(current);
  current = first;
  if (!current)
    return false;
  first = current->next;
  if (!first)
    last = nullptr;
  data = current->text();
  bytes = current->bytes;
  return true;
}

int Sim::next(int64_t limit) {
  while (!events.empty() && events[0].at <= limit) {
    Event event = pop();
    Node &node = nodes[size_t(event.rank)];
    if (!node.alive || event.life != node.life) {
      forget(event.letter);
      continue;
    }
    time = event.at;
    if (event.letter) {
      note(uint64_t(time) ^ uint64_t(event.rank) << 56 ^
           uint64_t(crc32(0, event.letter->text(), std::min<size_t>(event.letter->bytes, 96)))
               << 20);
      (node.last ? node.last->next : node.first) = event.letter;
      node.last = event.letter;
    } else if (event.at != node.wakeAt) {
      continue; // it asked for another time since
    } else {
      node.wakeAt = -1;
    }
    if (time < node.stoppedUntil) {
      if (node.wakeAt < 0)
        wake(event.rank, node.stoppedUntil);
      continue;
    }
    return event.rank;
  }
  time = std::max(time, limit);
  return -1;
}

} // namespace mxrt::net
