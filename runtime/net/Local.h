// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-process transport: ranks are threads. Zero copy: a receiver reads the
// sender's memory. The bitwise reference of the other transports, and the
// transport between devices of a process.
//
// A rank whose transport ends, or that gives up, is lost for the others.
// Operations that are pending when a transport is destroyed have no callback;
// the memory of its sends must outlive the views of them.
//
// Thread rule: the hub may be used by all threads, each Local by one at a time.
// The hub and its allocator outlive the ranks; the allocators of ranks need not
// outlive each other.

#ifndef MXRT_NET_LOCAL_H
#define MXRT_NET_LOCAL_H

#include "base/Sync.h"
#include "net/Endpoint.h"

namespace mxrt::net {

struct LocalMessage;

class LocalHub {
public:
  LocalHub(const mxrt_allocator *alloc, int ranks) : alloc(alloc), ranks(ranks), boxes(alloc) {}
  ~LocalHub();
  Status open();

private:
  friend class Local;
  enum class End : uint8_t { No, Left, GaveUp };
  /// Guarded by the mutex.
  struct Box {
    LocalMessage *inboxFirst = nullptr, *inboxLast = nullptr;
    LocalMessage *returned = nullptr; // its own, read by the receiver
    End end = End::No;
    bool taken = false; // a Local of this rank exists, or did
    Condition *changed = nullptr;
  };
  void wake(Box &box);

  const mxrt_allocator *alloc;
  const int ranks;
  Mutex mutex;
  Vec<Box> boxes;
};

class Local final : public Endpoint {
public:
  Local(const mxrt_allocator *alloc, LocalHub &hub, int rank, const Limits &limits = {})
      : Endpoint(alloc, rank, hub.ranks, limits), hub(hub), ends(alloc) {}
  ~Local() override;
  /// R0002 if the rank is there already.
  Status open();
  void wait(int64_t timeoutNs) override;
  void wake() override { changed.wakeAll(); }

private:
  Status startSend(Op &op) override;
  bool cancelSend(Op &op, bool force) override;
  bool takeMessage(Message &message) override;
  bool dropMessage(Message &message, bool taken) override;
  void spreadEnd() override;
  bool poll() override;
  void end(LocalHub::End how);

  LocalHub &hub;
  Vec<LocalHub::End> ends; // as poll() last saw them
  Condition changed;
  uint32_t ticket = 0;
  bool opened = false;
};

} // namespace mxrt::net

#endif // MXRT_NET_LOCAL_H
