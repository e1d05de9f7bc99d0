// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers-writer queue of one variable: many readers or one writer, in FIFO order. This is the
// scheduling rule of the dependency engine. Every function needs the variable's mutex.
//
// Invariants:
//  1. writerActive implies activeReaders == 0.
//  2. If the queue is not empty, its head cannot be granted now. So an access that finds a
//     queue must join it: no access overtakes another.
//  3. A wait is a read of zero duration: it is granted like a read and leaves no trace. A
//     deletion is a write of zero duration and is the last access.

#ifndef MXRT_ENGINE_VARQUEUE_H
#define MXRT_ENGINE_VARQUEUE_H

#include "engine/Op.h"

namespace mxrt::engine {

template <typename Sync> class VarQueue {
public:
  using Var = Variable<Sync>;
  using Node = Access<Sync>;
  using Kind = typename Node::Kind;

  /// Grants `node` (true) or appends it.
  static bool enter(Var &var, Node &node) {
    bool overtakes = Sync::fault(Fault::ReaderOvertakesWriter) &&
                     node.kind == Kind::Read && !var.writerActive;
    if (Sync::fault(Fault::DeleteBeforeReads) && node.kind == Kind::Delete &&
        !var.writerActive)
      return true;
    if ((!var.head || overtakes) && mayStart(var, node.kind)) {
      begin(var, node.kind);
      return true;
    }
    node.next = nullptr;
    (var.tail ? var.tail->next : var.head) = &node;
    var.tail = &node;
    return false;
  }

  /// Ends a read.
  static void leaveRead(Var &var, Grants<Sync> &grants) {
    if (--var.activeReaders == 0)
      grantHead(var, grants);
  }

  /// Ends a write; `poison` (takes over the reference) is the new state.
  static void leaveWrite(Var &var, FailureRef poison, bool count,
                         Grants<Sync> &grants) {
    if (count)
      ++var.version;
    setPoison(var, std::move(poison));
    var.writerActive = false;
    grantHead(var, grants);
  }

  static void setPoison(Var &var, FailureRef poison) {
    FailureRef old(var.poison);
    var.poison = poison.get();
    if (poison)
      poison->retain();
  }

private:
  static bool mayStart(const Var &var, Kind kind) {
    switch (kind) {
    case Kind::Read:
      if (Sync::fault(Fault::ReaderJoinsWriter))
        return true;
      [[fallthrough]];
    case Kind::Wait:
      return !var.writerActive;
    case Kind::Write:
      if (Sync::fault(Fault::WriterIgnoresReaders))
        return !var.writerActive;
      [[fallthrough]];
    case Kind::Delete:
      return !var.writerActive && var.activeReaders == 0;
    }
    __builtin_unreachable();
  }

  static void begin(Var &var, Kind kind) {
    if (kind == Kind::Read)
      ++var.activeReaders;
    else if (kind == Kind::Write)
      var.writerActive = true;
  }

  static void grantHead(Var &var, Grants<Sync> &grants) {
    uint32_t readers = 0;
    while (Node *node = var.head) {
      if (!mayStart(var, node->kind))
        return;
      if (Sync::fault(Fault::WakesOnlyOneReader) && node->kind == Kind::Read &&
          readers++ == 1)
        return;
      var.head = node->next;
      if (!var.head)
        var.tail = nullptr;
      begin(var, node->kind);
      switch (node->kind) {
      case Kind::Read:
      case Kind::Write:
        // acq_rel: the thread that makes the op ready has seen the effects of the others.
        if (node->op->missing.fetch_sub(1, std::memory_order_acq_rel) == 1)
          grants.ready(node->op);
        break;
      case Kind::Wait:
        static_cast<Waiter<Sync> *>(node)->poison =
            FailureRef::share(var.poison);
        node->next = grants.waits;
        grants.waits = node;
        break;
      case Kind::Delete:
        node->next = grants.deletions;
        grants.deletions = node;
        break;
      }
    }
  }
};

} // namespace mxrt::engine

#endif // MXRT_ENGINE_VARQUEUE_H
