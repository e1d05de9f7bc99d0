// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of sums (direct exchange, ring, tree, groups of ranks) and of moves.

#include "kvstore/Plan.h"

#include "net/Faults.h"

#include <algorithm>

namespace mxrt::kvstore {

const char *topologyName(Topology topology) {
  switch (topology) {
  case Topology::Direct:
    return "direct";
  case Topology::Ring:
    return "ring";
  case Topology::Tree:
    return "tree";
  case Topology::Levels:
    return "levels";
  }
  return "?";
}

Range chunkOf(size_t count, int chunks, int index) {
  size_t each = count / size_t(chunks), more = count % size_t(chunks), at = size_t(index);
  return {each * at + std::min(at, more), each + (at < more ? 1 : 0)};
}

/// Builds the steps of one rank, a piece at a time.
class Planner {
public:
  explicit Planner(Plan &plan) : plan(plan) {}
  bool failed = false;
  bool spreads = true; // the owner of a chunk sends its sum to the others
  Encoding encoding;

  /// The ranks of an exchange: index i is rank i * stride.
  struct Group {
    int index, size, stride;
    int rankOf(int i) const { return i * stride; }
  };
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint32_t tagsPerPiece = 4;
  enum Local : uint32_t { Up, Down, InnerUp, InnerDown };

  void beginPiece(uint32_t number, Range where) {
    base = number * tagsPerPiece;
    range = where;
    plan.largestPiece = std::max(plan.largestPiece, range.count);
    if (plan.encoders == 0)
      return;
    plan.encodedBytes += bytes;
    bytes = encodingHeaderBytes +
            payloadBytes(encoding.codec, encoding.section(range.begin, range.count));
  }
  /// One piece of chunk `chunk`, from the step `ready` on (or none). Returns the
  /// step after which this rank has the sum.
  uint32_t reduce(Topology topology, const Group &group, int chunk, uint32_t ready) {
    if (group.size == 1) {
      uint32_t fold = step(Step::Kind::Fold, -1, 0, true);
      input(fold, Plan::own);
      wait(fold, ready);
      return fold;
    }
    switch (topology) {
    case Topology::Direct:
      return direct(group, chunk, ready);
    case Topology::Ring:
      return ring(group, chunk, ready);
    default:
      return tree(group, ready);
    }
  }
  /// The members of a group of Levels hand their piece to its leader.
  uint32_t member(int leader) {
    uint32_t sent = send(leader, InnerUp, none);
    return copy(receive(leader, InnerDown), sent);
  }
  uint32_t leaderGathers(int leader, int members, bool final) {
    uint32_t fold = step(Step::Kind::Fold, -1, 0, final);
    input(fold, Plan::own);
    for (int i = 1; i < members; ++i)
      input(fold, receive(leader + i, InnerUp));
    return fold;
  }
  void leaderSpreads(int leader, int members, uint32_t ready) {
    for (int i = 1; i < members; ++i)
      send(leader + i, InnerDown, ready);
  }

  void gather(int owner) {
    if (plan.rank != owner) {
      copy(receive(owner, Down), none);
      return;
    }
    for (int peer = 0; peer < plan.ranks; ++peer)
      if (peer != owner)
        send(peer, Down, none);
  }
  void broadcast() {
    uint32_t ready = none;
    if (plan.rank > 0)
      ready = copy(receive((plan.rank - 1) / 2, Down), none);
    for (int child = 2 * plan.rank + 1; child <= 2 * plan.rank + 2; ++child)
      if (child < plan.ranks)
        send(child, Down, ready);
  }

private:
  uint32_t direct(const Group &group, int owner, uint32_t ready) {
    if (group.index != owner) {
      uint32_t sent = send(group.rankOf(owner), Up, encode(Coding::Share, ready));
      return spreads ? copy(receive(group.rankOf(owner), Down), sent) : sent;
    }
    uint32_t fold = step(Step::Kind::Fold, -1, 0, true);
    for (int i = 0; i < group.size; ++i)
      input(fold, i == owner ? Plan::own : receive(group.rankOf(i), Up));
    wait(fold, ready);
    uint32_t done = encode(Coding::Result, fold);
    for (int i = 0; i < group.size && spreads; ++i)
      if (i != owner)
        send(group.rankOf(i), Down, done);
    return done;
  }

  uint32_t ring(const Group &group, int end, uint32_t ready) {
    int next = group.rankOf((group.index + 1) % group.size);
    int previous = group.rankOf((group.index + group.size - 1) % group.size);
    bool starts = group.index == (end + 1) % group.size, ends = group.index == end;
    uint32_t summed = ready;
    if (!starts) {
      summed = step(Step::Kind::Fold, -1, 0, ends);
      input(summed, receive(previous, Up));
      input(summed, Plan::own);
      wait(summed, ready);
    }
    summed = encode(ends ? Coding::Result : Coding::Share, summed);
    if (ends) {
      if (spreads)
        send(next, Down, summed);
      return summed;
    }
    uint32_t sent = send(next, Up, summed);
    if (!spreads)
      return sent;
    bool sendsOn = group.index != (end + group.size - 1) % group.size;
    uint32_t copied = copy(receive(previous, Down), sent, sendsOn);
    if (sendsOn)
      send(next, Down, copied);
    return copied;
  }

  uint32_t tree(const Group &group, uint32_t ready) {
    int children[2], count = 0;
    for (int child = 2 * group.index + 1; child <= 2 * group.index + 2; ++child)
      if (child < group.size)
        children[count++] = group.rankOf(child);
    uint32_t summed = ready;
    if (count > 0) {
      summed = step(Step::Kind::Fold, -1, 0, group.index == 0);
      input(summed, Plan::own);
      for (int i = 0; i < count; ++i)
        input(summed, receive(children[i], Up));
      wait(summed, ready);
    }
    summed = encode(group.index == 0 ? Coding::Result : Coding::Share, summed);
    if (group.index > 0) {
      int parent = group.rankOf((group.index - 1) / 2);
      uint32_t sent = send(parent, Up, summed);
      summed = copy(receive(parent, Down), sent, count > 0);
    }
    for (int i = 0; i < count; ++i)
      send(children[i], Down, summed);
    return summed;
  }

  uint32_t step(Step::Kind kind, int peer, uint32_t local, bool final) {
    Step made;
    made.kind = kind;
    made.final = final;
    made.peer = peer;
    made.chunk = base + local;
    made.range = range;
    made.bytes = range.count * plan.elementBytes;
    made.encoded = plan.encodedBytes;
    failed |= !plan.steps.push(made);
    return uint32_t(plan.steps.size()) - 1;
  }
  uint32_t message(Step::Kind kind, int peer, Local local) {
    uint32_t made = step(kind, peer, local, false);
    bool encodes = plan.encoders > 0 && (local == Up || local == Down);
    if (encodes && !failed) {
      plan.steps[made].coding = local == Up ? Coding::Share : Coding::Result;
      plan.steps[made].bytes = bytes;
    }
    return made;
  }
  uint32_t send(int peer, Local local, uint32_t ready) {
    uint32_t made = message(Step::Kind::Send, peer, local);
    wait(made, ready);
    return made;
  }
  uint32_t receive(int peer, Local local) { return message(Step::Kind::Receive, peer, local); }
  /// Before this rank's elements leave.
  uint32_t encode(Coding coding, uint32_t ready) {
    if (plan.encoders == 0)
      return ready;
    uint32_t made = step(Step::Kind::Encode, -1, 0, false);
    if (!failed) {
      plan.steps[made].coding = coding;
      plan.steps[made].bytes = bytes;
    }
    wait(made, ready);
    return made;
  }
  /// Overwrites the elements with a received sum, once this rank's own were sent. It `keeps` the
  /// encoding, to send it on.
  uint32_t copy(uint32_t received, uint32_t sent, bool keeps = false) {
    uint32_t fold = step(Step::Kind::Fold, -1, 0, false);
    if (!failed)
      plan.steps[fold].keeps = keeps && plan.encoders > 0;
    input(fold, received);
    if (!net::planted(net::Fault::OverwritesWhileSending))
      wait(fold, sent);
    return fold;
  }
  /// Inputs of a fold are given one after the other, also when the receives for
  /// them are made in between.
  void input(uint32_t fold, uint32_t from) {
    if (failed)
      return;
    Step &at = plan.steps[fold];
    if (at.inputs == 0)
      at.firstInput = uint32_t(plan.inputs.size());
    ++at.inputs;
    failed |= !plan.inputs.push(from);
    if (from == Plan::own)
      return;
    at.coding = plan.steps[from].coding;
    wait(fold, from);
  }
  void wait(uint32_t later, uint32_t earlier) {
    if (earlier != none && !failed)
      failed |= !plan.waiting.push({later, earlier});
  }

  Plan &plan;
  uint32_t base = 0;
  Range range;
  size_t bytes = 0; // of the piece's encoding
};

namespace {

Status checkLayout(const mxrt_allocator *alloc, const Layout &layout, int rank, int ranks,
                   size_t count, size_t elementBytes) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "there is no rank %d of %d", rank, ranks);
  if (layout.topology > Topology::Levels || layout.outer >= Topology::Levels || layout.inner < 1)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "there is no such topology");
  if (elementBytes == 0 || layout.pieceBytes < elementBytes)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "a piece of %zu bytes holds no element of %zu", layout.pieceBytes, elementBytes);
  size_t pieces = count / (layout.pieceBytes / elementBytes) + size_t(ranks);
  if (count > SIZE_MAX / 2 / elementBytes || pieces > UINT32_MAX / (8 * size_t(ranks)))
    return error(alloc, MXRT_SIZE_OVERFLOW, noLocation,
                 "%zu elements are too many for pieces of %zu bytes", count, layout.pieceBytes);
  return success();
}

} // namespace

void Plan::begin(int ownRank, int allRanks, size_t elements, size_t bytesOfElement,
                 Pattern what) {
  rank = ownRank;
  ranks = allRanks;
  encoders = 0;
  encodedBytes = largestPiece = 0;
  count = elements;
  elementBytes = bytesOfElement;
  pattern = what;
  steps.clear();
  inputs.clear();
  nexts.clear();
  waiting.clear();
}

Status Plan::make(const Layout &layout, int ownRank, int allRanks, size_t elements,
                  size_t bytesOfElement, Pattern what, const Encoding &encoding) {
  const mxrt_allocator *alloc = steps.allocator();
  MXRT_CHECK(checkLayout(alloc, layout, ownRank, allRanks, elements, bytesOfElement));
  if ((what == Pattern::ReduceScatter || what == Pattern::Gather) && elements % size_t(allRanks))
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "%zu elements are not %d equal chunks", elements, allRanks);
  if (!encoding.isPlain()) {
    MXRT_CHECK(kvstore::encodedBytes(alloc, encoding.codec, encoding.section(0, 0)).takeStatus());
    if (what != Pattern::AllReduce || bytesOfElement != sizeof(float) ||
        layout.pieceBytes / sizeof(float) > UINT32_MAX)
      return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                   "only sums of f32 that all ranks get are encoded");
  }
  begin(ownRank, allRanks, elements, bytesOfElement, what);
  if (!adds(pattern))
    return makeMoves(layout.pieceBytes);

  bool levels = layout.topology == Topology::Levels;
  int inner = levels ? std::min(layout.inner, ranks) : 1;
  Topology topology = levels ? layout.outer : layout.topology;
  Planner::Group group = {rank / inner, (ranks + inner - 1) / inner, inner};
  int leader = group.rankOf(group.index);
  int members = std::min(inner, ranks - leader);
  int chunks = topology == Topology::Tree ? 1 : group.size;

  encoders = encoding.isPlain() || group.size == 1 ? 0 : group.size;
  Planner planner(*this);
  planner.encoding = encoding;
  planner.spreads =
      pattern == Pattern::AllReduce || levels || topology == Topology::Tree || group.size == 1;
  uint32_t number = 0;
  size_t pieceElements = layout.pieceBytes / elementBytes;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    Range range = chunkOf(count, chunks, chunk);
    for (size_t at = 0; at < range.count && !planner.failed; at += pieceElements, ++number) {
      planner.beginPiece(number, {range.begin + at, std::min(pieceElements, range.count - at)});
      if (rank != leader) {
        planner.member(leader);
        continue;
      }
      bool alone = group.size == 1;
      uint32_t ready = members > 1 ? planner.leaderGathers(leader, members, alone) : Planner::none;
      if (!alone || members == 1)
        ready = planner.reduce(topology, group, chunk, ready);
      planner.leaderSpreads(leader, members, ready);
    }
  }

  planner.beginPiece(number, {}); // counts the last one
  return finish(planner.failed);
}

Status Plan::makeMoves(size_t pieceBytes) {
  Planner planner(*this);
  uint32_t number = 0;
  size_t pieceElements = pieceBytes / elementBytes;
  int chunks = pattern == Pattern::Gather ? ranks : 1;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    Range range = chunkOf(count, chunks, chunk);
    for (size_t at = 0; at < range.count && !planner.failed; at += pieceElements, ++number) {
      planner.beginPiece(number, {range.begin + at, std::min(pieceElements, range.count - at)});
      if (pattern == Pattern::Gather)
        planner.gather(chunk);
      else
        planner.broadcast();
    }
  }
  return finish(planner.failed);
}

Status Plan::makeParts(int ownRank, int allRanks, size_t bytes, std::span<const Part> parts,
                       size_t pieceBytes) {
  Layout direct;
  direct.pieceBytes = pieceBytes;
  MXRT_CHECK(checkLayout(steps.allocator(), direct, ownRank, allRanks, bytes, 1));
  begin(ownRank, allRanks, bytes, 1, Pattern::Parts);
  Planner planner(*this);
  uint32_t number = 0;
  for (const Part &part : parts)
    for (size_t at = 0; at < part.range.count && !planner.failed; at += pieceBytes, ++number) {
      planner.beginPiece(number,
                         {part.range.begin + at, std::min(pieceBytes, part.range.count - at)});
      planner.gather(part.owner);
    }
  return finish(planner.failed);
}

/// Inverts the edges: from dependencies to dependents.
Status Plan::finish(bool failed) {
  if (failed || !nexts.resize(waiting.size()))
    return outOfMemory(steps.allocator());
  for (const Wait &wait : waiting) {
    ++steps[wait.step].waits;
    ++steps[wait.earlier].nexts;
  }
  uint32_t at = 0;
  for (Step &step : steps) {
    step.firstNext = at;
    at += step.nexts;
    step.nexts = 0;
  }
  for (const Wait &wait : waiting) {
    Step &earlier = steps[wait.earlier];
    nexts[earlier.firstNext + earlier.nexts++] = wait.step;
  }
  waiting.clear();
  return success();
}

uint64_t Plan::sentBytes() const {
  uint64_t bytes = 0;
  for (const Step &step : steps)
    if (step.kind == Step::Kind::Send)
      bytes += step.bytes;
  return bytes;
}

uint64_t Plan::sentBytes(const Encoding &encoding, Range own) const {
  uint64_t bytes = 0;
  for (const Step &step : steps) {
    size_t begin = std::max(step.range.begin, own.begin);
    size_t end = std::min(step.range.begin + step.range.count, own.begin + own.count);
    if (step.kind != Step::Kind::Send || begin >= end)
      continue;
    if (step.coding == Coding::Plain)
      bytes += (end - begin) * elementBytes;
    else
      bytes += payloadBytes(encoding.codec, encoding.section(begin, end - begin)) +
               (begin == step.range.begin ? encodingHeaderBytes : 0);
  }
  return bytes;
}

} // namespace mxrt::kvstore
