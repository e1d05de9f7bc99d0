// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule of one rank in a collective (all-reduce, reduce-scatter, all-gather,
// broadcast): a graph of sends, receives and folds that depends on topology, ranks
// and element count alone. Collective.h executes it over any transport.
//
// The elements are divided into chunks (one for each rank of a direct exchange
// or ring, else one), and chunks into pieces of at most `pieceBytes` that are
// sent one after the other (pipelining). The order in which an element is summed depends on its
// chunk and never on pieces. Reference.h is that order as plain loops.

#ifndef MXRT_KVSTORE_PLAN_H
#define MXRT_KVSTORE_PLAN_H

#include "kvstore/Encoding.h"

#include <span>

namespace mxrt::kvstore {

enum class Topology : uint8_t {
  /// Chunk c is summed by rank c, in the order of the ranks, and sent to all.
  Direct,
  /// Chunk c starts at rank c + 1 and goes around; rank c has the sum and sends it around.
  Ring,
  /// Rank r adds the sums of ranks 2r + 1 and 2r + 2 to its own; rank 0 sends the sum down.
  Tree,
  /// Hierarchical. The first rank of each group of `inner` sums in rank order; these leaders
  /// exchange by `outer`, and send the sum to their group.
  Levels,
};
const char *topologyName(Topology topology);

enum class Pattern : uint8_t {
  /// Every rank gets the sum.
  AllReduce,
  /// Rank r gets chunk r of W equal chunks of the sum, in the same order of additions.
  /// Its other chunks are undefined afterwards.
  ReduceScatter,
  /// Every rank has chunk r of W equal chunks and gets all. Always direct.
  Gather,
  /// The elements of rank 0 for all, down the tree.
  Broadcast,
  /// Every rank has ranges of its own, of any size, and gets all. Always direct.
  Parts,
};
/// Other patterns move elements of any size.
inline bool adds(Pattern pattern) {
  return pattern == Pattern::AllReduce || pattern == Pattern::ReduceScatter;
}

struct Layout {
  Topology topology = Topology::Direct;
  Topology outer = Topology::Direct; // of Levels; not Levels again
  int inner = 1;                     // of Levels: ranks of a group, the last may have fewer
  size_t pieceBytes = size_t(1) << 20;
};

/// Elements of chunk `index` of `chunks`: the first count % chunks have one more.
struct Range {
  size_t begin = 0, count = 0;
};
Range chunkOf(size_t count, int chunks, int index);

struct Step {
  enum class Kind : uint8_t { Send, Receive, Fold, Encode };
  Kind kind = Kind::Send;
  bool final = false;            // a fold that gives the sum of all ranks
  bool keeps = false;            // a fold of what is sent on as it came
  Coding coding = Coding::Plain; // of what is sent, received or encoded; of a fold's inputs
  int peer = -1;
  uint32_t chunk = 0; // of the message's tag
  Range range;
  size_t bytes = 0;                    // of the message
  size_t encoded = 0;                  // where the encoding of the range is, in memory of its own
  uint32_t firstInput = 0, inputs = 0; // of a fold
  uint32_t waits = 0;                  // earlier steps that must be done
  uint32_t firstNext = 0, nexts = 0;   // steps that wait for this one
};

/// Bytes that one rank has and all others get.
struct Part {
  int owner = 0;
  Range range;
};

class Plan {
public:
  explicit Plan(const mxrt_allocator *alloc)
      : steps(alloc), inputs(alloc), nexts(alloc), waiting(alloc) {}
  /// R0002 for sizes and layouts that make no sense.
  /// `encoding` is for sums of f32 that all ranks get.
  Status make(const Layout &layout, int rank, int ranks, size_t count, size_t elementBytes,
              Pattern pattern = Pattern::AllReduce, const Encoding &encoding = {});
  /// Of Pattern::Parts: `bytes` of memory with these parts, the same list at every rank.
  Status makeParts(int rank, int ranks, size_t bytes, std::span<const Part> parts,
                   size_t pieceBytes);

  /// An input of a fold: a Receive step, or this rank's own elements.
  static constexpr uint32_t own = UINT32_MAX;

  int rank = 0, ranks = 1;
  size_t count = 0, elementBytes = 4;
  Pattern pattern = Pattern::AllReduce;
  Vec<Step> steps;
  Vec<uint32_t> inputs; // of folds: the elements are ((a + b) + c) + ...
  Vec<uint32_t> nexts;
  /// Ranks that exchange encodings with each other: all, or the leaders of Levels. 0 if nothing is
  /// encoded, as when one rank is alone.
  int encoders = 0;
  size_t encodedBytes = 0, largestPiece = 0; // of all pieces; elements
  /// Payload that this rank sends, without the weights of a mean.
  uint64_t sentBytes() const;
  /// Of these bytes those of some elements: `own` is a section of them, and the header of a
  /// message counts for its first element.
  uint64_t sentBytes(const Encoding &encoding, Range own) const;

private:
  friend class Planner;
  void begin(int rank, int ranks, size_t count, size_t elementBytes, Pattern pattern);
  Status makeMoves(size_t pieceBytes);
  Status finish(bool failed);
  struct Wait {
    uint32_t step, earlier;
  };
  Vec<Wait> waiting;
};

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_PLAN_H
