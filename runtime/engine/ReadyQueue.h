// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Priority queue of the ready ops of one lane. Guarded by the lane's mutex.
//
// Order: by window, then priority, then age. A window is `windowSize` consecutive ops in the
// order of becoming ready; an op of an older window precedes all ops of younger windows,
// whatever their priority. So an op waits for a bounded number of later ops: priorities
// cannot cause starvation.
//
// Nearly all ops have priority 0, so those are a plain list (FIFO) and the others a pairing
// heap; the head of the queue is the better of the two heads.

#ifndef MXRT_ENGINE_READYQUEUE_H
#define MXRT_ENGINE_READYQUEUE_H

#include "engine/Op.h"

namespace mxrt::engine {

template <typename Sync> class ReadyQueue {
public:
  static constexpr uint64_t windowSize = Sync::spins ? 16384 : 4;

  bool empty() const { return !first && !heap; }

  void push(Op<Sync> *op) {
    op->stamp = stamps++;
    op->next = nullptr;
    if (op->priority == 0) {
      (last ? last->next : first) = op;
      last = op;
      return;
    }
    op->heap = {nullptr, nullptr};
    heap = meld(heap, op);
  }

  /// The op that pop would return; nullptr if empty.
  Op<Sync> *peek() const {
    return heap && (!first || before(heap, first)) ? heap : first;
  }

  /// nullptr if empty.
  Op<Sync> *pop() {
    Op<Sync> *op = peek();
    if (op && op == heap) {
      heap = meldPairs(op->heap.child);
    } else if (op) {
      first = op->next;
      if (!first)
        last = nullptr;
    }
    return op;
  }

  /// Whether an op of priority 0 that becomes ready now would be next.
  bool nothingMoreUrgent() const { return !heap; }

private:
  static bool before(const Op<Sync> *a, const Op<Sync> *b) {
    uint64_t windowA = a->stamp / windowSize, windowB = b->stamp / windowSize;
    if (windowA != windowB && !Sync::fault(Fault::PriorityStarves))
      return windowA < windowB;
    if (a->priority != b->priority)
      return Sync::fault(Fault::PriorityReversed) ? a->priority < b->priority
                                                  : a->priority > b->priority;
    return a->stamp < b->stamp;
  }

  static Op<Sync> *meld(Op<Sync> *a, Op<Sync> *b) {
    if (!a || !b)
      return a ? a : b;
    if (before(b, a))
      std::swap(a, b);
    b->heap.sibling = a->heap.child;
    a->heap.child = b;
    return a;
  }

  /// Melds children pairwise from the left, then the pairs from the right (two-pass pairing),
  /// which gives the amortised bound of the heap. Iterative, since a heap can be 1,000 wide.
  static Op<Sync> *meldPairs(Op<Sync> *child) {
    Op<Sync> *pairs = nullptr;
    while (child) {
      Op<Sync> *a = child;
      Op<Sync> *b = a->heap.sibling;
      child = b ? b->heap.sibling : nullptr;
      a->heap.sibling = nullptr;
      if (b)
        b->heap.sibling = nullptr;
      Op<Sync> *pair = meld(a, b);
      pair->heap.sibling = pairs;
      pairs = pair;
    }
    Op<Sync> *root = nullptr;
    while (pairs) {
      Op<Sync> *rest = pairs->heap.sibling;
      pairs->heap.sibling = nullptr;
      root = meld(root, pairs);
      pairs = rest;
    }
    return root;
  }

  Op<Sync> *first = nullptr; // priority 0, oldest first
  Op<Sync> *last = nullptr;
  Op<Sync> *heap = nullptr; // other priorities
  uint64_t stamps = 0;
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_READYQUEUE_H
